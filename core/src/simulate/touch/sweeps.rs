//! Sweeps over an island until it has settled.

use super::linked::Coupling;
use super::row::{Alone, Couple, Course, Group, Moved, Row, freeze_friction, go_on, note_loads, sweep};
use super::tie::{self, Tie};

/// Sweeps end when things move, and so many sweeps change hardly less than as many before them: things that are wedged press
/// on each other ever harder, and no sweep will settle them. Friction that stays below what the loads of then allow does, for
/// things without joints; limbs have had that by then, see [`JAMS`].
const STALLS: usize = 24;
const STALLED: f64 = 0.7;

/// Limbs that joints lock can jam: friction presses them harder against what they rub on, which makes for more friction, and
/// sweeps would go on for ever (Painleve). When what they change has grown so often, friction stays below what the loads of
/// the first sweep allow; with such bounds sweeps always settle.
const JAMS: usize = 4;

/// What is swept over.
pub trait Swept {
    /// Visits everything once, which goes on by `share` first (see [`go_on`]): by how much velocities were off at most, and
    /// what impulses changed by, as a square.
    fn sweep(&mut self, share: f64) -> (f64, f64);

    /// Has bodies go on along what earlier sweeps changed.
    fn go_on(&mut self, share: f64);

    /// Notes the loads of now: friction may hold no more than these allow, once it must not grow any more.
    fn note_loads(&mut self);

    /// Has friction hold no more than the loads that were noted allow, whatever these become.
    fn freeze_friction(&mut self);
}

/// When sweeps end.
#[derive(Clone, Copy, Debug)]
pub struct Goal {
    /// Velocities that are off by less are right.
    pub settled: f64,
    /// Things run into each other: what will not settle need not.
    pub moves: bool,
    /// Joints tie things together.
    pub linked: bool,
    /// So many.
    pub most: usize,
}

impl Goal {
    /// Sweeps until it is reached.
    #[inline(always)]
    pub fn reach(self, mut swept: impl Swept) {
        let Goal { settled, moves, linked, most } = self;
        let (mut before, mut grew, mut share) = (0.0, 0, 0.0);
        let (mut least, mut noted, mut frozen) = (f64::INFINITY, f64::INFINITY, false);
        for round in 0..most {
            let (off, now) = swept.sweep(share);
            if off < settled || round + 1 == most {
                break;
            }
            least = least.min(now);
            if moves && round % STALLS == STALLS - 1 {
                let stalls = least > STALLED * noted;
                if stalls && (linked || std::mem::replace(&mut frozen, true)) {
                    break;
                } else if stalls {
                    swept.note_loads();
                    swept.freeze_friction();
                }
                (noted, least) = (if stalls { f64::INFINITY } else { least }, f64::INFINITY);
            }
            if linked {
                if round == 0 {
                    swept.note_loads();
                }
                grew += usize::from(now >= before && round > 0);
                if grew == JAMS {
                    swept.freeze_friction();
                }
            }
            share = if before > 0.0 && now < before { now / before } else { 0.0 };
            swept.go_on(share);
            before = now;
        }
    }
}

/// Contacts and joints one by one, compiled for the vectors that the processor has. Nothing is fused or reordered: the
/// numbers are the same on all.
pub struct OneByOne<'a> {
    pub ties: &'a mut [Tie],
    pub groups: &'a mut [Group],
    pub rows: &'a mut [Row],
    pub moved: &'a mut [Moved],
    pub courses: &'a mut [Course],
    pub coupling: &'a Coupling,
    pub goal: Goal,
}

impl pulp::WithSimd for OneByOne<'_> {
    type Output = ();

    #[inline(always)]
    fn with_simd<S: pulp::Simd>(self, _: S) {
        let (coupling, goal) = (self.coupling, self.goal);
        match coupling.is_empty() {
            true => goal.reach(Coupled(self, Alone)),
            false => goal.reach(Coupled(self, coupling)),
        }
    }
}

struct Coupled<'a, C: Couple>(OneByOne<'a>, C);

impl<C: Couple> Swept for Coupled<'_, C> {
    #[inline(always)]
    fn sweep(&mut self, share: f64) -> (f64, f64) {
        let Coupled(OneByOne { ties, groups, rows, moved, courses, .. }, couple) = self;
        for (course, moved) in courses.iter_mut().zip(&**moved) {
            course.from = moved.now;
        }
        tie::note(ties);
        let tied = tie::sweep(ties, moved);
        let (off, changed) = sweep(groups, rows, moved, share, *couple);
        (off.max(tied), changed + tie::changed(ties))
    }

    #[inline(always)]
    fn go_on(&mut self, share: f64) {
        go_on(self.0.moved, self.0.courses, share);
        tie::go_on(self.0.ties, share);
    }

    fn note_loads(&mut self) {
        note_loads(self.0.groups, self.0.rows);
    }

    fn freeze_friction(&mut self) {
        freeze_friction(self.0.groups);
    }
}
