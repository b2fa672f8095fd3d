//! A set-up for a scene that has keys and nothing else.
//!
//! Every node whose translation or rotation is keyed becomes guided. Rigid things chase their keys in the world,
//! or relative to a parent that is guided too. Bones keep the places that the hierarchy gives them and only turn:
//! each chases its keyed pose relative to its parent, so that tips follow roots.
//!
//! Meshes that nothing moves are in the way of those that are guided; meshes that a guided thing carries touch with it.
//! What is in a skeleton or on one touches nothing: limbs are in each other's way all the time.

use super::{Behaviour, Body, Group, Parts, Setup, SetupError, Space, nearest};
use crate::rig::frame_rate;
use crate::scene::{Clip, Local, Property, Scene};
use std::collections::HashSet;

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
        (None, n) if names.is_empty() => format!("its {n} clips have no names; write #0 to #{}", n - 1),
        (None, _) => format!("it has {}", names.join(", ")),
    };
    Err(SetupError::new("clip", format!("the scene has no clip called \"{name}\"; {remedy}")))
}

/// The choice for every node that the clip moves, with the reason.
pub fn explain(scene: &Scene, clip: &Clip) -> Vec<Choice> {
    let joints: HashSet<usize> = scene.skins.iter().flat_map(|s| s.joints.iter().copied()).collect();
    let curves = clip.keyed();
    let mut guided = HashSet::new();
    let mut choices = Vec::new();
    for node in scene.parents_first() {
        let keyed = |p| curves.contains(&(node, p));
        let moves = [Property::Translation, Property::Rotation].into_iter().any(keyed);
        let other = [Property::Scale, Property::Weights].into_iter().any(keyed);
        let (behaviour, because) = if moves && matches!(scene.nodes[node].local, Local::Matrix(_)) {
            (Behaviour::Animated, "keyed, but its matrix is sheared: left as keyed".to_string())
        } else if moves && joints.contains(&node) && has_joint_parent(scene, &joints, node) {
            (Behaviour::Guided, "bone with keys: turns after its keyed pose, carried by its parent".into())
        } else if moves {
            let what = if joints.contains(&node) { "root bone" } else { "object" };
            let carried = ancestors(scene, node).any(|p| guided.contains(&p));
            let space = if carried { "as its parent carries them" } else { "in the world" };
            (Behaviour::Guided, format!("{what} with keys: chases them {space}"))
        } else if other {
            (Behaviour::Animated, "only its scale or shape is keyed: left as keyed".into())
        } else {
            continue;
        };
        if behaviour == Behaviour::Guided {
            guided.insert(node);
        }
        choices.push(Choice { node, behaviour, because });
    }
    choices
}

/// A node's ancestors, the nearest first.
fn ancestors(scene: &Scene, node: usize) -> impl Iterator<Item = usize> + use<'_> {
    std::iter::successors(scene.nodes[node].parent, |&p| scene.nodes[p].parent)
}

fn has_joint_parent(scene: &Scene, joints: &HashSet<usize>, node: usize) -> bool {
    scene.nodes[node].parent.is_some_and(|p| joints.contains(&p))
}

/// The group that bones are put in.
const BONES: &str = "bones";

/// Bones answer about 1.6 times as quickly as props: what each lags behind adds up along a limb, and a foot that is
/// half a step late is no longer walking.
const BONE_STRENGTH: f64 = 2.5;

/// Extents beyond this many units are taken for centimetres: no prop is fifty metres long, many are fifty inches.
const CENTIMETRES_FROM: f64 = 50.0;

/// A set-up for `scene` under the clip of that name (default: the first).
pub fn automatic(scene: &Scene, clip: Option<&str>) -> Result<Setup, SetupError> {
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
    let joints: HashSet<usize> = scene.skins.iter().flat_map(|s| s.joints.iter().copied()).collect();
    let names = scene.by_name();
    let curves = clip.keyed();
    let mut guided: HashSet<usize> = HashSet::new();
    let mut in_order = Vec::new();
    for choice in explain(scene, clip).into_iter().filter(|c| c.behaviour == Behaviour::Guided) {
        let node = choice.node;
        let mut body = Body::new(scene.reference(&names, node));
        if ancestors(scene, node).any(|p| guided.contains(&p)) {
            body.guide.space = Space::Parent;
        }
        if joints.contains(&node) && has_joint_parent(scene, &joints, node) {
            body.simulate = Parts::Orientation;
            body.groups.push(BONES.into());
        }
        guided.insert(node);
        in_order.push(node);
        setup.bodies.push(body);
    }
    let boned = |node: usize| joints.contains(&node) || ancestors(scene, node).any(|p| joints.contains(&p));
    for (body, _) in setup.bodies.iter_mut().zip(&in_order).filter(|(_, node)| boned(**node)) {
        body.contact.collide = Some(false);
    }
    let props = in_order.iter().any(|&node| !boned(node));
    let obstacles = scene.parents_first().into_iter().filter(|n| props && !guided.contains(n) && !boned(*n));
    for (node, behaviour) in obstacles.filter_map(|n| Some((n, obstacle(scene, &curves, n)?))) {
        setup.bodies.push(Body { behaviour, ..Body::new(scene.reference(&names, node)) });
    }
    if setup.bodies.iter().any(|b| !b.groups.is_empty()) {
        setup.groups.push(Group::new(BONES, BONE_STRENGTH));
    }
    Ok(setup)
}

/// What a mesh is that is not guided itself: in the way where nothing moves it, else wherever it is carried. `None` for
/// nodes without one, and for those that change their shape.
fn obstacle(scene: &Scene, curves: &HashSet<(usize, Property)>, node: usize) -> Option<Behaviour> {
    let n = &scene.nodes[node];
    let mesh = n.mesh.filter(|_| n.skin.is_none())?;
    let keyed = |n: usize, of: [Property; 2]| of.into_iter().any(|p| curves.contains(&(n, p)));
    let changes = |n: usize| keyed(n, [Property::Scale, Property::Weights]);
    let moves = |n: usize| keyed(n, [Property::Translation, Property::Rotation]);
    if scene.meshes[mesh].positions.is_empty() || changes(node) || ancestors(scene, node).any(changes) {
        return None;
    }
    let moved = moves(node) || ancestors(scene, node).any(moves);
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
