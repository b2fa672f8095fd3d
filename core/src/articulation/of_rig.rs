//! A rig's linkages as trees.
//!
//! Joints whose freedoms are coordinates carry the tree: balls, pins, sliders, and what is fixed. Ranges, springs and muscles do not
//! hold bodies together and are left to whoever uses the tree; so are pins, which hold a body on its keys.

use super::{Articulation, JointKind, Link, Mass};
use crate::joint::{End, Joint, Kind};
use crate::rig::Rig;
use crate::scene::Placement;
use glam::DVec3;

/// Bodies that are joined together.
#[derive(Clone, Debug)]
pub struct Linkage {
    /// The tree: its root floats.
    pub tree: Articulation,
    /// The solids, by index in the rig, and the link of each.
    pub solids: Vec<(usize, usize)>,
    /// Links whose anchor keys move, and the rig's joint.
    carried: Vec<(usize, usize)>,
}

/// Why bodies are no tree, by the joint's name.
#[derive(Clone, Debug, PartialEq, thiserror::Error)]
pub enum NoTree {
    /// Joints make a loop.
    #[error("the joint \"{0}\" closes a loop; remove it, or one of the others of that loop")]
    Loop(String),
    /// A joint has no coordinates.
    #[error(
        "the joint \"{0}\" is none that can be refined: it must be universal, pin, prismatic or fixed, hold firmly and always, and join two simulated bodies"
    )]
    NoCoordinates(String),
}

/// How a joint moves what it holds; `None` where that is no coordinate.
fn kind(joint: &Joint) -> Option<JointKind> {
    if joint.spring.is_some() || joint.holds.on.is_some() || joint.holds.most_force.is_finite() {
        return None;
    }
    match joint.kind {
        Kind::UNIVERSAL if joint.anchor.is_some() => Some(JointKind::CarriedBall),
        Kind::UNIVERSAL => Some(JointKind::Ball),
        Kind::PIN => Some(JointKind::Hinge),
        Kind::PRISMATIC => Some(JointKind::Slider),
        Kind::FIXED => Some(JointKind::Fixed),
        _ => None,
    }
}

/// Whether a joint holds bodies together, rather than limiting or moving what others leave free.
fn holds_together(joint: &Joint) -> bool {
    !matches!(
        joint.kind,
        Kind::Slide { .. }
            | Kind::Turn { .. }
            | Kind::Cone(_)
            | Kind::SlideTo
            | Kind::TurnTo
            | Kind::Upright
            | Kind::Pose(_)
    )
}

/// Whether it is a pin: what holds a body on its keys for a time.
fn is_pin(joint: &Joint) -> bool {
    joint.of == usize::MAX && matches!(joint.ends[0], End::Keys(_))
}

/// The linkages of a rig that have more than one body, in the order of their first bodies.
pub fn linkages(rig: &Rig) -> Result<Vec<Linkage>, NoTree> {
    let holding: Vec<(usize, &Joint)> =
        rig.joints.iter().enumerate().filter(|(_, j)| holds_together(j) && !is_pin(j)).collect();
    let mut taken = vec![false; rig.solids.len()];
    let mut used = vec![false; rig.joints.len()];
    let mut found = Vec::new();
    for root in 0..rig.solids.len() {
        if taken[root] {
            continue;
        }
        taken[root] = true;
        let mut linkage = Builder::new(rig, root);
        let mut at = 0;
        while at < linkage.solids.len() {
            let (solid, link) = linkage.solids[at];
            for &(index, joint) in &holding {
                let side = match joint.ends {
                    [End::Solid(a), End::Solid(_)] if a == solid => 0,
                    [End::Solid(_), End::Solid(b)] if b == solid => 1,
                    _ => continue,
                };
                if used[index] {
                    continue;
                }
                used[index] = true;
                let End::Solid(other) = joint.ends[1 - side] else { continue };
                let refused = || NoTree::NoCoordinates(joint.name.clone());
                if taken[other] {
                    return Err(NoTree::Loop(joint.name.clone()));
                }
                let kind = kind(joint).ok_or_else(refused)?;
                // Keys move the first frame's origin: that must be the parent's.
                if kind == JointKind::CarriedBall && side == 1 {
                    return Err(refused());
                }
                taken[other] = true;
                linkage.hang(index, joint, kind, side, link, other);
            }
            at += 1;
        }
        if linkage.solids.len() > 1 {
            found.push(linkage.done());
        }
    }
    match holding.iter().find(|(i, _)| !used[*i]) {
        Some((_, joint)) => Err(NoTree::NoCoordinates(joint.name.clone())),
        None => Ok(found),
    }
}

struct Builder<'a> {
    rig: &'a Rig,
    links: Vec<Link>,
    solids: Vec<(usize, usize)>,
    carried: Vec<(usize, usize)>,
}

impl<'a> Builder<'a> {
    fn new(rig: &'a Rig, root: usize) -> Self {
        let float = |parent, kind, mass, body| Link { parent, kind, place: Placement::IDENTITY, mass, body };
        let links = vec![
            float(None, JointKind::Translation, None, None),
            float(Some(0), JointKind::Ball, Some(mass(rig, root, Placement::IDENTITY)), Some(root)),
        ];
        Builder { rig, links, solids: vec![(root, 1)], carried: Vec::new() }
    }

    /// Hangs a solid on a link by a joint, of whose ends `side` is the link's.
    fn hang(&mut self, index: usize, joint: &Joint, kind: JointKind, side: usize, link: usize, solid: usize) {
        // The link's frame is the joint's on the solid; the solid's own frame is seen from there.
        let centre = joint.frames[1 - side].to(&Placement::IDENTITY);
        let parent = self.links[link].mass.map_or(Placement::IDENTITY, |m| m.centre);
        if kind == JointKind::CarriedBall {
            self.carried.push((self.links.len(), index));
        }
        self.solids.push((solid, self.links.len()));
        self.links.push(Link {
            parent: Some(link),
            kind,
            place: parent.then(&joint.frames[side]),
            mass: Some(mass(self.rig, solid, centre)),
            body: Some(solid),
        });
    }

    fn done(self) -> Linkage {
        Linkage { tree: Articulation::new(self.links), solids: self.solids, carried: self.carried }
    }
}

fn mass(rig: &Rig, solid: usize, centre: Placement) -> Mass {
    let s = &rig.solids[solid];
    Mass { mass: s.mass, inertia: s.inertia, centre }
}

impl Linkage {
    /// The configuration nearest to where bodies are at `time` (s): their turns, and where the root is. What joints are open by is lost.
    pub fn configuration(&self, rig: &Rig, time: f64, place: impl Fn(usize) -> Placement) -> Vec<f64> {
        let tree = &self.tree;
        let mut q = tree.neutral();
        let mut frames = vec![Placement::IDENTITY; tree.links().len()];
        for (i, link) in tree.links().iter().enumerate() {
            let Some((body, mass)) = link.body.zip(link.mass) else { continue };
            let back = mass.centre.to(&Placement::IDENTITY);
            frames[i] = place(body).then(&back);
            let parent = link.parent.map_or(Placement::IDENTITY, |p| frames[p]);
            let turned = parent.then(&link.place).rotation.conjugate() * frames[i].rotation;
            let own = tree.coordinates_of(i);
            match link.kind {
                JointKind::Ball | JointKind::CarriedBall => turned.write_to_slice(&mut q[own.clone()]),
                JointKind::Hinge => q[own.start] = crate::rotation::log(turned).x,
                JointKind::Slider => {
                    let joint = parent.then(&link.place);
                    q[own.start] = joint.to(&frames[i]).position.x;
                }
                JointKind::Translation | JointKind::Fixed => {}
            }
            if link.parent == Some(0) {
                frames[i].position.write_to_slice(&mut q[tree.coordinates_of(0)]);
            }
        }
        for &(link, joint) in &self.carried {
            let joint = &rig.joints[joint];
            let parent = tree.links()[link].parent.and_then(|p| tree.links()[p].mass);
            let centre = parent.map_or(Placement::IDENTITY, |m| m.centre);
            let anchor: DVec3 = centre.then(&joint.first_frame(&rig.paths, time)).position;
            anchor.write_to_slice(&mut q[tree.coordinates_of(link)][4..]);
        }
        q
    }
}
