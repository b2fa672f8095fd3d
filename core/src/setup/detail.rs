//! Less detail, as an animator asks for it: the lightest limbs are not simulated, and stay as keyed on what carries them.

use super::{Behaviour, Joint, Setup, SetupError, Shape};
use crate::scene::Scene;
use std::borrow::Cow;
use std::collections::{HashMap, HashSet};

/// A set-up with less detail, and the joints of it that have nothing left to hold.
pub(crate) struct Reduced<'a> {
    pub setup: Cow<'a, Setup>,
    pub idle: HashSet<usize>,
}

/// The set-up with as much detail as it asks for; `bodies`: its bodies by node.
pub(crate) fn reduce<'a>(
    scene: &Scene,
    setup: &'a Setup,
    bodies: &HashMap<usize, usize>,
) -> Result<Reduced<'a>, SetupError> {
    let detail = setup.world.detail;
    if !(0.0..=1.0).contains(&detail) {
        let why = format!("{detail} is out of range; give 0 to 1");
        return Err(SetupError::new("world.detail", why));
    }
    let mut reduced = Reduced { setup: Cow::Borrowed(setup), idle: HashSet::new() };
    if detail == 1.0 {
        return Ok(reduced);
    }
    let names = scene.by_name();
    let node_of: HashMap<usize, usize> = bodies.iter().map(|(&node, &b)| (b, node)).collect();
    // What each body hangs on: the nearest body above it, if a joint holds it there.
    let mut limbs: HashMap<usize, (usize, usize)> = HashMap::new();
    for (&b, &node) in &node_of {
        let hung = setup.bodies[b].guide.parent.as_ref();
        let hung = hung.and_then(|name| crate::rig::resolve_node(scene, &names, name, "").ok());
        let above = hung
            .into_iter()
            .chain(std::iter::successors(scene.nodes[node].parent, |&p| scene.nodes[p].parent))
            .find_map(|p| bodies.get(&p).copied().filter(|&p| setup.bodies[p].behaviour.simulated()));
        let joins = |j: &Joint, p: usize| {
            let has = |x: usize| j.between.iter().any(|n| *n == setup.bodies[x].node);
            has(b) && has(p)
        };
        if let Some(parent) = above
            && let Some(joint) = setup.joints.iter().position(|j| joins(j, parent))
        {
            limbs.insert(b, (parent, joint));
        }
    }
    let keep = (detail * limbs.len() as f64).ceil() as usize;
    let mut gone: HashSet<usize> = HashSet::new();
    while limbs.len() - gone.len() > keep {
        let may_go = |b: &usize| {
            let body = &setup.bodies[*b];
            let own = limbs[b].1;
            // What stands, holds on, or is held by something else stays.
            let held = setup.joints.iter().enumerate().any(|(j, joint)| {
                j != own && !reduced.idle.contains(&j) && joint.between.contains(&body.node)
            });
            !gone.contains(b)
                && !held
                && body.pins.is_empty()
                && body.mass.is_some()
                && body.release.is_none()
                && body.guide.waits.is_empty()
                && !matches!(body.shape, Shape::Hull {})
                && !limbs.iter().any(|(c, (parent, _))| parent == b && !gone.contains(c))
        };
        let mass = |b: &usize| (setup.bodies[*b].mass.unwrap_or(f64::INFINITY), *b);
        let lightest = limbs.keys().copied().filter(|b| may_go(b)).min_by(|a, b| {
            let (a, b) = (mass(a), mass(b));
            a.0.total_cmp(&b.0).then(a.1.cmp(&b.1))
        });
        let Some(b) = lightest else { break };
        gone.insert(b);
        let (parent, joint) = limbs[&b];
        reduced.idle.insert(joint);
        let setup = reduced.setup.to_mut();
        let mass = setup.bodies[b].mass.unwrap_or_default();
        setup.bodies[b].behaviour = Behaviour::Animated;
        setup.bodies[b].contact.collide = Some(false);
        // What it weighs is carried.
        setup.bodies[parent].mass = setup.bodies[parent].mass.map(|m| m + mass);
    }
    Ok(reduced)
}
