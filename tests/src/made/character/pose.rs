//! A skeleton at a moment.

use super::skeleton::Skeleton;
use glam::{DQuat, DVec3};

/// Of each bone, how it is turned and moved on its parent beside its rest, in the axes of the world at rest.
#[derive(Clone, Debug)]
pub struct Pose {
    pub turn: Vec<DQuat>,
    pub shift: Vec<DVec3>,
}

/// Where a bone is in the world, and how it is turned beside its rest.
#[derive(Clone, Copy, Debug)]
pub struct Placed {
    pub at: DVec3,
    pub turned: DQuat,
}

impl Pose {
    pub fn rest(skeleton: &Skeleton) -> Pose {
        let count = skeleton.bones.len();
        Pose { turn: vec![DQuat::IDENTITY; count], shift: vec![DVec3::ZERO; count] }
    }

    /// Turns a bone on its parent, after what it was turned by already.
    pub fn add(&mut self, bone: usize, turn: DQuat) {
        self.turn[bone] = turn * self.turn[bone];
    }

    /// Every bone in the world.
    pub fn placed(&self, skeleton: &Skeleton) -> Vec<Placed> {
        let mut placed: Vec<Placed> = Vec::with_capacity(skeleton.bones.len());
        for (i, bone) in skeleton.bones.iter().enumerate() {
            let above = skeleton.above(i, &placed);
            let from = bone.parent.map_or(DVec3::ZERO, |p| skeleton.bones[p].head);
            placed.push(Placed {
                at: above.at + above.turned * (bone.head - from + self.shift[i]),
                turned: above.turned * self.turn[i],
            });
        }
        placed
    }

    /// Puts a bone there in the world, its parents being `placed`.
    pub fn put(&mut self, skeleton: &Skeleton, placed: &mut [Placed], bone: usize, to: Placed) {
        let above = skeleton.above(bone, placed);
        let from = skeleton.bones[bone].parent.map_or(DVec3::ZERO, |p| skeleton.bones[p].head);
        let back = above.turned.conjugate();
        self.turn[bone] = (back * to.turned).normalize();
        self.shift[bone] = back * (to.at - above.at) - (skeleton.bones[bone].head - from);
        placed[bone] = to;
    }

    /// Turns a bone so in the world, its parents being `placed`; it stays at its place on its parent.
    pub fn aim(&mut self, skeleton: &Skeleton, placed: &mut [Placed], bone: usize, turned: DQuat) {
        let above = skeleton.above(bone, placed);
        let from = skeleton.bones[bone].parent.map_or(DVec3::ZERO, |p| skeleton.bones[p].head);
        let at = above.at + above.turned * (skeleton.bones[bone].head - from + self.shift[bone]);
        self.turn[bone] = (above.turned.conjugate() * turned).normalize();
        placed[bone] = Placed { at, turned };
    }
}
