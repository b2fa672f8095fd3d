//! Scenes that any engine can simulate: chains, nets and a swung chain, in SI units with z up.
//!
//! One source for all: Sinew gets them as scene and set-up ([`Neutral::rigged`]), other engines as files
//! ([`Neutral::json`], written by the example `neutral_scenes`). A body's frame is at its centre of mass, along its
//! principal axes.

use glam::{DQuat, DVec3};
use serde_json::{Value, json};
use sinew_core::assemble;
use sinew_core::curve::{Curve, Kind, Segments};
use sinew_core::rig::Rig;
use sinew_core::rotation;
use sinew_core::scene::{Channel, Channels, Clip, Local, Node, Placement, Property, Scene};
use sinew_core::setup::{At, Behaviour, Body, Joint, JointKind, Setup, Shape};
use sinew_core::simulate::State;
use std::f64::consts::{FRAC_1_SQRT_2, FRAC_PI_2, TAU};

/// m/s^2.
pub(crate) const GRAVITY: f64 = 9.81;

/// Keys per second of a shaken body: cubic between them, so far below a micrometre from the sines.
const SHAKE_KEYS_PER_SECOND: f64 = 120.0;

/// Longest run that a shaken body has keys for, s.
pub const SHAKE_SECONDS: f64 = 12.0;

/// A neutral scene.
#[derive(Clone, Debug)]
pub struct Neutral {
    /// Its file's stem.
    pub name: String,
    /// m/s^2.
    pub gravity: DVec3,
    /// The step to take, s.
    pub dt: f64,
    /// The bodies, put together.
    pub bodies: Vec<NeutralBody>,
    /// What holds them.
    pub joints: Vec<NeutralJoint>,
    /// Nets: where the bodies are when they are to be put together.
    pub perturbed: Vec<Placement>,
    /// How body 0 is moved; `None`: it is free like the others.
    pub shake: Option<Shake>,
    /// Chains: the energy at the start above that of hanging at rest, J.
    pub energy_scale: Option<f64>,
}

/// A body without shape.
#[derive(Clone, Copy, Debug)]
pub struct NeutralBody {
    /// kg.
    pub mass: f64,
    /// Principal moments about the centre of mass, kg m^2.
    pub inertia: DVec3,
    /// Where it is.
    pub placement: Placement,
}

/// A ball joint or a hinge.
#[derive(Clone, Copy, Debug)]
pub struct NeutralJoint {
    /// The first body; `None`: the world.
    pub a: Option<usize>,
    /// The second body.
    pub b: usize,
    /// Where it is on either body, m.
    pub anchors: [DVec3; 2],
    /// The hinge's axis, the same in either body's frame; `None`: a ball joint.
    pub axis: Option<DVec3>,
    /// Whether it belongs to the spanning tree; the others close loops.
    pub tree: bool,
}

/// `amplitude (sin(2 pi hertz t + phase) - sin(phase))` along each axis, added to where body 0 starts.
#[derive(Clone, Copy, Debug)]
pub struct Shake {
    /// m.
    pub amplitude: DVec3,
    /// Hz.
    pub hertz: DVec3,
    /// rad.
    pub phase: DVec3,
}

impl Shake {
    /// Displacement (m) and velocity (m/s) at a time (s).
    pub fn at(&self, time: f64) -> (DVec3, DVec3) {
        let angle = self.hertz * (TAU * time) + self.phase;
        let (sine, cosine, rest) = (angle.map(libm::sin), angle.map(libm::cos), self.phase.map(libm::sin));
        (self.amplitude * (sine - rest), self.amplitude * cosine * self.hertz * TAU)
    }
}

/// A box of half sides `half` (m).
pub(crate) fn box_inertia(mass: f64, half: DVec3) -> DVec3 {
    let s = half * half;
    DVec3::new(s.y + s.z, s.x + s.z, s.x + s.y) * (mass / 3.0)
}

/// Rods of 1 kg, 0.2 m long and 0.04 m square, hanging from the origin in a straight line 30 degrees off the vertical,
/// with ball joints also 10 degrees to either side in turn. Released at rest.
pub fn chain(links: usize, hinged: bool) -> Neutral {
    let (half, mass) = (0.1, 1.0);
    let inertia = box_inertia(mass, DVec3::new(0.02, 0.02, half));
    let mut top = DVec3::ZERO;
    let (mut bodies, mut joints, mut energy) = (Vec::new(), Vec::new(), 0.0);
    for i in 0..links {
        let mut rotation = rotation::exp(DVec3::Y * -30f64.to_radians());
        if !hinged {
            let side = if i % 2 == 1 { 10f64 } else { -10.0 };
            rotation *= rotation::exp(DVec3::X * side.to_radians());
        }
        let down = rotation * (DVec3::Z * -half);
        let position = top + down;
        bodies.push(NeutralBody { mass, inertia, placement: Placement { position, rotation } });
        joints.push(NeutralJoint {
            a: i.checked_sub(1),
            b: i,
            anchors: [if i == 0 { DVec3::ZERO } else { DVec3::Z * -half }, DVec3::Z * half],
            axis: hinged.then_some(DVec3::Y),
            tree: true,
        });
        energy += mass * GRAVITY * (position.z + half * (2 * i + 1) as f64);
        top = position + down;
    }
    Neutral {
        name: format!("chain_{}_{links}", if hinged { "hinge" } else { "ball" }),
        gravity: DVec3::Z * -GRAVITY,
        dt: 1.0 / 240.0,
        bodies,
        joints,
        perturbed: Vec::new(),
        shake: None,
        energy_scale: Some(energy),
    }
}

/// `links` rods of 0.5 m hanging straight down from a block that swings to and fro over 4 m every two seconds, at 24
/// frames per second: what an animator asks of a chain.
pub fn swung(links: usize) -> Neutral {
    let half = 0.25;
    let mut joints = Vec::new();
    let block = DVec3::splat(0.1);
    let at = |z: f64| Placement { position: DVec3::Z * z, rotation: DQuat::IDENTITY };
    let mut bodies = vec![NeutralBody { mass: 1.0, inertia: box_inertia(1.0, block), placement: at(0.0) }];
    for i in 0..links {
        bodies.push(NeutralBody {
            mass: 1.0,
            inertia: box_inertia(1.0, DVec3::new(0.05, 0.05, half)),
            placement: at(-half * (2 * i + 1) as f64),
        });
        let above = if i == 0 { DVec3::ZERO } else { DVec3::Z * -half };
        let anchors = [above, DVec3::Z * half];
        joints.push(NeutralJoint { a: Some(i), b: i + 1, anchors, axis: None, tree: true });
    }
    Neutral {
        name: format!("swung_{links}"),
        gravity: DVec3::Z * -GRAVITY,
        dt: 1.0 / 24.0,
        bodies,
        joints,
        perturbed: Vec::new(),
        shake: Some(Shake { amplitude: DVec3::X * 2.0, hertz: DVec3::X * 0.5, phase: DVec3::X * FRAC_PI_2 }),
        energy_scale: None,
    }
}

/// `rows` by `columns` plates of 1 kg, 0.4 x 0.4 x 0.1 m, on a curved grid, scattered so that no joint repeats what
/// others say; `count` ball joints half way between neighbours, three scalars each. Gravity lies in the net, so that
/// it hangs from body 0, which is shaken. `perturbed` has every body 0.2 m and 0.2 rad away.
pub fn net(rows: usize, columns: usize, count: usize, seed: u64) -> Neutral {
    let mut scatter = Scatter::new(seed);
    let grid: Vec<(usize, usize)> = (0..rows).flat_map(|i| (0..columns).map(move |k| (i, k))).collect();
    let mut places: Vec<DVec3> = grid
        .iter()
        .map(|&(i, k)| {
            let (i, k) = (i as f64, k as f64);
            let curved = 0.4 * libm::sin(0.9 * k) * libm::cos(0.7 * i);
            DVec3::new(0.5 * k, 0.5 * i, curved) + scatter.vector() * 0.08
        })
        .collect();
    let first = places[0];
    places.iter_mut().for_each(|p| *p -= first);
    let turns: Vec<DQuat> = places.iter().map(|_| rotation::exp(scatter.vector() * 0.3)).collect();

    let mut near = Vec::new();
    for (u, &(i, k)) in grid.iter().enumerate() {
        if k + 1 < columns {
            near.push((u, u + 1));
        }
        if i + 1 < rows {
            near.push((u, u + columns));
        }
    }
    // Breadth first from body 0: the tree, then as many loops as are asked for, by lot.
    let (mut reached, mut tree) = (vec![0], Vec::new());
    let mut next = 0;
    while let Some(&u) = reached.get(next) {
        for &(a, b) in near.iter().filter(|&&(a, b)| a == u || b == u) {
            let v = if a == u { b } else { a };
            if !reached.contains(&v) {
                reached.push(v);
                tree.push((u, v));
            }
        }
        next += 1;
    }
    let in_tree = |e: &(usize, usize)| tree.contains(e) || tree.contains(&(e.1, e.0));
    let mut loops: Vec<(usize, usize)> = near.iter().copied().filter(|e| !in_tree(e)).collect();
    for k in (1..loops.len()).rev() {
        let with = (scatter.unit() * (k + 1) as f64) as usize;
        loops.swap(k, with);
    }
    loops.truncate(count - tree.len());
    loops.sort_unstable();

    let (mass, inertia) = (1.0, box_inertia(1.0, DVec3::new(0.2, 0.2, 0.05)));
    let placements: Vec<Placement> =
        places.iter().zip(&turns).map(|(&position, &rotation)| Placement { position, rotation }).collect();
    let all = tree.iter().map(|e| (e, true)).chain(loops.iter().map(|e| (e, false)));
    let joints: Vec<NeutralJoint> = all
        .map(|(&(a, b), tree)| {
            let half_way = (places[a] + places[b]) / 2.0;
            let anchor = |u: usize| turns[u].conjugate() * (half_way - places[u]);
            NeutralJoint { a: Some(a), b, anchors: [anchor(a), anchor(b)], axis: None, tree }
        })
        .collect();
    let perturbed = placements
        .iter()
        .map(|p| Placement {
            position: p.position + scatter.direction() * 0.2,
            rotation: p.rotation * rotation::exp(scatter.direction() * 0.2),
        })
        .collect();
    Neutral {
        name: format!("net_{}", 3 * joints.len()),
        gravity: DVec3::new(FRAC_1_SQRT_2, FRAC_1_SQRT_2, 0.0) * GRAVITY,
        dt: 1.0 / 60.0,
        bodies: placements.iter().map(|&placement| NeutralBody { mass, inertia, placement }).collect(),
        joints,
        perturbed,
        shake: Some(Shake {
            amplitude: DVec3::new(0.1, 0.0, 0.1),
            hertz: DVec3::new(1.0, 0.0, 2.0),
            phase: DVec3::ZERO,
        }),
        energy_scale: None,
    }
}

/// Numbers of links of the chains.
pub const LINKS: [usize; 5] = [10, 20, 100, 300, 1000];

/// The nets of 108, 261 and 759 scalars.
pub fn nets() -> Vec<Neutral> {
    [(4, 7, 36, 1), (7, 8, 87, 2), (10, 16, 253, 3)].map(|(r, c, n, s)| net(r, c, n, s)).into()
}

/// Every neutral scene.
pub fn all() -> Vec<Neutral> {
    let chains = [true, false].into_iter().flat_map(|hinged| LINKS.map(|n| chain(n, hinged)));
    chains.chain(nets()).chain([swung(9), swung(100)]).collect()
}

impl Neutral {
    /// The scene as other engines read it; quaternions are w, x, y, z.
    pub fn json(&self) -> Value {
        let quat = |q: DQuat| [q.w, q.x, q.y, q.z];
        let place = |p: &Placement| json!({"pos": p.position.to_array(), "quat": quat(p.rotation)});
        let body = |b: &NeutralBody| {
            let (pos, quat) = (b.placement.position.to_array(), quat(b.placement.rotation));
            json!({"mass": b.mass, "inertia": b.inertia.to_array(), "pos": pos, "quat": quat})
        };
        let joint = |j: &NeutralJoint| {
            json!({
                "type": if j.axis.is_some() { "hinge" } else { "ball" },
                "a": j.a.map_or(-1, |a| a as i64), "b": j.b,
                "anchor_a": j.anchors[0].to_array(), "anchor_b": j.anchors[1].to_array(),
                "axis": j.axis.unwrap_or(DVec3::Y).to_array(), "tree": j.tree,
            })
        };
        json!({
            "name": self.name,
            "gravity": self.gravity.to_array(),
            "dt": self.dt,
            "bodies": self.bodies.iter().map(body).collect::<Vec<_>>(),
            "joints": self.joints.iter().map(joint).collect::<Vec<_>>(),
            "perturbed": self.perturbed.iter().map(place).collect::<Vec<_>>(),
            "shake": self.shake.map(|s| json!({
                "amplitude": s.amplitude.to_array(), "hertz": s.hertz.to_array(), "phase": s.phase.to_array(),
            })),
            "energy_scale": self.energy_scale,
        })
    }

    /// The scene and the set-up for [`sinew_core::rig::compile`], with the scene's first clip if there is one.
    /// Body `i` is node `i`.
    ///
    /// # Panics
    /// Never: the keys are in order.
    pub fn rigged(&self) -> (Scene, Setup) {
        let mut scene =
            Scene { name: self.name.clone(), frames_per_second: 1.0 / self.dt, ..Scene::default() };
        let mut setup = Setup::default();
        setup.world.collisions = false;
        setup.world.gravity = self.gravity.to_array();
        setup.bake.frames = Some([0.0, (SHAKE_SECONDS / self.dt).round()]);
        let local = |translation: DVec3, rotation: DQuat| {
            Local::Channels(Channels { translation, rotation, ..Channels::default() })
        };
        for (i, b) in self.bodies.iter().enumerate() {
            let local = local(b.placement.position, b.placement.rotation);
            scene.nodes.push(Node { name: format!("Body {i}"), local, ..Node::default() });
            let keyed = i == 0 && self.shake.is_some();
            setup.bodies.push(Body {
                behaviour: if keyed { Behaviour::Animated } else { Behaviour::Free },
                shape: Shape::Box { size: Some([0.1; 3]) },
                mass: Some(b.mass),
                inertia: Some(b.inertia.to_array()),
                ..Body::new(format!("Body {i}"))
            });
        }
        for (k, j) in self.joints.iter().enumerate() {
            let b = &self.bodies[j.b].placement;
            let at = b.position + b.rotation * j.anchors[1];
            let name = format!("Joint {k}");
            scene.nodes.push(Node {
                name: name.clone(),
                local: local(at, DQuat::IDENTITY),
                ..Node::default()
            });
            let kind = if j.axis.is_some() { JointKind::Pin } else { JointKind::Universal };
            let first = j.a.map_or("world".into(), |a| format!("Body {a}"));
            setup.joints.push(Joint {
                at: Some(At::Node(name)),
                axis: j.axis.map(|axis| (b.rotation * axis).to_array()),
                ..Joint::new(kind, [&first, &format!("Body {}", j.b)])
            });
        }
        if let Some(shake) = &self.shake {
            let count = (SHAKE_SECONDS * SHAKE_KEYS_PER_SECOND) as usize;
            let times: Vec<f64> = (0..=count).map(|k| k as f64 / SHAKE_KEYS_PER_SECOND).collect();
            let from = self.bodies[0].placement.position;
            let values = times.iter().flat_map(|&t| (from + shake.at(t).0).to_array()).collect();
            let tangents: Vec<f64> = times.iter().flat_map(|&t| shake.at(t).1.to_array()).collect();
            let segments = Segments::Cubic { arriving: tangents.clone(), leaving: tangents };
            match Curve::new(Kind::Vector, 3, times, values, segments) {
                Ok(curve) => scene.clips.push(Clip {
                    name: "Shake".into(),
                    channels: vec![Channel { node: 0, property: Property::Translation, curve }],
                }),
                Err(e) => unreachable!("{e}"),
            }
        }
        (scene, setup)
    }

    /// Where every body is in a state of this scene's rig, keyed ones included.
    pub fn placements(&self, rig: &Rig, state: &State) -> Vec<Placement> {
        let shaken = self.shake.map_or(DVec3::ZERO, |s| s.at(state.time).0);
        let mut placements: Vec<Placement> = self.bodies.iter().map(|b| b.placement).collect();
        if let Some(first) = placements.first_mut() {
            first.position += shaken;
        }
        for (solid, s) in rig.solids.iter().zip(&state.solids) {
            // The solid's frame is `offset` in the node's: take it off again.
            placements[solid.node] = s.placement().then(&solid.offset.to(&Placement::IDENTITY));
        }
        placements
    }

    /// The largest distance between the two ends of a joint, m: measured here, not taken from the engine's word.
    pub fn opening(&self, placements: &[Placement]) -> f64 {
        let point = |p: &Placement, anchor: DVec3| p.position + p.rotation * anchor;
        let open = |j: &NeutralJoint| {
            let first = j.a.map_or(j.anchors[0], |a| point(&placements[a], j.anchors[0]));
            (first - point(&placements[j.b], j.anchors[1])).length()
        };
        self.joints.iter().map(open).fold(0.0, f64::max)
    }

    /// Kinetic energy and weight, J.
    pub fn energy(&self, rig: &Rig, state: &State) -> f64 {
        let of = |(solid, s): (&sinew_core::rig::Solid, &sinew_core::simulate::SolidState)| {
            let local = s.orientation.conjugate() * s.momentum;
            0.5 * solid.mass * s.velocity.length_squared() + 0.5 * (local * local).dot(solid.per_inertia)
                - solid.mass * self.gravity.dot(s.position)
        };
        rig.solids.iter().zip(&state.solids).map(of).sum()
    }

    /// The solids of a rig in which every body is free, at their perturbed places.
    pub fn scattered(&self, rig: &Rig) -> Vec<assemble::Body> {
        let body = |s: &sinew_core::rig::Solid| assemble::Body {
            placement: self.perturbed[s.node].then(&s.offset),
            per_mass: 1.0 / s.mass,
            per_inertia: s.per_inertia,
        };
        rig.solids.iter().map(body).collect()
    }

    /// The same scene with body 0 free.
    pub fn unshaken(&self) -> Neutral {
        Neutral { shake: None, ..self.clone() }
    }
}

/// Numbers that look random and are the same in every run (splitmix64).
pub(crate) struct Scatter {
    next: u64,
}

impl Scatter {
    pub(crate) fn new(seed: u64) -> Scatter {
        Scatter { next: seed * 1_000_003 }
    }

    /// In [0, 1).
    pub(crate) fn unit(&mut self) -> f64 {
        self.next += 1;
        let mut z = self.next.wrapping_mul(0x9e37_79b9_7f4a_7c15);
        z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        ((z ^ (z >> 31)) >> 11) as f64 / 2f64.powi(53)
    }

    /// In the cube from -1 to 1.
    pub(crate) fn vector(&mut self) -> DVec3 {
        DVec3::from_array(std::array::from_fn(|_| 2.0 * self.unit() - 1.0))
    }

    /// Of length 1, every direction alike.
    fn direction(&mut self) -> DVec3 {
        loop {
            let v = self.vector();
            let square = v.length_squared();
            if (1e-6..=1.0).contains(&square) {
                return v / libm::sqrt(square);
            }
        }
    }
}
