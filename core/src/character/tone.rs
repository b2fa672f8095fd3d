//! Muscle tone: how stiff the drive of each joint is, solved from the clip, so that every limb trails its keys by an angle
//! that one sees, on a calm walk and on a lively run alike.
//!
//! A limb on its joint, held by a drive of natural frequency `w` and damping ratio `z` about everything beyond the joint
//! (inertia `I`), departs from its keys by `e`, a rotation vector in its parent's frame:
//!
//! ```text
//!     e'' + 2 z w e' + w^2 e = (1 - a) tau(t) / I + (1 - k) 2 z w v(t)
//! ```
//!
//! with `tau` the torque that the keys need at the joint (inverse dynamics, without weight, which muscles know), `v` the keyed
//! angular velocity against the parent, `a` the share of `tau` that is fed forward (`anticipation`) and `k` the share of `v`
//! that damping is measured against (`keep_up`). The first makes limbs drag and overshoot, the second makes them late.
//! The frequency is the highest of those tried at which the mean of |e| reaches the angle that is wanted of the joint: little
//! at the spine, more towards the ends of arms and tails. What carries the figure, root and legs, is stiff instead, so that
//! feet stay.

use super::kind::Kind;
use super::name::{Name, Part, Segment};
use super::{Character, form, hangs_on};
use crate::dynamics::response::Response;
use crate::rig::frame_rate;
use crate::rotation;
use crate::scene::{Clip, Placement, Pose, Scene};
use crate::shape::MassProperties;
use glam::{DMat3, DVec3};

/// How a limb's drive follows its keys.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Tone {
    /// Natural frequency about everything beyond the joint, Hz.
    pub frequency_hz: f64,
    /// Damping ratio.
    pub damping: f64,
    /// Share of the keyed velocity that damping is measured against.
    pub keep_up: f64,
    /// Share of the keys' inverse dynamics that is fed forward.
    pub anticipation: f64,
    /// It carries the figure: it is loosened last.
    pub stance: bool,
}

/// What a limb is for, as far as its drive is concerned.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Role {
    Root,
    Leg,
    Foot,
    Spine,
    Chest,
    Neck,
    Head,
    Clavicle,
    Shoulder,
    Elbow,
    Wrist,
    Prop,
    Tail,
}

/// The lowest and the highest frequency of a joint, Hz: human muscles move limbs at 1 to 3, small parts at up to 10.
const FREQUENCIES_HZ: [f64; 2] = [1.5, 10.0];

/// So many frequencies are tried, in equal ratios.
const TRIED: usize = 40;

/// Root and legs, Hz.
const STANCE_HZ: f64 = 6.0;

/// Left and right whose frequencies differ by less than this factor get the same.
const ALIKE: f64 = 1.4;

/// Moments of the clip, at most; and per second.
const MOST_MOMENTS: f64 = 3000.0;
const MOST_PER_SECOND: f64 = 60.0;

/// A clip whose last pose is its first, within so many degrees of every limb, is a cycle.
const CLOSED_DEG: f64 = 3.0;

impl Role {
    /// Wanted departure (degrees), anticipation, keep-up, damping ratio; `None` for what carries the figure.
    fn wanted(self) -> Option<(f64, f64, f64, f64)> {
        Some(match self {
            Role::Root | Role::Leg | Role::Foot | Role::Tail => return None,
            Role::Spine => (1.5, 0.5, 0.7, 1.0),
            Role::Chest => (2.2, 0.5, 0.6, 1.0),
            Role::Neck => (2.2, 0.4, 0.6, 1.0),
            Role::Head => (3.0, 0.3, 0.5, 0.9),
            Role::Clavicle => (1.5, 0.5, 0.8, 1.0),
            Role::Shoulder => (3.0, 0.5, 0.7, 1.0),
            Role::Elbow => (4.5, 0.4, 0.5, 0.9),
            Role::Wrist => (6.0, 0.3, 0.3, 0.7),
            Role::Prop => (4.5, 0.3, 0.5, 0.8),
        })
    }
}

/// Finds the tone of every limb; tails, ears and straps keep none, and hang as they do.
pub(super) fn find(scene: &Scene, clip: &Clip, figure: &mut Character) {
    let roles = roles(scene, figure);
    let keyed = Keyed::new(scene, clip, figure);
    let mut tones: Vec<Tone> = Vec::with_capacity(roles.len());
    for (i, role) in roles.iter().enumerate() {
        tones.push(match role.wanted() {
            None => Tone {
                frequency_hz: STANCE_HZ,
                damping: 1.0,
                keep_up: 1.0,
                anticipation: if *role == Role::Root { 1.0 } else { 0.9 },
                stance: true,
            },
            Some((degrees, anticipation, keep_up, damping)) => {
                let tone = Tone { frequency_hz: 0.0, damping, keep_up, anticipation, stance: false };
                Tone { frequency_hz: keyed.frequency(i, figure, tone, degrees.to_radians()), ..tone }
            }
        });
    }
    // Left and right are alike, unless one of them does something else, or holds something.
    for (a, b) in form::pairs(scene, &figure.limbs) {
        let [x, y] = [tones[a].frequency_hz, tones[b].frequency_hz];
        if x.max(y) < ALIKE * x.min(y) {
            let mean = (x * y).sqrt();
            (tones[a].frequency_hz, tones[b].frequency_hz) = (mean, mean);
        }
    }
    for (limb, (tone, role)) in figure.limbs.iter_mut().zip(tones.into_iter().zip(roles)) {
        limb.tone = (role != Role::Tail).then_some(tone);
    }
}

/// What each limb is for: by its name, by its chain, and by where it is in that.
fn roles(scene: &Scene, figure: &Character) -> Vec<Role> {
    let limbs = &figure.limbs;
    let names: Vec<Name> = limbs.iter().map(|l| Name::new(&scene.nodes[l.node].name)).collect();
    let part = |i: usize| names[i].part();
    let children = |i: usize| (0..limbs.len()).filter(move |&k| limbs[k].parent == Some(i));
    let in_arm =
        |i: usize| std::iter::successors(Some(i), |&l| limbs[l].parent).any(|l| part(l) == Some(Part::Arm));
    let below = |i: usize, what: &dyn Fn(usize) -> bool| {
        (0..limbs.len()).any(|k| k != i && hangs_on(limbs, k, i) && what(k))
    };
    // How many limbs of its own chain are above one.
    let depth = |i: usize| {
        std::iter::successors(limbs[i].parent, |&l| limbs[l].parent)
            .take_while(|&l| limbs[l].chain == limbs[i].chain)
            .count()
    };
    // A human does not stand on its arms, however far down what they hold reaches.
    let arm = |i: usize| in_arm(i) && figure.kinds[limbs[i].figure] == Kind::Human;
    let stands: Vec<bool> = (0..figure.chains.len())
        .map(|c| (0..limbs.len()).any(|i| limbs[i].chain == c && limbs[i].form.hull.is_some() && !arm(i)))
        .collect();
    (0..limbs.len())
        .map(|i| {
            let limb = &limbs[i];
            let chain = &figure.chains[limb.chain];
            if limb.parent.is_none() {
                return Role::Root;
            }
            if chain.loose {
                return Role::Tail;
            }
            match part(i) {
                Some(Part::Leg) => return Role::Leg,
                Some(Part::End) if !in_arm(i) => return Role::Foot,
                Some(Part::Head) => {
                    return if below(i, &|k| part(k) == Some(Part::Head)) { Role::Neck } else { Role::Head };
                }
                Some(Part::Spine) => {
                    let bears = |k: usize| matches!(part(k), Some(Part::Spine));
                    // A pelvis between root and legs carries them.
                    let legs = children(i).any(|k| part(k) == Some(Part::Leg));
                    return match (legs, below(i, &bears)) {
                        (true, _) => Role::Leg,
                        (false, true) => Role::Spine,
                        (false, false) => Role::Chest,
                    };
                }
                _ => {}
            }
            // Front legs stand, arms do not.
            if stands[limb.chain] {
                return if limb.form.hull.is_some() { Role::Foot } else { Role::Leg };
            }
            if in_arm(i) {
                let upper = std::iter::successors(Some(i), |&l| limbs[l].parent)
                    .position(|l| names[l].segment() == Some(Segment::UpperArm));
                let is_hand = part(i) == Some(Part::End);
                return match (upper, depth(i)) {
                    _ if is_hand => Role::Wrist,
                    (Some(0), _) => Role::Shoulder,
                    (Some(1), _) => Role::Elbow,
                    (Some(2), _) => Role::Wrist,
                    (Some(_), _) => Role::Prop,
                    (None, _) if below(i, &|k| names[k].segment() == Some(Segment::UpperArm)) => {
                        Role::Clavicle
                    }
                    (None, 0) => Role::Shoulder,
                    (None, 1) => Role::Elbow,
                    (None, 2) => Role::Wrist,
                    (None, _) => Role::Prop,
                };
            }
            // Nobody knows what it is: as an arm, by how far out it is.
            match depth(i) {
                _ if limb.form.hull.is_some() => Role::Foot,
                0 if children(i).next().is_none() => Role::Prop,
                0 => Role::Shoulder,
                1 => Role::Elbow,
                _ => Role::Wrist,
            }
        })
        .collect()
}

/// The keys' motion of every limb: what its joint turns by and bears.
struct Keyed {
    step: f64,
    closed: bool,
    /// By limb and moment: torque at the joint per inertia, and angular velocity against the parent, in the parent's frame.
    needs: Vec<Vec<DVec3>>,
    turns: Vec<Vec<DVec3>>,
}

impl Keyed {
    fn new(scene: &Scene, clip: &Clip, figure: &Character) -> Keyed {
        let limbs = &figure.limbs;
        let (start, end) = clip.range().unwrap_or((0.0, 0.0));
        let rate = frame_rate(clip).min(MOST_PER_SECOND);
        let frames = ((end - start) * rate).clamp(2.0, MOST_MOMENTS).round();
        let step = (end - start) / frames;
        let moments = frames as usize + 1;
        let mut pose = Pose::new(scene, Some(clip));
        let mut places: Vec<Vec<Placement>> = vec![Vec::with_capacity(moments); limbs.len()];
        for k in 0..moments {
            pose.evaluate(start + step * k as f64);
            for (limb, places) in limbs.iter().zip(&mut places) {
                places.push(pose.placement(limb.node));
            }
        }
        let closed =
            places.iter().enumerate().filter_map(|(i, own)| Some((own, &places[limbs[i].parent?]))).all(
                |(own, parent)| {
                    let seen = |k: usize| parent[k].rotation.conjugate() * own[k].rotation;
                    rotation::distance(seen(0), seen(moments - 1)).to_degrees() < CLOSED_DEG
                },
            );
        let bodies: Vec<MassProperties> =
            limbs.iter().map(|l| l.form.mass_properties().with_mass(l.mass)).collect();
        // Force and moment about the origin of everything beyond each joint, by limb and moment.
        let mut beyond: Vec<Vec<(DVec3, DVec3)>> =
            (0..limbs.len()).map(|i| loads(&places[i], &bodies[i], step, closed)).collect();
        for i in (0..limbs.len()).rev() {
            let Some(parent) = limbs[i].parent else { continue };
            let own = std::mem::take(&mut beyond[i]);
            for (sum, load) in beyond[parent].iter_mut().zip(&own) {
                *sum = (sum.0 + load.0, sum.1 + load.1);
            }
            beyond[i] = own;
        }
        let (mut needs, mut turns) = (Vec::new(), Vec::new());
        for (i, limb) in limbs.iter().enumerate() {
            let Some(parent) = limb.parent else {
                needs.push(Vec::new());
                turns.push(Vec::new());
                continue;
            };
            let inertia = inertia_beyond(limbs, &bodies, &places, i);
            let back = |k: usize| places[parent][k].rotation.conjugate();
            let need = |k: usize| {
                let (force, moment) = beyond[i][k];
                back(k) * (moment - places[i][k].position.cross(force)) / inertia
            };
            let seen = |k: usize| back(k) * places[i][k].rotation;
            let turn = |k: usize| {
                let (a, b) = neighbours(k, moments, closed);
                rotation::log(seen(b) * seen(a).conjugate()) / (span(k, moments, closed) * step)
            };
            needs.push((0..moments).map(need).collect());
            turns.push((0..moments).map(turn).collect());
        }
        Keyed { step, closed, needs, turns }
    }

    /// The highest frequency at which a limb departs from its keys by `wanted` rad in the mean, Hz.
    fn frequency(&self, limb: usize, figure: &Character, tone: Tone, wanted: f64) -> f64 {
        let [lowest, highest] = FREQUENCIES_HZ;
        if figure.limbs[limb].parent.is_none() || self.step <= 0.0 {
            return highest;
        }
        let ratio = (lowest / highest).powf(1.0 / (TRIED - 1) as f64);
        let mut above = (highest, 0.0);
        let mut hz = highest;
        for _ in 0..TRIED {
            let off = self.departure(limb, Tone { frequency_hz: hz, ..tone });
            if off >= wanted {
                // Between the last two, as they come.
                let share = ((wanted - above.1) / (off - above.1).max(f64::MIN_POSITIVE)).clamp(0.0, 1.0);
                return above.0 * libm::pow(hz / above.0, share);
            }
            above = (hz, off);
            hz *= ratio;
        }
        lowest
    }

    /// The mean angle by which a limb departs from its keys, rad: of the second turn, where the clip is a cycle.
    fn departure(&self, limb: usize, tone: Tone) -> f64 {
        let w = std::f64::consts::TAU * tone.frequency_hz;
        let (k, c) = (w * w, 2.0 * tone.damping * w);
        let r = Response::new(k, c, self.step);
        let (needs, turns) = (&self.needs[limb], &self.turns[limb]);
        let drives = |n: usize| needs[n] * (1.0 - tone.anticipation) + turns[n] * ((1.0 - tone.keep_up) * c);
        let (mut e, mut rate, mut sum) = (DVec3::ZERO, DVec3::ZERO, 0.0);
        let rounds = if self.closed { 2 } else { 1 };
        for _ in 0..rounds {
            sum = 0.0;
            for n in 1..needs.len() {
                let (b0, b1) = (drives(n - 1), (drives(n) - drives(n - 1)) / self.step);
                let pull = b0 - e * k;
                (e, rate) = (e + rate * r.b + pull * r.g + b1 * r.h, rate * r.b_rate + pull * r.b + b1 * r.g);
                sum += e.length();
            }
        }
        sum / (needs.len() - 1).max(1) as f64
    }
}

/// The samples before and after one, round the end of a cycle.
fn neighbours(k: usize, moments: usize, closed: bool) -> (usize, usize) {
    match (k == 0, k + 1 == moments) {
        (true, _) if closed => (moments - 2, 1),
        (_, true) if closed => (moments - 2, 1),
        (true, _) => (0, 1),
        (_, true) => (moments - 2, moments - 1),
        _ => (k - 1, k + 1),
    }
}

/// How many steps lie between these.
fn span(k: usize, moments: usize, closed: bool) -> f64 {
    if !closed && (k == 0 || k + 1 == moments) { 1.0 } else { 2.0 }
}

/// Force and moment about the origin that a limb's keys need of it at each moment.
fn loads(places: &[Placement], body: &MassProperties, step: f64, closed: bool) -> Vec<(DVec3, DVec3)> {
    let moments = places.len();
    let middle: Vec<DVec3> = places.iter().map(|p| super::placed(p, body.center)).collect();
    let velocity = |k: usize| (middle[k + 1] - middle[k]) / step;
    let spin = |k: usize| rotation::log(places[k + 1].rotation * places[k].rotation.conjugate()) / step;
    let momentum = |k: usize| {
        let axes = DMat3::from_quat(places[k].rotation);
        axes * body.inertia * axes.transpose() * spin(k)
    };
    // A cycle that travels moves on by the same way every turn: differences go round its end, places do not.
    let at = |k: usize| (middle[k], velocity(k), momentum(k));
    (0..moments)
        .map(|k| {
            let (early, late) = match (k, closed) {
                (0, true) => (moments - 2, 0),
                (k, true) if k + 1 == moments => (k - 1, 0),
                (0, false) => return (DVec3::ZERO, DVec3::ZERO),
                (k, false) if k + 1 == moments => return (DVec3::ZERO, DVec3::ZERO),
                (k, _) => (k - 1, k),
            };
            let ((_, v0, l0), (_, v1, l1)) = (at(early), at(late));
            let force = (v1 - v0) * (body.mass / step);
            (force, middle[k].cross(force) + (l1 - l0) / step)
        })
        .collect()
}

/// The inertia of everything beyond a limb's joint, about it: half of its trace at the first moment, which is that of a
/// slender thing across.
fn inertia_beyond(
    limbs: &[super::Limb],
    bodies: &[MassProperties],
    places: &[Vec<Placement>],
    i: usize,
) -> f64 {
    let joint = places[i][0].position;
    let trace = |m: &DMat3| m.x_axis.x + m.y_axis.y + m.z_axis.z;
    let all = (0..limbs.len()).filter(|&k| hangs_on(limbs, k, i)).map(|k| {
        let far = super::placed(&places[k][0], bodies[k].center) - joint;
        trace(&bodies[k].inertia) + 2.0 * bodies[k].mass * far.length_squared()
    });
    (0.5 * all.sum::<f64>()).max(f64::MIN_POSITIVE)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A joint whose keys swing it once a second, as a cycle of 60 moments.
    fn swung(need: f64, speed: f64) -> Keyed {
        let at = |k: usize| std::f64::consts::TAU * k as f64 / 60.0;
        let sines =
            |size: f64| vec![(0..=60).map(|k| DVec3::Z * (size * libm::sin(at(k)))).collect::<Vec<_>>()];
        Keyed { step: 1.0 / 60.0, closed: true, needs: sines(need), turns: sines(speed) }
    }

    /// The steady swing of a damped oscillator under a sine, and the mean of its size.
    fn swing(force: f64, tone: Tone) -> f64 {
        let (w, drive) = (std::f64::consts::TAU * tone.frequency_hz, std::f64::consts::TAU);
        let across = 2.0 * tone.damping * w * drive;
        force / (w * w - drive * drive).hypot(across) * std::f64::consts::FRAC_2_PI
    }

    #[test]
    fn a_joint_departs_as_an_oscillator_does() {
        for (hz, damping) in [(1.6, 1.0), (3.0, 0.7), (9.0, 0.9)] {
            let tone = Tone { frequency_hz: hz, damping, keep_up: 0.4, anticipation: 0.3, stance: false };
            let dragged = swung(5.0, 0.0).departure(0, tone);
            assert!((dragged / swing(0.7 * 5.0, tone) - 1.0).abs() < 0.01, "{hz} Hz: {dragged}");
            let late = swung(0.0, 2.0).departure(0, tone);
            let damps = 2.0 * damping * std::f64::consts::TAU * hz;
            assert!((late / swing(0.6 * damps * 2.0, tone) - 1.0).abs() < 0.01, "{hz} Hz: {late}");
        }
    }
}
