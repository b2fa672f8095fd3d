//! A joint at a moment: how far it is open along each locked direction, and how bodies would have to move to close
//! it (its rows of the Jacobian).
//!
//! Translation rows act at the second origin on both bodies, so that what they do to the two is equal and opposite
//! on one line: corrections neither push nor turn the pair as a whole.
//!
//! Rotations are measured in one of two ways. As angles, for assembly, which may start far off: the angle between the two
//! main axes, or the rotation vector from the first frame to the second. As products of axes (their cosines, which
//! vanish where axes are square), for time steps, which never are far off: products and squares have a mean slope over
//! a step that is exactly the slope at the mean of its two ends, and forces along it do no work (Gonzalez 1999).

// Rows and columns are the mathematics here; iterators would hide them.
#![allow(clippy::needless_range_loop)]

use super::angles::{nearest_turn, tilt, turn};
use super::{Joint, Kind, Side};
use crate::rotation;
use crate::scene::Placement;
use glam::{DMat3, DQuat, DVec3};

/// How rotations are measured.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Measure {
    /// Angles, right at any distance.
    Angles,
    /// Products of axes.
    Products,
}

/// What a joint is held to at a moment, where its kind leaves that open.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Aim {
    /// The end of a range that matters; `None`: the nearer one. Of a track: whether it is held at its end.
    pub upper: Option<bool>,
    /// Where a keyed direction is held.
    pub rest: f64,
    /// The rotation of a [`Kind::Pose`], as seen from the first frame.
    pub target: DQuat,
}

impl Default for Aim {
    fn default() -> Self {
        Aim { upper: None, rest: 0.0, target: DQuat::IDENTITY }
    }
}

/// Derivative of one error by the motion of one body: by its velocity, and by its angular velocity (world).
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Row {
    /// Per unit of velocity.
    pub linear: DVec3,
    /// Per radian per second.
    pub angular: DVec3,
}

/// All rows of one joint.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Rows {
    /// How many are in use.
    pub count: usize,
    /// The first three are a point on a point, along the axes of the world, and all others turn only.
    pub point: bool,
    /// From either body to that point, the first negated: what those three are, without being written out.
    pub levers: [DVec3; 2],
    /// All turn the two against each other and nothing else: what they are on the first is the negative of what they are on
    /// the second.
    pub turns: bool,
    /// How far each is from closed: scene units or radians.
    pub error: [f64; 6],
    /// Derivatives by the first and the second body, but for the three of a point: [`Self::row`] has all.
    pub on: [[Row; 6]; 2],
}

/// An error grows as the second body moves, and shrinks as the first does.
pub(crate) const SIGNS: [f64; 2] = [-1.0, 1.0];

impl Default for Rows {
    fn default() -> Self {
        Rows {
            count: 0,
            point: false,
            turns: false,
            levers: [DVec3::ZERO; 2],
            error: [0.0; 6],
            on: [[Row::default(); 6]; 2],
        }
    }
}

impl Rows {
    /// The rows of `joint` with its ends (centre of mass and axes) at these placements, rotations as angles.
    pub fn new(joint: &Joint, ends: &[Placement; 2], aim: &Aim) -> Rows {
        let [a, b] = joint.sides(ends);
        Rows::between(joint, &a, &b, aim, Measure::Angles)
    }

    /// The rows of `joint` with its frames like this. A range has its row wherever it stands; errors above 0 are past its
    /// end.
    pub fn between(joint: &Joint, a: &Side, b: &Side, aim: &Aim, measure: Measure) -> Rows {
        let mut rows = Rows::default();
        rows.set(joint, a, b, aim, measure);
        rows
    }

    /// [`Self::between`] in place of the rows there are.
    #[inline(always)]
    pub fn set(&mut self, joint: &Joint, a: &Side, b: &Side, aim: &Aim, measure: Measure) {
        let rows = self;
        rows.clear();
        match joint.kind {
            Kind::Directions(locked) => rows.directions(locked, a, b, measure),
            Kind::Distance { least, most } => {
                let soft = joint.spring.is_some();
                rows.distance(least, most, a, b, aim.upper, soft);
            }
            Kind::Slide { axis, least, most } => {
                let slide = a.axes.col(axis).dot(b.point - a.point);
                let (upper, error) = bound(slide, least, most, aim.upper);
                rows.slide(a.axes.col(axis), error, upper, a, b);
            }
            Kind::SlideTo => {
                let along = a.axes.x_axis;
                rows.slide(along, along.dot(b.point - a.point) - aim.rest, true, a, b);
            }
            Kind::Turn { least, most } => {
                let (angle, row) = turn(&a.axes, &b.axes);
                let (upper, error) = bound(nearest_turn(angle, 0.5 * (least + most)), least, most, aim.upper);
                rows.rotation(error, if upper { row } else { -row });
            }
            Kind::TurnTo => {
                let (angle, row) = turn(&a.axes, &b.axes);
                rows.rotation(nearest_turn(angle - aim.rest, 0.0), row);
            }
            Kind::Cone(most) => rows.cone(most, a, b),
            Kind::Upright => {
                let (errors, slopes) = tilt(&a.axes, &b.axes);
                (0..2).for_each(|k| rows.rotation(errors[k], slopes[k]));
            }
            Kind::Thread(pitch) => rows.thread(pitch, a, b),
            Kind::Track => rows.track(joint, a, b, aim.upper == Some(true)),
            Kind::Pose(_) => {
                // Means of rotations are none.
                let (a, b) = (unit(a.turned), unit(b.turned));
                let vector = pose(a, b, aim);
                let slopes = DMat3::from_quat(b) * inverse_left_jacobian(vector);
                for k in 0..3 {
                    rows.rotation(vector[k], slopes.col(k));
                }
                rows.turns = true;
            }
        }
    }

    /// No rows any more.
    #[inline(always)]
    pub fn clear(&mut self) {
        (self.count, self.point, self.turns) = (0, false, false);
    }

    /// A point on a point that is `apart` from it, in place of the rows there are.
    #[inline(always)]
    pub fn hold_point(&mut self, a: DVec3, b: DVec3, apart: DVec3) {
        (self.count, self.point, self.turns) = (3, true, false);
        (self.error[0], self.error[1], self.error[2]) = (apart.x, apart.y, apart.z);
        self.levers = [-(a + apart), b];
    }

    /// The derivative of one error by one body.
    #[inline(always)]
    pub fn row(&self, e: usize, r: usize) -> Row {
        if self.point && r < 3 {
            let t = DVec3::AXES[r];
            return Row { linear: t * SIGNS[e], angular: self.levers[e].cross(t) };
        }
        self.on[e][r]
    }

    /// The force of the multipliers on one body.
    #[inline(always)]
    pub fn pull(&self, e: usize, multipliers: &[f64; 6]) -> DVec3 {
        if self.point {
            return DVec3::new(multipliers[0], multipliers[1], multipliers[2]) * SIGNS[e];
        }
        let mut pull = DVec3::ZERO;
        if !self.turns {
            for r in 0..self.count {
                pull += self.on[e][r].linear * multipliers[r];
            }
        }
        pull
    }

    /// The rates of all errors with the bodies moving like this: velocity and spin of either.
    #[inline(always)]
    pub fn rates(&self, [a, b]: &[(DVec3, DVec3); 2]) -> [f64; 6] {
        let (mut rates, mut first) = ([0.0; 6], 0);
        if self.turns {
            let spin = b.1 - a.1;
            for r in 0..self.count {
                rates[r] = self.on[1][r].angular.dot(spin);
            }
            return rates;
        }
        if self.point {
            // Points move as their bodies do.
            let point = (a.0 * SIGNS[0] + a.1.cross(self.levers[0])) + (b.0 + b.1.cross(self.levers[1]));
            (rates[0], rates[1], rates[2], first) = (point.x, point.y, point.z, 3);
        }
        for r in first..self.count {
            rates[r] = self.on[0][r].rate(a.0, a.1) + self.on[1][r].rate(b.0, b.1);
        }
        rates
    }

    /// Adds force and torque of the multipliers on one body.
    ///
    /// Row by row, so that a point sums up in the same order as any three rows would.
    #[inline(always)]
    pub fn push(&self, e: usize, multipliers: &[f64; 6], (force, torque): &mut (DVec3, DVec3)) {
        if self.point {
            let (l, [x, y, z, ..]) = (self.levers[e], *multipliers);
            *force += DVec3::new(x, y, z) * SIGNS[e];
            torque.x = torque.x - l.z * y + l.y * z;
            torque.y = torque.y + l.z * x - l.x * z;
            torque.z = torque.z - l.y * x + l.x * y;
            for r in 3..self.count {
                *torque += self.on[e][r].angular * multipliers[r];
            }
            return;
        }
        if self.turns {
            *torque += self.twist(multipliers) * SIGNS[e];
            return;
        }
        for r in 0..self.count {
            *force += self.on[e][r].linear * multipliers[r];
            *torque += self.on[e][r].angular * multipliers[r];
        }
    }

    /// The torque of the multipliers on the second body, of rows that only turn.
    #[inline(always)]
    pub fn twist(&self, multipliers: &[f64; 6]) -> DVec3 {
        let mut twist = DVec3::ZERO;
        for r in 0..self.count {
            twist += self.on[1][r].angular * multipliers[r];
        }
        twist
    }

    /// The errors alone, as [`Self::between`] has them with products, and how many there are.
    #[inline(always)]
    pub fn errors_between(joint: &Joint, a: &Side, b: &Side, aim: &Aim) -> ([f64; 6], usize) {
        match joint.kind {
            Kind::Directions(locked) => Rows::errors(locked, a, b),
            Kind::Pose(_) => {
                let vector = pose(a.turned, b.turned, aim);
                ([vector.x, vector.y, vector.z, 0.0, 0.0, 0.0], 3)
            }
            _ => {
                let rows = Rows::between(joint, a, b, aim, Measure::Products);
                (rows.error, rows.count)
            }
        }
    }

    /// The errors of locked directions alone, rotations as products, and how many there are.
    #[inline(always)]
    pub fn errors(locked: [bool; 6], a: &Side, b: &Side) -> ([f64; 6], usize) {
        let (mut errors, mut count) = ([0.0; 6], 0);
        let apart = b.point - a.point;
        if locked[0] && locked[1] && locked[2] {
            (errors[0], errors[1], errors[2], count) = (apart.x, apart.y, apart.z, 3);
        } else {
            for k in (0..3).filter(|k| locked[*k]) {
                errors[count] = a.axes.col(k).dot(apart);
                count += 1;
            }
        }
        if locked[3] {
            for k in 0..3 {
                errors[count + k] = a.axes.col((k + 2) % 3).dot(b.axes.col((k + 1) % 3));
            }
            count += 3;
        } else if locked[5] {
            errors[count] = -a.axes.z_axis.dot(b.axes.x_axis);
            errors[count + 1] = a.axes.y_axis.dot(b.axes.x_axis);
            count += 2;
        }
        (errors, count)
    }

    /// Largest opening in scene units, and largest angle (rad); what is within its range is not open.
    pub fn opening(&self, kind: Kind) -> (f64, f64) {
        let one_sided = kind.one_sided();
        let translations = kind.translations().min(self.count);
        let open = |e: f64| if one_sided { e.max(0.0) } else { e.abs() };
        let largest = |errors: &[f64]| errors.iter().fold(0.0_f64, |m, e| m.max(open(*e)));
        (largest(&self.error[..translations]), largest(&self.error[translations..self.count]))
    }

    #[inline(always)]
    fn add(&mut self, error: f64, on_a: Row, on_b: Row) {
        self.error[self.count] = error;
        self.on[0][self.count] = on_a;
        self.on[1][self.count] = on_b;
        self.count += 1;
    }

    #[inline(always)]
    fn rotation(&mut self, error: f64, angular: DVec3) {
        let row = Row { linear: DVec3::ZERO, angular };
        self.add(error, row.negative(), row);
    }

    /// A translation along `t`, which turns with `a`, acting at the second origin on both.
    #[inline(always)]
    fn translation(&mut self, t: DVec3, error: f64, a: &Side, b: &Side) {
        let on_a = Row { linear: -t, angular: -(a.lever + (b.point - a.point)).cross(t) };
        self.add(error, on_a, Row { linear: t, angular: b.lever.cross(t) });
    }

    fn slide(&mut self, t: DVec3, error: f64, upper: bool, a: &Side, b: &Side) {
        self.translation(if upper { t } else { -t }, error, a, b);
    }

    #[inline(always)]
    fn directions(&mut self, locked: [bool; 6], a: &Side, b: &Side, measure: Measure) {
        let apart = b.point - a.point;
        if locked[0] && locked[1] && locked[2] && measure == Measure::Products {
            // A point on a point is one along any axes: those of the world turn with nothing. Where they are apart, this
            // is their slope but for the gap: what acts on both at one point turns the pair by nothing.
            self.hold_point(a.lever, b.lever, apart);
        } else {
            for k in (0..3).filter(|k| locked[*k]) {
                let t = a.axes.col(k);
                self.translation(t, t.dot(apart), a, b);
            }
        }
        match (locked[3], locked[5], measure) {
            (false, false, _) => {}
            (false, true, Measure::Angles) => {
                let (errors, slopes) = tilt(&a.axes, &b.axes);
                (0..2).for_each(|k| self.rotation(errors[k], slopes[k]));
            }
            (false, true, Measure::Products) => {
                let x = b.axes.x_axis;
                self.rotation(-a.axes.z_axis.dot(x), a.axes.z_axis.cross(x));
                self.rotation(a.axes.y_axis.dot(x), x.cross(a.axes.y_axis));
            }
            (true, _, Measure::Angles) => {
                let from = DQuat::from_mat3(&a.axes);
                let vector = rotation::log(DQuat::from_mat3(&b.axes) * from.conjugate());
                let inverse = inverse_left_jacobian(vector);
                for k in 0..3 {
                    let direction = a.axes.col(k);
                    self.rotation(vector.dot(direction), inverse.transpose() * direction);
                }
            }
            (true, _, Measure::Products) => {
                for k in 0..3 {
                    let (u, v) = (a.axes.col((k + 2) % 3), b.axes.col((k + 1) % 3));
                    self.rotation(u.dot(v), v.cross(u));
                }
            }
        }
    }

    fn distance(&mut self, least: f64, most: f64, a: &Side, b: &Side, upper: Option<bool>, soft: bool) {
        let apart = b.point - a.point;
        let length = apart.length();
        let (upper, _) = bound(length, least, most, upper);
        let held = if upper { most } else { least };
        // The square of a distance has an exact mean slope over a step; its half, divided by the distance, is an error in
        // scene units. A spring pulls by the distance itself.
        let (error, n) = match held > 1e-9 && !soft {
            true => (0.5 * (length * length - held * held) / held, apart / held),
            false => (length - held, if length > 1e-12 { apart / length } else { DVec3::X }),
        };
        self.translation(if upper { n } else { -n }, if upper { error } else { -error }, a, b);
    }

    fn cone(&mut self, most: [f64; 2], a: &Side, b: &Side) {
        let (tilt, slopes) = tilt(&a.axes, &b.axes);
        let [y, z] = [tilt[0] / most[0], tilt[1] / most[1]];
        let share = (y * y + z * z).sqrt();
        // In radians along the shorter half axis; the slope of the ellipse's own distance.
        let scale = most[0].min(most[1]);
        let slope = match share > 1e-9 {
            true => (slopes[0] * (y / most[0]) + slopes[1] * (z / most[1])) * (scale / share),
            false => slopes[0],
        };
        self.rotation((share - 1.0) * scale, slope);
    }

    fn thread(&mut self, pitch: f64, a: &Side, b: &Side) {
        let t = a.axes.x_axis;
        let (angle, row) = turn(&a.axes, &b.axes);
        let per_rad = pitch / (2.0 * std::f64::consts::PI);
        let error = t.dot(b.point - a.point) - angle * per_rad;
        // Whole turns cannot be told from the frames: the nearest thread is meant.
        self.translation(t, error - pitch * (error / pitch).round(), a, b);
        let last = self.count - 1;
        self.on[0][last].angular += row * per_rad;
        self.on[1][last].angular -= row * per_rad;
    }

    fn track(&mut self, joint: &Joint, a: &Side, b: &Side, at_end: bool) {
        let Some(track) = &joint.track else { return };
        let apart = b.point - a.point;
        let nearest = track.nearest(a.axes.transpose() * apart);
        let away = apart - a.axes * nearest.point;
        let count = if at_end { 3 } else { nearest.count };
        for direction in &nearest.held[..count] {
            let t = a.axes * *direction;
            self.translation(t, t.dot(away), a, b);
        }
    }
}

/// By which rotation vector the second frame of a [`Kind::Pose`] is turned from what it is held to: in its own axes, which
/// are those of the inertia.
#[inline(always)]
fn pose(a: DQuat, b: DQuat, aim: &Aim) -> DVec3 {
    rotation::log((a * aim.target).conjugate() * b)
}

/// Made unit, without a root where it nearly is.
#[inline(always)]
fn unit(q: DQuat) -> DQuat {
    if (q.length_squared() - 1.0).abs() < NEARLY { rotation::renormalize(q) } else { q.normalize() }
}

/// What one Newton step makes unit to the last digit: it leaves three eighths of the square.
const NEARLY: f64 = 1e-8;

/// The end of a range that matters, and how far past it `value` is.
fn bound(value: f64, least: f64, most: f64, upper: Option<bool>) -> (bool, f64) {
    let upper = upper.unwrap_or(value - least > most - value) || least == most;
    (upper, if upper { value - most } else { least - value })
}

impl Row {
    #[inline(always)]
    fn negative(self) -> Row {
        Row { linear: -self.linear, angular: -self.angular }
    }

    /// The rate of the error with its body moving like this.
    #[inline(always)]
    pub fn rate(&self, velocity: DVec3, spin: DVec3) -> f64 {
        self.linear.dot(velocity) + self.angular.dot(spin)
    }
}

/// How the rotation vector `v` of a rotation changes per angular velocity (both in the axes it turns from).
#[inline(always)]
pub(crate) fn inverse_left_jacobian(v: DVec3) -> DMat3 {
    let angle_sq = v.length_squared();
    // 1/a^2 - (1 + cos a) / (2 a sin a), with its series near zero (the next term is under 1e-18); bounded at the far side of
    // the circle.
    let factor = if angle_sq < 0.06 {
        let [a, b, c] = [1.0 / 12.0, 1.0 / 720.0, 1.0 / 30_240.0];
        let [d, e, f] = [1.0 / 1_209_600.0, 1.0 / 47_900_160.0, 691.0 / 1_307_674_368_000.0];
        a + angle_sq * (b + angle_sq * (c + angle_sq * (d + angle_sq * (e + angle_sq * f))))
    } else {
        let angle = angle_sq.sqrt().min(3.0);
        let (sin, cos) = libm::sincos(angle);
        1.0 / angle_sq - (1.0 + cos) / (2.0 * angle * sin)
    };
    // I - [v] / 2 + factor [v]^2, with [v]^2 = v v^T - a^2 I.
    let (half, scaled, own) = (v * 0.5, v * factor, 1.0 - angle_sq * factor);
    DMat3::from_cols(
        scaled * v.x + DVec3::new(own, -half.z, half.y),
        scaled * v.y + DVec3::new(half.z, own, -half.x),
        scaled * v.z + DVec3::new(-half.y, half.x, own),
    )
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::joint::End;
    use proptest::prelude::*;

    fn vector(size: f64) -> impl Strategy<Value = DVec3> {
        (-1.0..1.0, -1.0..1.0, -1.0..1.0).prop_map(move |(x, y, z)| DVec3::new(x, y, z) * size)
    }

    fn placement(turn: f64) -> impl Strategy<Value = Placement> {
        (vector(2.0), vector(turn))
            .prop_map(|(position, r)| Placement { position, rotation: rotation::exp(r) })
    }

    const KINDS: [Kind; 17] = [
        Kind::UNIVERSAL,
        Kind::PIN,
        Kind::CYLINDRICAL,
        Kind::PRISMATIC,
        Kind::BALL_SOCKET,
        Kind::SMOOTH_CONTACT,
        Kind::FIXED,
        Kind::PLANE,
        Kind::Distance { least: 0.5, most: 0.5 },
        Kind::Distance { least: 0.1, most: 0.7 },
        Kind::Slide { axis: 1, least: -0.5, most: 0.7 },
        Kind::Turn { least: -0.2, most: 0.3 },
        Kind::Cone([0.4, 0.7]),
        Kind::TurnTo,
        Kind::Upright,
        Kind::Thread(20.0),
        Kind::Pose(0),
    ];

    fn moved(p: &Placement, v: DVec3, w: DVec3, s: f64) -> Placement {
        Placement { position: p.position + v * s, rotation: rotation::exp(w * s) * p.rotation }
    }

    proptest! {
        #[test]
        fn rows_are_the_derivatives_of_errors(
            a in placement(2.0), b in placement(2.0), fa in placement(0.4), fb in placement(0.4),
            va in vector(1.0), wa in vector(1.0), vb in vector(1.0), wb in vector(1.0), kind in 0..KINDS.len(), how in 0..2usize,
        ) {
            // Near the assembled pose for the rotations: the frames differ by up to about a radian.
            let b = Placement { position: b.position, rotation: rotation::exp(vb * 0.2) * a.rotation };
            let (aim, how) = (Aim { upper: Some(true), ..Aim::default() }, [Measure::Angles, Measure::Products][how]);
            // Products are for closed joints.
            let meets = Placement { position: b.to(&a.then(&fa)).position, ..fb };
            let fb = if how == Measure::Products { meets } else { fb };
            let joint = Joint::new("", [End::World, End::World], [fa, fb], KINDS[kind]);
            let h = 1e-5;
            let at = |s: f64| {
                let [a, b] = joint.sides(&[moved(&a, va, wa, s), moved(&b, vb, wb, s)]);
                Rows::between(&joint, &a, &b, &aim, how)
            };
            let (rows, minus, plus) = (at(0.0), at(-h), at(h));
            for r in 0..rows.count {
                let [ra, rb] = [rows.row(0, r), rows.row(1, r)];
                let predicted = ra.linear.dot(va) + ra.angular.dot(wa) + rb.linear.dot(vb) + rb.angular.dot(wb);
                let measured = (plus.error[r] - minus.error[r]) / (2.0 * h);
                prop_assert!((predicted - measured).abs() < 1e-6, "{:?} row {r}: {predicted} {measured}", KINDS[kind]);
            }
        }
    }

    #[test]
    fn a_hinge_that_has_turned_half_round_is_still_closed() {
        let joint = Joint::new("", [End::World, End::World], [Placement::IDENTITY; 2], Kind::PIN);
        for turn in [0.0, 1.0, std::f64::consts::PI, 4.0, 6.0] {
            let b = Placement { position: DVec3::ZERO, rotation: rotation::exp(DVec3::X * turn) };
            let rows = Rows::new(&joint, &[Placement::IDENTITY, b], &Aim::default());
            assert!(rows.error.iter().all(|e| e.abs() < 1e-12), "{turn}: {:?}", rows.error);
        }
    }

    #[test]
    fn a_rope_is_slack_until_it_is_taut() {
        let rope = Kind::Distance { least: 0.0, most: 2.0 };
        let joint = Joint::new("", [End::World, End::World], [Placement::IDENTITY; 2], rope);
        let at = |x: f64| Placement { position: DVec3::X * x, ..Placement::IDENTITY };
        let error = |x: f64| Rows::new(&joint, &[at(0.0), at(x)], &Aim::default()).error[0];
        assert!(error(1.9) < 0.0);
        assert!((error(2.5) - 0.5625).abs() < 1e-15); // (2.5^2 - 2^2) / (2 * 2)
    }
}
