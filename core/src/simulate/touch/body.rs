//! A body during a step, as contacts see it: how it moves without them, and how it answers to impulses.

use crate::assemble::Mobility;
use crate::dynamics::top::{self, Axes};
use crate::rig::{Rig, Solid};
use crate::scene::Placement;
use crate::simulate::SolidState;
use crate::simulate::constrain::{Rate, Yield};
use glam::{DMat3, DQuat, DVec3};

/// Velocity and spin.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Twist {
    /// Units/s.
    pub velocity: DVec3,
    /// rad/s, world.
    pub spin: DVec3,
}

impl Twist {
    /// Velocity at a lever from the centre.
    #[inline(always)]
    pub fn at(&self, lever: DVec3) -> DVec3 {
        self.velocity + self.spin.cross(lever)
    }
}

/// A body that contacts push, or that they only push against.
///
/// Crowds are gone over in an order that memory does not have: what is needed at the same time lies together.
#[derive(Clone, Copy, Debug)]
#[repr(C)]
pub struct Body {
    /// Where the step begins, and where it would end without contacts.
    pub from: Placement,
    pub to: Placement,
    /// By which chord it turns without contacts.
    pub spun: f64,
    /// Where it was found to end is not that.
    pub strays: bool,
    /// It lies on something.
    pub rests: bool,
    /// No actuator moves it.
    pub coasts: bool,
    /// Joints move it, later.
    pub jointed: bool,
    /// One over mass and inertia, without any actuator: for pushing it out of others.
    pub light: f64,
    /// How it moves at the start, and would at the end.
    pub start: Twist,
    pub free: Twist,
    /// Mean motion over the step, of what is keyed; else as `free`.
    pub drift: Twist,
    /// Velocity per impulse, and spin per angular impulse: less than without an actuator that holds against it.
    pub per_mass: f64,
    pub per_inertia: DMat3,
    /// Displacement per change of velocity by an impulse in the middle of the step, s, and the same for turns.
    pub shift: f64,
    pub turn: f64,
    /// Where it ends, and how it moves then.
    pub end: Placement,
    pub after: Twist,
    /// See `light`.
    pub lithe: DMat3,
    /// The end that contacts were looked for with.
    pub looked: DVec3,
    /// Share of an angular impulse that its actuator lets it keep.
    pub held: f64,
}

impl Body {
    /// Something that nothing pushes: it stands, or follows its keys.
    pub fn keyed(rig: &Rig, path: usize, from: f64, to: f64, h: f64) -> Body {
        let path = &rig.paths[path];
        let rate = |t: f64| {
            let (velocity, spin) = path.velocity(t);
            Twist { velocity, spin }
        };
        let end = path.placement(to);
        let (begin, free) = (path.placement(from), rate(to));
        let drift = Twist {
            velocity: (end.position - begin.position) / h,
            spin: crate::rotation::log(end.rotation * begin.rotation.conjugate()) / h,
        };
        Body {
            from: begin,
            to: end,
            start: rate(from),
            free,
            drift,
            end,
            after: free,
            looked: end.position,
            ..Body::STILL
        }
    }

    /// The world.
    pub const STILL: Body = Body {
        from: Placement::IDENTITY,
        to: Placement::IDENTITY,
        start: Twist { velocity: DVec3::ZERO, spin: DVec3::ZERO },
        free: Twist { velocity: DVec3::ZERO, spin: DVec3::ZERO },
        spun: 0.0,
        drift: Twist { velocity: DVec3::ZERO, spin: DVec3::ZERO },
        strays: false,
        rests: false,
        coasts: false,
        per_mass: 0.0,
        per_inertia: DMat3::ZERO,
        shift: 0.0,
        turn: 0.0,
        end: Placement::IDENTITY,
        after: Twist { velocity: DVec3::ZERO, spin: DVec3::ZERO },
        looked: DVec3::ZERO,
        held: 0.0,
        jointed: false,
        light: 0.0,
        lithe: DMat3::ZERO,
    };

    /// A simulated body that went from `before` to `free` in `h` seconds; whether it has joints, and whether these will tell
    /// where it ends.
    pub fn solid(
        solid: &Solid,
        before: &SolidState,
        free: &SolidState,
        yields: &Yield,
        (jointed, foretold): (bool, bool),
        h: f64,
    ) -> Body {
        let moves = solid.simulate.position() && !before.fixed();
        let turns = solid.simulate.orientation() && !before.fixed();
        // Shares of what mass alone would do: of the velocity, and of the way.
        let [shift_gain, turn_gain] = yields.driven(h);
        let [shift, turn] = [(yields.shift.0, shift_gain), (yields.turn.0, turn_gain)]
            .map(|(way, fast)| 0.5 * h * (2.0 * way / (h * h)) / fast);
        let axes = Axes::new(free.orientation, solid.per_inertia);
        let lithe = if turns { axes.matrix(solid.per_inertia) } else { DMat3::ZERO };
        let light = if moves { 1.0 / solid.mass } else { 0.0 };
        let ending = Twist { velocity: free.velocity, spin: axes.scale(free.momentum, solid.per_inertia) };
        let mut to = free.placement();
        if jointed && yields.coasts && !foretold {
            // Its joints turn it, later.
            to.rotation = crate::rotation::exp(ending.spin * h) * before.orientation;
        }
        Body {
            from: before.placement(),
            to,
            start: Twist {
                velocity: before.velocity,
                spin: top::angular_velocity(before.orientation, before.momentum, solid.per_inertia),
            },
            free: ending,
            spun: if foretold { 0.0 } else { Body::chord(before.orientation, to.rotation) },
            drift: ending,
            strays: false,
            rests: false,
            coasts: *yields == Yield::free(h) || yields.coasts && yields.shift == Yield::free(h).shift,
            per_mass: light * shift_gain,
            per_inertia: lithe * turn_gain,
            shift,
            turn,
            end: to,
            after: ending,
            looked: free.position,
            held: turn_gain,
            jointed,
            light,
            lithe,
        }
    }

    /// How it yields to impulses, and moves at the end of the step, without its joints.
    pub fn alone(&self) -> (Mobility, Rate) {
        let yields = Mobility { shift: self.per_mass, turn: self.per_inertia };
        (yields, (self.free.velocity, self.free.spin))
    }

    /// Has it end as its joints have it, moving like this.
    pub fn expect(&mut self, (velocity, spin): Rate, h: f64) {
        let expected = Twist { velocity, spin };
        let end = self.between(expected, h);
        // Joints that nothing can hold say nothing.
        if !(self.jointed && is_a_place(&end)) {
            return;
        }
        (self.free, self.drift, self.after) = (expected, expected, expected);
        (self.to, self.end, self.looked) = (end, end, end.position);
        self.spun = Body::chord(self.from.rotation, self.to.rotation);
    }

    /// Has it, which has joints, end as these have it, moving like this.
    pub fn end_with(&mut self, after: Twist, h: f64) {
        let end = self.between(after, h);
        if is_a_place(&end) {
            (self.end, self.after) = (end, after);
        }
    }

    /// Where it ends if it moves like this then, and evenly faster until then.
    fn between(&self, after: Twist, h: f64) -> Placement {
        let mean = |x: DVec3, y: DVec3| (x + y) * (0.5 * h);
        let turn = mean(self.start.spin, after.spin);
        Placement {
            position: self.from.position + mean(self.start.velocity, after.velocity),
            rotation: crate::rotation::exp(turn) * self.from.rotation,
        }
    }

    /// Has it move like this at the end of the step without contacts, for these to start from.
    pub fn turn_to(&mut self, (velocity, spin): Rate) {
        if self.jointed && velocity.is_finite() && spin.is_finite() {
            self.free = Twist { velocity, spin };
        }
    }

    /// Where it is at a share of the way.
    pub fn part_way(&self, share: f64) -> Placement {
        let (from, to) = (self.from.rotation, self.to.rotation);
        Placement {
            position: self.from.position.lerp(self.to.position, share),
            // A small turn is even along the chord, too.
            rotation: match self.spun < 0.05 {
                true if from.dot(to) >= 0.0 => (from + (to - from) * share).normalize(),
                _ => crate::rotation::slerp(from, to, share),
            },
        }
    }

    /// How far a point at a distance of one from its centre is turned: the chord.
    pub fn chord(from: DQuat, to: DQuat) -> f64 {
        // The two as points are 2 sin(a / 4) apart, on the short way round.
        let square = (to - from).length_squared().min((to + from).length_squared());
        2.0 * (square * (1.0 - 0.25 * square)).max(0.0).sqrt()
    }

    /// It rests, and nothing else moves it.
    pub fn goes_by_velocity(&self) -> bool {
        self.rests && self.coasts && !self.jointed
    }

    /// Puts its end to where its velocity takes it, if it rests and nothing else moves it.
    pub fn go(&mut self, h: f64) {
        if self.jointed {
            self.end = self.between(self.after, h);
        } else if self.goes_by_velocity() {
            self.end = Placement {
                position: self.from.position + self.after.velocity * h,
                rotation: crate::rotation::exp(self.after.spin * h) * self.from.rotation,
            };
        }
    }

    /// Whether anything turns it.
    pub fn turns(&self) -> bool {
        self.lithe != DMat3::ZERO
    }

    /// Moves its end.
    #[inline]
    pub fn displace(&mut self, by: DVec3, turn: DVec3) {
        self.end.position += by;
        if turn != DVec3::ZERO {
            let half = turn * 0.5;
            let q = DQuat::from_xyzw(half.x, half.y, half.z, 1.0);
            self.end.rotation = (q * self.end.rotation).normalize();
        }
    }
}

fn is_a_place(at: &Placement) -> bool {
    (at.position.length_squared() + at.rotation.length_squared()).is_finite()
}
