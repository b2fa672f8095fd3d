//! A skeleton made into bodies: which bones matter, what shape and mass each has, how far it turns, which chain it is of.
//!
//! In the order that it is found out: `survey` samples the clips, `slot` finds what is kept in the place of something else,
//! `flesh` gathers the vertices that each bone moves, `choice` says which bones become bodies, `figure` which are of one figure,
//! `hang` on what each hangs, `form` fits a shape to each, `kind` says what the figure is, `weight` what its parts weigh, `chain`
//! names limbs, `range` learns limits, `anatomy` knows those of humans and dogs, `ground` finds where the feet stand, `still` when.
//! `name` knows what people call bones. Everything is in scene units, in the rigid frame of the bone
//! ([`crate::scene::Pose::placement`]), at rest where a moment matters.
//!
//! Nothing here fails: a bone about which nothing can be said stays keyed, and says why.

mod anatomy;
mod chain;
mod choice;
mod figure;
mod flesh;
mod form;
mod ground;
mod hang;
mod kind;
mod name;
mod range;
mod slot;
mod still;
mod survey;
mod tone;
mod weight;

pub use chain::Chain;
pub(crate) use flesh::vertices;
pub use form::Form;
pub use kind::Kind;
pub use range::Room;
pub use tone::Tone;

use crate::scene::{Clip, Placement, Scene};
use crate::shape::MassProperties;
use choice::Choice;
use glam::DVec3;
use hang::Link;
use std::collections::HashMap;
use survey::Survey;

/// What becomes of a skeleton.
#[derive(Clone, Debug, Default)]
pub struct Character {
    /// The bones that become bodies, parents first.
    pub limbs: Vec<Limb>,
    /// Bones that do not, with the reason.
    pub carried: Vec<Carried>,
    /// Limbs by chain.
    pub chains: Vec<Chain>,
    /// What figures are called where there are several; else empty.
    pub names: Vec<String>,
    /// What each figure is.
    pub kinds: Vec<Kind>,
    /// Largest extent of a figure at rest, scene units.
    pub size: f64,
    /// How tall the tallest figure is at rest, scene units.
    pub height: f64,
    /// How long a unit is, m.
    pub metres_per_unit: f64,
    /// Height at which it stands, if it stands on something.
    pub floor: Option<f64>,
}

/// A bone that becomes a body.
#[derive(Clone, Debug)]
pub struct Limb {
    /// The node.
    pub node: usize,
    /// The limb it hangs on, by its index.
    pub parent: Option<usize>,
    /// Whether that is not the nearest limb above it: a foot on an IK bone.
    pub beside: bool,
    /// Whether keys move it along its parent, so that its joint moves with them.
    pub slides: bool,
    /// Its shape, in its own frame.
    pub form: Form,
    /// What it weighs, kg.
    pub mass: f64,
    /// Index into [`Character::chains`].
    pub chain: usize,
    /// Index into [`Character::names`], where there are any.
    pub figure: usize,
    /// How far it turns against its parent. `None` where there is no joint, or nothing to hold.
    pub room: Option<Room>,
    /// Whether the clip drags it over the floor, as a walk on the spot does: then friction would hold it back.
    pub drags: bool,
    /// When the clip holds it still, on the floor or by something: first and last moment, s from the clip's first.
    pub still: Vec<[f64; 2]>,
    /// How hard the clip turns it against its parent, or has it bear the turns of what hangs on it, rad/s^2.
    pub fastest: f64,
    /// How hard the clip moves it, and what hangs on it, in the world, of what leads, scene units per s^2.
    pub thrown: f64,
    /// Its moment of inertia about every axis, per mass, square scene units, where others hang on it: the shape's largest. An
    /// upper arm is easily turned about itself, but not with a bent forearm on it, and muscles are as strong as the inertia. At
    /// least a part of that of all that hangs on it; of what leads, as much per mass as the whole has.
    pub moment: Option<f64>,
    /// How many times its shape's largest that is.
    pub widened: f64,
    /// How many times its own inertia hangs on its joint.
    pub carries: f64,
    /// How its drive follows its keys; `None` for what only hangs and follows.
    pub tone: Option<Tone>,
    /// Height of the floor for it, if that is lower than the figure's, since the clip takes it there.
    pub floor: Option<f64>,
    /// In words, why it is a body.
    pub because: String,
}

/// A bone that stays as keyed, relative to what it hangs on.
#[derive(Clone, Debug)]
pub struct Carried {
    /// The node.
    pub node: usize,
    /// In words.
    pub because: String,
}

/// What is known of figures beforehand, in place of what would be guessed.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Wish {
    /// What each figure weighs, without what it holds, kg.
    pub mass: Option<f64>,
    /// How tall the tallest figure is, m.
    pub height: Option<f64>,
    /// How long a unit is, m, where the scene says so; `height` wins over it.
    pub unit: Option<f64>,
}

/// Looks at every skeleton of a scene under a clip. `None` when there is none, or when the clip moves no bone.
pub fn character(scene: &Scene, clip: &Clip, wish: &Wish) -> Option<Character> {
    let survey = Survey::new(scene, clip)?;
    let mut flesh = flesh::gather(scene, &survey);
    let choices = choice::choose(scene, &survey, &flesh);
    let mut found = Character { size: survey.size, ..Character::default() };
    let bodies = |b: &usize| matches!(choices[b], Choice::Body(_));
    let bodies: Vec<usize> = survey.bones.iter().copied().filter(bodies).collect();
    if bodies.is_empty() {
        return None;
    }
    for &bone in &survey.bones {
        if let Choice::Carried(why) = &choices[&bone] {
            if let Some(on) = survey.above(scene, bone).find(|p| bodies.contains(p)) {
                flesh.merge(bone, on, &survey);
            }
            found.carried.push(Carried { node: bone, because: why.clone() });
        }
    }
    let mut limb_of: HashMap<usize, usize> = HashMap::new();
    for link in hang::hang(scene, &survey, &flesh, &bodies) {
        let Choice::Body(what) = &choices[&link.bone] else { continue };
        limb_of.insert(link.bone, found.limbs.len());
        found.limbs.push(Limb::new(scene, &link, &limb_of, survey.figure(link.bone), what));
    }
    form::fit_all(scene, &survey, &flesh, &mut found.limbs);
    found.kinds = (0..survey.figures).map(|f| kind::of(scene, &survey, &found.limbs, f)).collect();
    found.height = (0..survey.figures).map(|f| height(scene, &survey, &found.limbs, f)).fold(0.0, f64::max);
    found.metres_per_unit = weight::metres_per_unit(&found, wish);
    weight::weigh(scene, &survey, &mut found, flesh.volume, wish);
    if survey.figures > 1 {
        found.names = figure::names(scene, &survey, &found);
    }
    chain::find(scene, &survey, &mut found);
    range::learn(scene, &survey, &mut found);
    burden(&survey, &mut found.limbs);
    ground::stand(&survey, &mut found);
    still::hold(scene, &survey, &mut found);
    tone::find(scene, clip, &mut found);
    Some(found)
}

impl Character {
    /// What the first figure is.
    pub fn kind(&self) -> Kind {
        self.kinds.first().copied().unwrap_or_default()
    }
}

impl Limb {
    /// A limb of which nothing is known yet but what it hangs on.
    fn new(scene: &Scene, link: &Link, limb_of: &HashMap<usize, usize>, figure: usize, what: &str) -> Limb {
        let label = |bone: usize| scene.label(bone);
        let how = match link.on {
            None => "leads the rest: chases its keys in the world".into(),
            Some(p) if link.slides => format!("on a joint with {} that its keys move along it", label(p)),
            Some(p) => format!("on a joint with {}", label(p)),
        };
        let beside = if link.beside { ", which it ends" } else { "" };
        Limb {
            node: link.bone,
            parent: link.on.and_then(|p| limb_of.get(&p).copied()),
            beside: link.beside,
            slides: link.slides,
            form: Form::default(),
            mass: 0.0,
            chain: 0,
            figure,
            room: None,
            drags: false,
            still: Vec::new(),
            moment: None,
            widened: 1.0,
            fastest: 0.0,
            thrown: 0.0,
            carries: 1.0,
            floor: None,
            tone: None,
            because: format!("{what}, {how}{beside}"),
        }
    }
}

/// How tall a figure is at rest, without what it holds, scene units.
fn height(scene: &Scene, survey: &Survey, limbs: &[Limb], figure: usize) -> f64 {
    let (mut low, mut high) = (f64::INFINITY, f64::NEG_INFINITY);
    let held = |l: &Limb| name::Name::new(&scene.nodes[l.node].name).part() == Some(name::Part::Prop);
    for limb in limbs.iter().filter(|l| l.figure == figure && !held(l)) {
        let at = survey.at_rest(limb.node);
        let reach = |way: DVec3| limb.form.reach(at.rotation.conjugate() * way);
        (low, high) =
            (low.min(at.position.y - reach(DVec3::NEG_Y)), high.max(at.position.y + reach(DVec3::Y)));
    }
    (high - low).max(0.0)
}

/// Finds how much inertia hangs on each joint, as a multiple of the limb's own: what its muscle has to move.
fn burden(survey: &Survey, limbs: &mut [Limb]) {
    let masses: Vec<_> = limbs
        .iter()
        .map(|l| {
            let at = survey.at_rest(l.node);
            let own = l.form.mass_properties().with_mass(l.mass);
            (own, at.position + at.rotation * own.center)
        })
        .collect();
    let trace = |m: glam::DMat3| m.x_axis.x + m.y_axis.y + m.z_axis.z;
    let mut moves = Vec::with_capacity(limbs.len());
    for i in 0..limbs.len() {
        let own = masses[i].0;
        let joint = survey.at_rest(limbs[i].node).position;
        let below = (0..limbs.len()).filter(|&k| hangs_on(limbs, k, i));
        let (mut moved, mut mass, mut count) = (0.0, 0.0, 0);
        for (own, at) in below.map(|k| &masses[k]) {
            moved += trace(own.inertia) + 2.0 * own.mass * (*at - joint).length_squared();
            (mass, count) = (mass + own.mass, count + 1);
        }
        moves.push(moved);
        // A slender thing has twice its largest moment in all.
        let mut carried = trace(own.inertia);
        if count > 1 {
            let slender = own.principal().0.max_element() / own.mass;
            // What turns too easily for what hangs on it is flung about by it. What leads holds a place, too, and one strength
            // does both: as hard to turn per mass as all of it together, it has both to move as many times.
            let hanging = 0.5 * (moved - carried) / own.mass;
            let least = if limbs[i].parent.is_none() { 0.5 * moved / mass } else { 0.0 };
            let wide = slender.max(weight::LEAST_OF_HANGING * hanging).max(least);
            limbs[i].moment = Some(wide);
            limbs[i].widened = wide / slender;
            carried = 2.0 * wide * own.mass;
        }
        limbs[i].carries = (moved / carried).clamp(1.0, MOST_CARRIED);
    }
    bear(survey, limbs, &masses.iter().map(|m| m.0).collect::<Vec<_>>(), &moves);
}

/// What throws a limb is thrown back by it: a shoulder that is keyed to rest bears the arm's punch. `moves` is the inertia on
/// each joint.
fn bear(survey: &Survey, limbs: &mut [Limb], masses: &[MassProperties], moves: &[f64]) {
    for i in (0..limbs.len()).rev() {
        let Some(parent) = limbs[i].parent else { continue };
        limbs[parent].fastest = limbs[parent].fastest.max(limbs[i].fastest * moves[i] / moves[parent]);
    }
    for i in (0..limbs.len()).filter(|&i| limbs[i].parent.is_none()).collect::<Vec<_>>() {
        // It holds the place of all that hangs on it.
        let mut middle = vec![DVec3::ZERO; survey.places(limbs[i].node).len()];
        let below: Vec<usize> = (0..limbs.len()).filter(|&k| hangs_on(limbs, k, i)).collect();
        let mass: f64 = below.iter().map(|&k| masses[k].mass).sum();
        for k in below {
            for (sum, at) in middle.iter_mut().zip(survey.places(limbs[k].node)) {
                *sum += placed(at, masses[k].center) * (masses[k].mass / mass);
            }
        }
        limbs[i].thrown = limbs[i].thrown.max(range::hardest(&middle, survey.step));
    }
}

/// Beyond this a limb is no more than a peg that others hang on, and its shape says nothing of its strength.
const MOST_CARRIED: f64 = 1e5;

/// Whether limb `k` is limb `i` or hangs on it.
fn hangs_on(limbs: &[Limb], k: usize, i: usize) -> bool {
    std::iter::successors(Some(k), |&l| limbs[l].parent).any(|l| l == i)
}

/// A point of a bone's frame in the world.
fn placed(at: &Placement, point: DVec3) -> DVec3 {
    at.position + at.rotation * point
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::curve::{Curve, Kind, Segments};
    use crate::scene::{Channel, Channels, Local, Mesh, Node, Property, Skin};

    /// A trunk with two legs, a tail and a helper, all of boxes on bones; the trunk goes up and down by a little.
    fn dog() -> Scene {
        let mut scene = Scene::default();
        let corners =
            (0..8).map(|i| DVec3::new(f64::from(i & 1), f64::from(i >> 1 & 1), f64::from(i >> 2)) - 0.5);
        let faces = [[0, 2, 3, 1], [4, 5, 7, 6], [0, 1, 5, 4], [2, 6, 7, 3], [0, 4, 6, 2], [1, 3, 7, 5]];
        let triangles = faces.iter().flat_map(|f| [[f[0], f[1], f[2]], [f[0], f[2], f[3]]]).collect();
        scene.meshes.push(Mesh { positions: corners.collect(), triangles, ..Mesh::default() });
        let mut add = |name: &str, parent: Option<usize>, at: [f64; 3], size: Option<[f64; 3]>| {
            let local =
                |translation, scale| Local::Channels(Channels { translation, scale, ..Channels::default() });
            let node = scene.nodes.len();
            let local_here = local(DVec3::from_array(at), DVec3::ONE);
            scene.nodes.push(Node { name: name.into(), parent, local: local_here, ..Node::default() });
            if let Some(size) = size {
                let shown = local(DVec3::ZERO, DVec3::from_array(size));
                scene.nodes.push(Node { parent: Some(node), mesh: Some(0), local: shown, ..Node::default() });
            }
            node
        };
        let trunk = add("Spine", None, [0.0, 1.0, 0.0], Some([1.0, 0.4, 0.4]));
        let left = add("Leg.L", Some(trunk), [0.4, -0.5, 0.15], Some([0.12, 0.8, 0.1]));
        let right = add("Leg.R", Some(trunk), [0.4, -0.5, -0.15], Some([0.1, 0.8, 0.12]));
        let tail = add("Tail1", Some(trunk), [-0.6, 0.0, 0.0], Some([0.3, 0.05, 0.05]));
        let tip = add("Tail2", Some(tail), [-0.3, 0.0, 0.0], Some([0.3, 0.05, 0.05]));
        let pole = add("PoleTarget", Some(trunk), [0.0, 2.0, 0.0], None);
        scene.skins.push(Skin { joints: vec![trunk, left, right, tail, tip, pole], ..Skin::default() });
        let values = vec![0.0, 1.0, 0.0, 0.0, 1.01, 0.0];
        let curve = Curve::new(Kind::Vector, 3, vec![0.0, 1.0], values, Segments::Linear).unwrap();
        let channels = vec![Channel { node: trunk, property: Property::Translation, curve }];
        scene.clips.push(Clip { channels, ..Clip::default() });
        scene
    }

    #[test]
    fn a_dog_is_taken_apart_as_one_would() {
        let scene = dog();
        let found = character(&scene, &scene.clips[0], &Wish::default()).unwrap();
        let names: Vec<&str> = found.limbs.iter().map(|l| scene.nodes[l.node].name.as_str()).collect();
        assert_eq!(names, ["Spine", "Leg.L", "Leg.R", "Tail1", "Tail2"]);
        assert_eq!(found.carried.len(), 1);
        assert!(found.carried[0].because.contains("target"), "{}", found.carried[0].because);
        let chains: Vec<(&str, bool)> = found.chains.iter().map(|c| (c.name.as_str(), c.loose)).collect();
        assert_eq!(chains, [("spine", false), ("left leg", false), ("right leg", false), ("tail", true)]);
        assert!(found.limbs[1..].iter().all(|l| l.parent.is_some() && l.room.is_some()));
        // Shapes fill what is seen: 0.16 + 2 * 0.0096 + 2 * 0.00075, at worst half of it counted twice.
        let litres: f64 = found.limbs.iter().map(|l| l.mass).sum::<f64>() / found.metres_per_unit.powi(3);
        let volume = litres / 1000.0;
        assert!((0.15..0.25).contains(&volume), "{volume}");
        assert!(found.limbs[0].carries > 1.0 && found.limbs[4].carries < found.limbs[3].carries);
        let floor = found.floor.unwrap();
        // In the middle of where the soles are from moment to moment.
        assert!((floor - 0.105).abs() < 1e-3, "the soles are at {floor}");
    }

    #[test]
    fn a_clip_that_moves_no_bone_makes_no_character() {
        let mut scene = dog();
        scene.clips[0].channels.clear();
        assert!(character(&scene, &scene.clips[0], &Wish::default()).is_none());
    }
}
