//! What is seen of a body: a closed piece around every bone, held by it and, near its beginning, by its parent, too.

use super::skeleton::{Bone, Flesh, Skeleton};
use glam::DVec3;
use std::f64::consts::{FRAC_PI_4, TAU};

/// Sides of a capsule.
const SIDES: usize = 8;

/// How much of the first ring of a piece its parent holds.
const SHARED: f64 = 0.3;

/// Triangles of a skin, its normals, and of every vertex two bones and their weights.
#[derive(Default)]
pub struct Skin {
    /// Vertices, metres.
    pub positions: Vec<DVec3>,
    /// Outward, of length 1.
    pub normals: Vec<DVec3>,
    /// Bones that hold a vertex, and how much.
    pub held: Vec<([usize; 2], [f64; 2])>,
    /// Counter-clockwise from outside.
    pub triangles: Vec<[usize; 3]>,
}

impl Skin {
    pub(super) fn new(skeleton: &Skeleton) -> Skin {
        let mut skin = Skin::default();
        for (i, bone) in skeleton.bones.iter().enumerate() {
            match bone.flesh {
                Flesh::None => {}
                Flesh::Capsule(radius) => {
                    let touches = |p: &usize| skeleton.bones[*p].flesh != Flesh::None;
                    skin.capsule(i, bone, radius, bone.parent.filter(touches));
                }
                Flesh::Sole { .. } => skin.block(i, sole(bone)),
            }
        }
        skin
    }

    fn capsule(&mut self, index: usize, bone: &Bone, radius: f64, parent: Option<usize>) {
        let way = (bone.tail - bone.head).normalize();
        let (u, v) = way.any_orthonormal_pair();
        let base = self.positions.len();
        let mut vertex = |at: DVec3, normal: DVec3, shared: f64| {
            self.positions.push(at);
            self.normals.push(normal);
            let other = parent.unwrap_or(index);
            let shared = if parent.is_some() { shared } else { 0.0 };
            self.held.push(([index, other], [1.0 - shared, shared]));
        };
        vertex(bone.head - way * radius, -way, SHARED);
        let (slope, half) = (FRAC_PI_4.sin(), bone.head.midpoint(bone.tail));
        // Of every ring: its middle, how far along it leans, and what the parent holds of it.
        let rings = [
            (bone.head, -slope, SHARED),
            (bone.head, 0.0, SHARED),
            (half, 0.0, 0.0),
            (bone.tail, 0.0, 0.0),
            (bone.tail, slope, 0.0),
        ];
        for (middle, lean, shared) in rings {
            for side in 0..SIDES {
                let angle = TAU * side as f64 / SIDES as f64;
                let out = u * angle.cos() + v * angle.sin();
                let normal = out * (1.0 - lean * lean).sqrt() + way * lean;
                vertex(middle + normal * radius, normal, shared);
            }
        }
        vertex(bone.tail + way * radius, way, 0.0);
        let ring = |r: usize, side: usize| base + 1 + r * SIDES + side % SIDES;
        let end = base + 1 + rings.len() * SIDES;
        for side in 0..SIDES {
            self.triangles.push([base, ring(0, side + 1), ring(0, side)]);
            for r in 0..rings.len() - 1 {
                let [a, b, c, d] =
                    [ring(r, side), ring(r, side + 1), ring(r + 1, side + 1), ring(r + 1, side)];
                self.triangles.extend([[a, b, c], [a, c, d]]);
            }
            self.triangles.push([end, ring(rings.len() - 1, side), ring(rings.len() - 1, side + 1)]);
        }
    }

    fn block(&mut self, index: usize, corners: [DVec3; 8]) {
        // Corners count in x, then y, then z; faces look outward.
        const FACES: [[usize; 4]; 6] =
            [[0, 2, 3, 1], [4, 5, 7, 6], [0, 1, 5, 4], [2, 6, 7, 3], [0, 4, 6, 2], [1, 3, 7, 5]];
        for face in FACES {
            let base = self.positions.len();
            let [a, b, c, _] = face.map(|k| corners[k]);
            let normal = (b - a).cross(c - b).normalize();
            for k in face {
                self.positions.push(corners[k]);
                self.normals.push(normal);
                self.held.push(([index, index], [1.0, 0.0]));
            }
            self.triangles.extend([[base, base + 1, base + 2], [base, base + 2, base + 3]]);
        }
    }
}

/// Corners of the box of a foot: from behind the ankle to the toes, down to the floor.
pub fn sole(bone: &Bone) -> [DVec3; 8] {
    let Flesh::Sole { half, high } = bone.flesh else { return [bone.head; 8] };
    let floor = bone.head.y - high;
    let long = bone.tail.z - bone.head.z;
    std::array::from_fn(|k| {
        let (x, y, z) = (k & 1, k >> 1 & 1, k >> 2);
        DVec3::new(
            bone.head.x + half * if x == 0 { -1.0 } else { 1.0 },
            floor + 0.9 * high * y as f64,
            if z == 0 { bone.head.z - 0.35 * long } else { bone.tail.z },
        )
    })
}
