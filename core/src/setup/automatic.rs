//! A set-up for a scene that has keys and nothing else.
//!
//! Every node whose translation or rotation is keyed becomes guided. Rigid things chase their keys in the world,
//! or relative to a parent that is guided too. Skeletons become bodies on joints, as [`crate::character`] finds them: the
//! first of them chases its keys in the world, the others their keyed pose relative to what they hang on.
//!
//! Meshes that nothing moves are in the way of those that are guided; meshes that a guided thing carries touch with it.

use super::{Behaviour, Body, Setup, SetupError, Space, nearest};
use crate::character::{Character, Kind, Wish, character};
use crate::rig::frame_rate;
use crate::scene::{Clip, Local, Pose, Property, Scene};
use std::collections::{HashMap, HashSet};

/// Why a node is, or is not, simulated.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Choice {
    /// The node.
    pub node: usize,
    /// Who rules its motion.
    pub behaviour: Behaviour,
    /// In words.
    pub because: String,
}

/// The clip that a name or `#index` means; without a name the first one that moves something, else the first.
/// `None` when the scene has no clips.
pub fn choose_clip<'a>(
    scene: &'a Scene,
    name: Option<&str>,
) -> Result<Option<(usize, &'a Clip)>, SetupError> {
    let Some(name) = name else {
        let moves = |c: &Clip| {
            c.channels.iter().any(|c| matches!(c.property, Property::Translation | Property::Rotation))
        };
        let first = scene.clips.iter().position(moves).unwrap_or(0);
        return Ok(scene.clips.get(first).map(|c| (first, c)));
    };
    let by_index =
        || name.strip_prefix('#').and_then(|n| n.parse::<usize>().ok()).filter(|&i| i < scene.clips.len());
    if let Some(i) = scene.find_clip(name).or_else(by_index) {
        return Ok(Some((i, &scene.clips[i])));
    }
    let names: Vec<&str> = scene.clips.iter().map(|c| c.name.as_str()).filter(|n| !n.is_empty()).collect();
    let remedy = match (nearest(name, names.iter().copied()), scene.clips.len()) {
        (Some(n), _) => format!("did you mean \"{n}\"?"),
        (None, 0) => "the scene has none".into(),
        (None, 1) if names.is_empty() => "its only clip has no name; leave this out, or write #0".into(),
        (None, n) if names.is_empty() => format!("its {n} clips have no names; write #0 to #{}", n - 1),
        (None, _) => format!("it has {}", names.join(", ")),
    };
    Err(SetupError::new("clip", format!("the scene has no clip called \"{name}\"; {remedy}")))
}

/// The choice for every node that the clip moves, and for every bone, with the reason.
pub fn explain(scene: &Scene, clip: &Clip, wish: &Wish) -> Vec<Choice> {
    explain_with(scene, clip, character(scene, clip, wish).as_ref())
}

fn explain_with(scene: &Scene, clip: &Clip, figure: Option<&Character>) -> Vec<Choice> {
    let joints = bones(scene);
    let mut bones: HashMap<usize, Choice> = HashMap::new();
    for limb in figure.iter().flat_map(|f| &f.limbs) {
        let chain = figure.map_or("", |f| f.chains[limb.chain].name.as_str());
        let turns = limb.room.map_or(String::new(), |r| {
            let ([a, b], [least, most]) = (r.swing_deg, r.twist_deg);
            format!(", tilts by up to {a:.0} and {b:.0} and twists from {least:.0} to {most:.0} degrees")
        });
        let drags =
            if limb.drags { ", is dragged over the floor by its keys, so without friction" } else { "" };
        let still = |[from, to]: &[f64; 2]| {
            let start = clip.range().map_or(0.0, |r| r.0);
            format!("{:.2} to {:.2} s", start + from, start + to)
        };
        let pinned = match limb.still.is_empty() {
            true => String::new(),
            false => {
                let times: Vec<String> = limb.still.iter().map(still).collect();
                format!(", is held still by its keys from {}, so pinned", times.join(", "))
            }
        };
        let because = format!("{}{turns}{drags}{pinned}; of the chain \"{chain}\"", limb.because);
        bones.insert(limb.node, Choice { node: limb.node, behaviour: Behaviour::Guided, because });
    }
    for bone in figure.iter().flat_map(|f| &f.carried) {
        let because = bone.because.clone();
        bones.insert(bone.node, Choice { node: bone.node, behaviour: Behaviour::Animated, because });
    }
    let curves = clip.keyed();
    let leads = leading(scene, &joints);
    // By node, whether it or something above it is guided.
    let mut guided = vec![false; scene.nodes.len()];
    let mut choices = Vec::new();
    for node in scene.parents_first() {
        let carried = scene.nodes[node].parent.is_some_and(|p| guided[p]);
        guided[node] = carried;
        let keyed = |p| curves.contains(&(node, p));
        let moves = [Property::Translation, Property::Rotation].into_iter().any(keyed);
        let other = [Property::Scale, Property::Weights].into_iter().any(keyed);
        let (behaviour, because) = if let Some(bone) = bones.remove(&node) {
            (bone.behaviour, bone.because)
        } else if moves && matches!(scene.nodes[node].local, Local::Matrix(_)) {
            (Behaviour::Animated, "keyed, but its matrix is sheared: left as keyed".to_string())
        } else if moves && joints.contains(&node) {
            (Behaviour::Animated, "bone of a skeleton without any extent: left as keyed".into())
        } else if moves && figure.is_some() && leads[node] {
            (
                Behaviour::Animated,
                "carries a skeleton, whose bones chase where it takes them: left as keyed".into(),
            )
        } else if moves {
            let space = if carried { "as its parent carries them" } else { "in the world" };
            (Behaviour::Guided, format!("object with keys: chases them {space}"))
        } else if other {
            (Behaviour::Animated, "only its scale or shape is keyed: left as keyed".into())
        } else {
            continue;
        };
        if behaviour == Behaviour::Guided {
            guided[node] = true;
        }
        choices.push(Choice { node, behaviour, because });
    }
    choices
}

/// What else was decided, in words: what the figure is, units, masses and floor.
pub fn remarks(scene: &Scene, clip: &Clip, wish: &Wish) -> Vec<String> {
    let Some(figure) = character(scene, clip, wish) else { return Vec::new() };
    let mut said = vec![size(&figure)];
    let leads = figure.limbs.iter().filter(|l| l.parent.is_none()).count();
    if leads > figure.kinds.len() {
        said.push(format!("{leads} bodies hang on nothing and chase their keys in the world"));
    }
    said.push(match figure.floor {
        Some(0.0) => "a floor at 0, where it stands".into(),
        Some(height) => format!("a floor at {height:.4}, where its lowest shapes are most often"),
        None => "no floor: its lowest shapes are at no height often, and not at 0 at rest".into(),
    });
    for chain in figure.chains.iter().filter(|c| c.loose) {
        said.push(format!("the chain \"{}\" hangs and follows: softer than the rest", chain.name));
    }
    said
}

/// What a figure is taken for, how large and how heavy.
fn size(figure: &Character) -> String {
    let what = match figure.kind() {
        Kind::Human => "a human",
        Kind::FourLegged => "an animal on four legs",
        Kind::Legged => "an animal on legs",
        Kind::Thing => "a thing",
    };
    let mass: f64 = figure.limbs.iter().map(|l| l.mass).sum();
    let metres = figure.metres_per_unit;
    let tall = figure.height * metres;
    let unit = if metres == 1.0 { String::new() } else { format!(", so a unit is taken for {metres} m") };
    format!(
        "taken for {what} {tall:.2} m tall and {mass:.1} kg heavy with all it holds ({:.4} units tall{unit}); --height and --mass say otherwise",
        figure.height
    )
}

fn bones(scene: &Scene) -> HashSet<usize> {
    scene.skins.iter().flat_map(|s| s.joints.iter().copied()).collect()
}

/// By node, whether it is above a bone: where it goes, the whole figure goes.
fn leading(scene: &Scene, joints: &HashSet<usize>) -> Vec<bool> {
    let mut leads = vec![false; scene.nodes.len()];
    for &node in scene.parents_first().iter().rev() {
        if let Some(p) = scene.nodes[node].parent.filter(|_| leads[node] || joints.contains(&node)) {
            leads[p] = true;
        }
    }
    leads
}

/// By node, whether something above it is marked. However deep a scene is, each is looked at once.
fn below(scene: &Scene, marked: impl Fn(usize) -> bool) -> Vec<bool> {
    let mut below = vec![false; scene.nodes.len()];
    for node in scene.parents_first() {
        below[node] = scene.nodes[node].parent.is_some_and(|p| below[p] || marked(p));
    }
    below
}

/// Extents beyond this many units are taken for centimetres: no prop is fifty metres long, many are fifty inches.
const CENTIMETRES_FROM: f64 = 50.0;

/// Limbs swing within a tenth of a second. Whole frames of the usual rates but 25, so that these need no parts of steps.
const FIGURE_STEPS_PER_SECOND: f64 = 120.0;

/// A set-up for `scene` under the clip of that name (default: the first).
pub fn automatic(scene: &Scene, clip: Option<&str>) -> Result<Setup, SetupError> {
    automatic_with(scene, clip, &Wish::default())
}

/// The same, with what is known of its figures beforehand.
pub fn automatic_with(scene: &Scene, clip: Option<&str>, wish: &Wish) -> Result<Setup, SetupError> {
    for (name, value) in [("mass", wish.mass), ("height", wish.height), ("unit", wish.unit)] {
        if let Some(v) = value.filter(|v| !(v.is_finite() && *v > 0.0)) {
            return Err(SetupError::new(name, format!("{v} must be above 0")));
        }
    }
    let mut setup = Setup::default();
    let Some((index, clip)) = choose_clip(scene, clip)? else {
        return Ok(setup);
    };
    let same_name = scene.clips.iter().filter(|c| c.name == clip.name).count() > 1;
    setup.clip =
        Some(if clip.name.is_empty() || same_name { format!("#{index}") } else { clip.name.clone() });
    setup.world.frames_per_second = Some(frame_rate(clip));
    if let Some(size) = largest_mesh(scene).filter(|s| *s > CENTIMETRES_FROM) {
        setup.world.metres_per_unit = if size > 100.0 * CENTIMETRES_FROM { 0.001 } else { 0.01 };
    }
    setup.world.metres_per_unit = wish.unit.unwrap_or(setup.world.metres_per_unit);
    let figure = character(scene, clip, wish);
    if let Some(figure) = &figure {
        setup.world.metres_per_unit = figure.metres_per_unit;
        setup.world.steps_per_second = Some(FIGURE_STEPS_PER_SECOND);
    }
    let joints = bones(scene);
    let names = scene.by_name();
    let curves = clip.keyed();
    let mut guided: HashSet<usize> = HashSet::new();
    let mut in_order = Vec::new();
    let choices = explain_with(scene, clip, figure.as_ref());
    guided.extend(choices.iter().filter(|c| c.behaviour == Behaviour::Guided).map(|c| c.node));
    let carried = below(scene, |p| guided.contains(&p));
    for choice in choices {
        if choice.behaviour != Behaviour::Guided {
            continue;
        }
        let node = choice.node;
        if joints.contains(&node) {
            continue;
        }
        let mut body = Body::new(scene.reference(&names, node));
        if carried[node] {
            body.guide.space = Space::Parent;
        }
        in_order.push(node);
        setup.bodies.push(body);
    }
    let below_bones = below(scene, |p| joints.contains(&p));
    let boned = |node: usize| joints.contains(&node) || below_bones[node];
    for (body, _) in setup.bodies.iter_mut().zip(&in_order).filter(|(_, node)| boned(**node)) {
        body.contact.collide = Some(false);
    }
    if let Some(figure) = &figure {
        let mut pose = Pose::new(scene, Some(clip));
        pose.evaluate(first_frame(clip));
        let start = clip.range().map_or(0.0, |r| r.0);
        super::character::add(scene, &names, &pose, figure, start, &mut setup);
    }
    let hit = figure.is_some() || in_order.iter().any(|&node| !boned(node));
    let obstacles = scene.parents_first().into_iter().filter(|n| hit && !guided.contains(n) && !boned(*n));
    let mut stands = false;
    let led = Led::new(scene, &curves, &guided, carried);
    for (node, behaviour) in obstacles.filter_map(|n| Some((n, obstacle(scene, &curves, &led, n)?))) {
        stands |= behaviour == Behaviour::Static;
        setup.bodies.push(Body { behaviour, ..Body::new(scene.reference(&names, node)) });
    }
    // A scene that shows what its figure stands on needs no floor besides.
    setup.world.floor = figure.and_then(|f| f.floor).filter(|_| !stands);
    if setup.world.floor.is_none() {
        setup.bodies.iter_mut().for_each(|b| b.contact.floor = None);
    }
    Ok(setup)
}

/// Time of the first frame (s), as the range of a bake has it.
fn first_frame(clip: &Clip) -> f64 {
    let rate = frame_rate(clip);
    clip.range().map_or(0.0, |(start, _)| (start * rate + 1e-3).floor() / rate)
}

/// By node, whether it or something above it is guided, and is keyed.
struct Led {
    guided: Vec<bool>,
    moved: Vec<bool>,
}

impl Led {
    fn new(
        scene: &Scene,
        curves: &HashSet<(usize, Property)>,
        guided: &HashSet<usize>,
        carried: Vec<bool>,
    ) -> Led {
        let moves = [Property::Translation, Property::Rotation, Property::Scale];
        let is_keyed = |n: usize| moves.into_iter().any(|p| curves.contains(&(n, p)));
        let mut led = Led { guided: carried, moved: below(scene, is_keyed) };
        for node in 0..scene.nodes.len() {
            led.guided[node] |= guided.contains(&node);
            led.moved[node] |= is_keyed(node);
        }
        led
    }
}

/// What a mesh is that is not guided itself: in the way where nothing moves it, else wherever its keys or bones take it.
/// `None` for nodes without one, for those whose targets are blended, and for skins whose bones are guided: those touch.
fn obstacle(scene: &Scene, curves: &HashSet<(usize, Property)>, led: &Led, node: usize) -> Option<Behaviour> {
    let n = &scene.nodes[node];
    if scene.meshes[n.mesh?].positions.is_empty() || curves.contains(&(node, Property::Weights)) {
        return None;
    }
    let bones = match n.skin {
        Some(_) => scene.skinned_mesh(node)?.1.joints.as_slice(),
        None => &[],
    };
    let with = || bones.iter().chain([&node]);
    if n.skin.is_some() && with().any(|b| led.guided[*b]) {
        return None;
    }
    let moved = with().any(|b| led.moved[*b]);
    Some(if moved { Behaviour::Animated } else { Behaviour::Static })
}

/// The longest edge of any mesh's bounding box, as the rest pose stretches it.
fn largest_mesh(scene: &Scene) -> Option<f64> {
    let mut pose = crate::scene::Pose::new(scene, None);
    pose.evaluate(0.0);
    let extent = |node: usize| {
        let n = &scene.nodes[node];
        let mesh = &scene.meshes[n.mesh?];
        // A skinned mesh is placed by its bones, not by its node.
        let linear = if n.skin.is_some() { glam::DMat3::IDENTITY } else { pose.world(node).matrix3 };
        let points = mesh.positions.iter().map(|p| linear * *p);
        let (lo, hi) = points
            .fold((glam::DVec3::INFINITY, glam::DVec3::NEG_INFINITY), |(lo, hi), p| (lo.min(p), hi.max(p)));
        Some((hi - lo).max_element()).filter(|s| s.is_finite())
    };
    (0..scene.nodes.len()).filter_map(extent).reduce(f64::max)
}
