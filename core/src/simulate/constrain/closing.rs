//! Positions: the forces with which all joints are closed at the end of the step.
//!
//! The forces of the step before and the free motion tell about where the bodies end. There the rows are taken and held,
//! forces are sought along them (one factorisation, a solve per round), and the bodies follow in proportion. Rows that moved
//! with every round would seem better, but forces in long chains of hinges are sensitive without bounds, and would never
//! settle. Only where a body ends far from the guess, rows are taken anew there: levers and inertia of another attitude
//! would feed its spin. Where rounds stop closing, the step is too long, and is given up.
//!
//! Ranges (ropes, limits) hold only one way: those that are past their end get a row, those that would have to pull lose
//! it. Springs give way by what they are (`soft`).

// Rows and columns are the mathematics here; iterators would hide them.
#![allow(clippy::needless_range_loop)]

use super::room::Memo;
use super::soft::Soft;
use super::{CLOSED, Constraints, end_axes};
use crate::joint::{End, Kind, Measure, Rows, Side};
use crate::rig::Rig;
use crate::setup::Tier;
use crate::solve::MOST;
use glam::{DMat3, DVec3};

/// Openings (shares of the mean link) and angles (rad) that rounds no longer close are closed below this.
const GOOD: f64 = 3e-7;

/// What a muscle is off its answer counts by this share: nobody sees it, as one sees a joint that is open.
const MUSCLES_COUNT: f64 = 0.1;

/// A round that leaves more than this share open is slow.
const SLOW: f64 = 0.5;

/// Slow rounds until the step is given up.
const MOST_SLOW: usize = 5;

/// Rounds that leave more open than the one before. Of a long step, bodies that turn far by the first are far off by the
/// second, and on their way from there.
const MOST_GROWN: usize = 3;

/// A body that turned by this much (Cayley vector) less or more than guessed has other levers and another inertia.
const MISJUDGED: f64 = 0.05;

/// Rows are taken anew once so much is left of what was open with the last: then where bodies end is clear.
const CLEAR: f64 = 0.01;

/// How often rows are taken anew in one step.
const MOST_ANEW: usize = 3;

/// A trend carries at most this far.
const MOST_TREND: f64 = 2.0;

/// What is this many times as far from the end of its range as bodies turn will not get there.
pub(super) const FAR_INSIDE: f64 = 2.0;

/// Ranges that are past their end by more than this after all changes were not kept.
const FAR_PAST: f64 = 1e-3;

/// How often ranges are let go or caught in one step.
const MOST_CHANGES: usize = 12;

/// Bodies are held back by the pull of joints where that is more than this share of their inertia, per step squared.
const STEEP: f64 = 0.02;

impl Constraints {
    /// Finds the multipliers; whether all joints are closed.
    #[inline(always)]
    pub(super) fn close(&mut self, rig: &Rig, h: f64) -> bool {
        self.room.best.0 = f64::INFINITY;
        self.catch(rig);
        self.place_ends(); // where the movers guess
        self.hold_levers(rig);
        let mut pulls = self.start_over(h);
        let (mut last, mut slow, mut grown, mut changes) = (f64::INFINITY, 0, 0, 0);
        let (mut first, mut anew, mut left) = (f64::INFINITY, 0, rig.solver.rounds);
        // One sweep of pairs leaves most open, and that is no sign of a step too long.
        let limited = rig.solver.limited;
        let patient = limited && (rig.solver.tier != Tier::Direct || rig.solver.budget.is_none());
        let trend = rig.solver.tier != Tier::Pairwise;
        if pulls {
            self.residuals(rig);
            self.foresee();
            self.advance(false);
        }
        loop {
            self.follow(pulls);
            pulls = true;
            let open = self.residuals(rig);
            let size = open.0.max(open.1 * self.link);
            if limited {
                self.keep_best(size);
            }
            if !size.is_finite() || left == 0 {
                return false;
            }
            left -= 1;
            let within = |share: f64| open.0 <= share * self.link && open.1 <= share;
            let closed = open.0 <= self.closed * self.link && open.1 <= CLOSED;
            let is_slow = size > SLOW * last && !patient;
            first = if first.is_infinite() { size } else { first };
            let clear = closed || size < CLEAR * first;
            if clear
                && anew < MOST_ANEW
                && !limited
                && self.room.movers.iter().any(|m| m.missed() > MISJUDGED)
            {
                anew += 1;
                (first, last, left) = (f64::INFINITY, f64::INFINITY, rig.solver.rounds);
                self.hold_levers(rig);
                self.foresee();
                self.advance(false);
                continue;
            }
            // Or as near as numbers come: forces in long chains of hinges are sensitive without bounds.
            if closed || is_slow && within(GOOD) {
                if changes < MOST_CHANGES && self.change_ranges(rig, h, changes < MOST_CHANGES / 3) {
                    changes += 1;
                    last = f64::INFINITY;
                    self.hold_levers(rig);
                    continue;
                }
                return changes < MOST_CHANGES || !self.catch_past(rig, FAR_PAST * self.link);
            }
            if !self.clock.next_round(false) {
                return false;
            }
            if is_slow {
                slow += 1;
                let grew = size > last;
                if slow > MOST_SLOW || grew && (limited || grown == MOST_GROWN) {
                    return false;
                }
                if grew {
                    // What led here says nothing of where to go on.
                    grown += 1;
                    (first, last) = (f64::INFINITY, f64::INFINITY);
                }
            }
            self.advance(trend && last.is_finite());
            last = size;
        }
    }

    /// Begins with the forces that joints were expected to need where contacts asked for them: free bodies end far from each
    /// other in a long step, and what is found there says little. Else forgets those of the step before, but for springs that
    /// pull their utmost. Whether there are any.
    #[inline(always)]
    fn start_over(&mut self, h: f64) -> bool {
        let known = self.room.answer.is_known;
        if !self.any_soft && !known {
            self.room.multipliers.fill([0.0; MOST]);
            return false;
        }
        let per_h = 1.0 / h;
        for (j, multipliers) in self.room.multipliers.iter_mut().enumerate() {
            let soft = self.holds[j].is_soft;
            let (expected, count) = (known && self.holds[j].active, self.room.rows[j].count);
            for r in 0..count {
                if !(soft && self.room.softs[j][r].is_spent()) {
                    multipliers[r] = if expected { self.room.answer.impulse(j, r) * per_h } else { 0.0 };
                }
            }
            multipliers[count..].fill(0.0);
        }
        true
    }

    /// Changes the multipliers by what `wanted` tells. With a `trend`, by what the change before left undone, too: what
    /// closes by the same share every time is closed at once (Anderson 1965, one step back).
    #[inline(always)]
    fn advance(&mut self, trend: bool) {
        let Memo { wanted, change, step } = &mut self.room.memo;
        // Openings and angles apart, so that the unit of length does not matter.
        let (mut along, mut size) = ([0.0; 2], [0.0; 2]);
        if trend {
            for (j, (now, before)) in self.room.wanted.iter().zip(wanted.iter()).enumerate() {
                let rows = &self.room.rows[j];
                let mut add = |r: usize, turns: usize| {
                    let less = now[r] - before[r];
                    along[turns] += now[r] * less;
                    size[turns] += less * less;
                };
                // Most are points on points, and nothing else is asked of these.
                if rows.point && rows.count == 3 {
                    (0..3).for_each(|r| add(r, 0));
                    continue;
                }
                let translations = self.holds[j].translations;
                (0..rows.count).for_each(|r| add(r, usize::from(r >= translations)));
            }
        }
        let square = self.link * self.link;
        let sum = |of: [f64; 2]| if of[1] == 0.0 { of[0] } else { of[0] + of[1] * square };
        let (along, size) = (sum(along), sum(size));
        let share = if size > 0.0 { (along / size).clamp(-MOST_TREND, MOST_TREND) } else { 0.0 };
        let clock = self.clock;
        self.system.solve(&self.room.wanted, &mut self.room.change, || clock.goes_on());
        let all =
            self.room.change.iter().zip(change.iter()).zip(step.iter_mut()).zip(&mut self.room.multipliers);
        for ((((now, before), step), multipliers), rows) in all.zip(&self.room.rows) {
            let mut go_on = |r: usize| {
                // Without a trend, what is remembered may be of any step, and no number.
                let by = if share == 0.0 { now[r] } else { now[r] - share * (step[r] + now[r] - before[r]) };
                multipliers[r] += by;
                step[r] = by;
            };
            match rows.count {
                3 => (0..3).for_each(&mut go_on),
                count => (0..count).for_each(&mut go_on),
            }
        }
        // The next round makes these anew.
        std::mem::swap(wanted, &mut self.room.wanted);
        std::mem::swap(change, &mut self.room.change);
    }

    /// Rows have been taken anew where bodies are, and along them the same multipliers would bring them elsewhere, small ones
    /// far away: has `wanted`, which is of where they are, be of there, in proportion.
    #[inline(always)]
    fn foresee(&mut self) {
        self.begin_forces();
        self.system.structure.spread(&self.room.rows, &self.room.multipliers, &mut self.room.forces);
        for (mover, push) in self.room.movers.iter().zip(&mut self.room.forces) {
            *push = mover.leaves_for(push.0, push.1);
        }
        for (j, rows) in self.room.rows.iter().enumerate() {
            let mut moving = [(DVec3::ZERO, DVec3::ZERO); 2];
            for e in 0..2 {
                if let Some(i) = self.system.structure.ends[j][e] {
                    moving[e] = self.room.forces[i];
                }
            }
            let rates = rows.rates(&moving);
            for r in 0..rows.count {
                self.room.wanted[j][r] -= rates[r];
            }
        }
    }

    /// Moves the bodies by the multipliers there are, if there are any.
    #[inline(always)]
    pub(super) fn follow(&mut self, pulls: bool) {
        self.begin_forces();
        if pulls {
            self.system.structure.spread(&self.room.rows, &self.room.multipliers, &mut self.room.forces);
        }
        for (mover, (force, torque)) in self.room.movers.iter_mut().zip(&self.room.forces) {
            mover.follow(*force, *torque);
        }
        self.place_ends();
    }

    /// No forces yet but those of contacts.
    #[inline(always)]
    fn begin_forces(&mut self) {
        match self.room.pushed {
            true => self.room.forces.copy_from_slice(&self.room.pushes),
            false => self.room.forces.fill((DVec3::ZERO, DVec3::ZERO)),
        }
    }

    /// Takes the rows in the middle between the start and where the bodies are now, and holds them; makes and factors
    /// their matrix.
    #[inline(always)]
    fn hold_levers(&mut self, rig: &Rig) {
        self.steep = self.is_steep();
        if self.steep {
            self.room.slopes.fill(DMat3::ZERO);
        }
        for (j, joint) in rig.joints.iter().enumerate() {
            if joint.kind == Kind::Track && self.holds[j].active {
                let hold = &mut self.holds[j];
                hold.to.upper = None;
                let rows = Rows::between(joint, &hold.end[0], &hold.end[1], &hold.to, Measure::Products);
                // Beyond its end it is held there, wherever it is in the middle of the step.
                hold.to.upper = (rows.count == 3).then_some(true);
            }
            let hold = &self.holds[j];
            if !hold.active {
                self.room.rows[j].clear();
                continue;
            }
            let late = [self.late(j, 0), self.late(j, 1)];
            let ([a, b], [later_a, later_b]) = (&hold.start, &hold.end);
            // What is still open is not part of the lever.
            if hold.point {
                let (point_a, lever_a) = a.mix_point(later_a, late[0]);
                let (point_b, lever_b) = b.mix_point(later_b, late[1]);
                let apart = point_b - point_a;
                self.room.rows[j].hold_point(lever_a - apart, lever_b, apart);
            } else if hold.muscle {
                let (a, b) = (a.mix_turned(later_a, late[0]), b.mix_turned(later_b, late[1]));
                self.room.rows[j].set(joint, &a, &b, &hold.to, Measure::Products);
            } else {
                let (mut a, b) = (a.mix(later_a, late[0]), b.mix(later_b, late[1]));
                if hold.translations == 3 && !hold.is_soft && joint.kind != Kind::Track {
                    a.lever -= b.point - a.point;
                }
                self.room.rows[j].set(joint, &a, &b, &hold.to, Measure::Products);
            }
            if self.steep {
                let rows = &self.room.rows[j];
                for e in 0..2 {
                    let Some(body) = self.system.structure.ends[j][e] else { continue };
                    let force = rows.pull(e, &self.room.multipliers[j]);
                    // d (r x f) = (dc x r) x f = r (f . dc) - (r . f) dc
                    let r = hold.end[e].lever * late[e];
                    let along = r.dot(force);
                    let slope = &mut self.room.slopes[body];
                    slope.x_axis += DVec3::new(along, 0.0, 0.0) - r * force.x;
                    slope.y_axis += DVec3::new(0.0, along, 0.0) - r * force.y;
                    slope.z_axis += DVec3::new(0.0, 0.0, along) - r * force.z;
                }
            }
        }
        for (i, mover) in self.room.movers.iter_mut().enumerate() {
            mover.hold(self.steep.then(|| &self.room.slopes[i]), STEEP);
            self.room.mobility[i] = mover.mobility();
        }
        self.system.harden();
        for (j, _) in self.holds.iter().enumerate().filter(|(_, h)| h.is_soft && h.active) {
            for r in 0..self.room.rows[j].count {
                self.system.soften(j, r, self.room.softs[j][r].give());
            }
        }
        self.system.prepare(&self.room.rows, &self.room.mobility);
    }

    /// How late in the step forces act on one end of a joint.
    #[inline(always)]
    fn late(&self, j: usize, e: usize) -> f64 {
        match self.system.structure.ends[j][e] {
            Some(body) => self.room.movers[body].late,
            None => 0.5,
        }
    }

    /// Decides which joints have rows at first.
    #[inline(always)]
    fn catch(&mut self, rig: &Rig) {
        for (j, joint) in rig.joints.iter().enumerate() {
            let hold = &mut self.holds[j];
            hold.active = hold.on;
            if !hold.on {
                self.room.multipliers[j] = [0.0; MOST];
            } else if joint.kind.one_sided() {
                // Where the bodies are heading decides.
                if let [Some(a), Some(b)] = self.system.structure.ends[j] {
                    let turns = [a, b].map(|body| self.room.movers[body].free().1.length());
                    if hold.inside.least(&hold.start[0], &hold.start[1]) > FAR_INSIDE * (turns[0] + turns[1])
                    {
                        (hold.active, self.room.multipliers[j]) = (false, [0.0; MOST]);
                        (hold.to.upper, hold.from.upper) = (None, None);
                        continue;
                    }
                }
                let frames = [hold.start[0], hold.start[1]];
                let ahead: [Side; 2] = std::array::from_fn(|e| match self.system.structure.ends[j][e] {
                    None => hold.end[e],
                    Some(body) => {
                        let (shift, turn) = self.room.movers[body].free();
                        let lever = frames[e].lever + turn.cross(frames[e].lever);
                        let [x, y, z] = [0, 1, 2].map(|k| frames[e].axes.col(k));
                        let axes = DMat3::from_cols(x + turn.cross(x), y + turn.cross(y), z + turn.cross(z));
                        Side {
                            point: frames[e].point - frames[e].lever + shift + lever,
                            lever,
                            axes,
                            ..frames[e]
                        }
                    }
                });
                let rows = Rows::between(joint, &ahead[0], &ahead[1], &hold.to, Measure::Products);
                hold.active = rows.error[0] > hold.past;
                let past = match joint.kind {
                    Kind::Distance { least, most } => {
                        let length = (ahead[1].point - ahead[0].point).length();
                        Some(length - least > most - length)
                    }
                    _ => None,
                };
                hold.to.upper = past;
                hold.from.upper = past;
                if !hold.active {
                    self.room.multipliers[j] = [0.0; MOST];
                }
            }
        }
    }

    /// Catches ranges past their end and, while `let_go`, lets go of those that would have to pull; whether there were any.
    pub(super) fn change_ranges(&mut self, rig: &Rig, h: f64, let_go: bool) -> bool {
        if !self.any_soft && !self.any_range {
            return false;
        }
        let mut changed = false;
        for (j, joint) in rig.joints.iter().enumerate() {
            let hold = &mut self.holds[j];
            if hold.is_soft && hold.on {
                let (soft, multipliers) =
                    (&mut self.room.softs[j][..self.room.rows[j].count], &mut self.room.multipliers[j]);
                if matches!(joint.ends[0], End::Hand(_)) {
                    changed |= Soft::spend_together(soft, multipliers);
                    continue;
                }
                for (soft, multiplier) in soft.iter_mut().zip(multipliers) {
                    changed |= match hold.muscle {
                        true => soft.ease(*multiplier, h, let_go),
                        false => soft.spend(multiplier),
                    };
                }
            }
            let ranges = hold.on && joint.kind.one_sided();
            if ranges && hold.active && let_go && self.room.multipliers[j][0] > 0.0 {
                (hold.active, self.room.multipliers[j]) = (false, [0.0; MOST]);
                changed = true;
            }
        }
        self.catch_past(rig, CLOSED * self.link) || changed
    }

    /// Catches ranges that are past their end by more than `more` rad or units; whether there were any.
    pub(super) fn catch_past(&mut self, rig: &Rig, more: f64) -> bool {
        let mut changed = false;
        for (j, joint) in rig.joints.iter().enumerate().filter(|(_, joint)| joint.kind.one_sided()) {
            let hold = &mut self.holds[j];
            let [a, b] = &hold.end;
            if hold.on && !hold.active && hold.inside.least(a, b) <= 0.0 {
                let rows = Rows::between(joint, a, b, &hold.to, Measure::Products);
                hold.active = rows.error[0] > hold.past + more;
                changed |= hold.active;
            }
        }
        changed
    }

    /// Whether the pull of joints, by the multipliers there are, holds bodies back from turning.
    #[inline(always)]
    fn is_steep(&self) -> bool {
        self.holds.iter().enumerate().filter(|(_, h)| h.active).any(|(j, hold)| {
            let l = &self.room.multipliers[j];
            let force = if hold.translations == 0 { 0.0 } else { l[0].abs().max(l[1].abs()).max(l[2].abs()) };
            (0..2).any(|e| {
                self.system.structure.ends[j][e].is_some_and(|body| {
                    force * hold.start[e].lever.length() * self.room.movers[body].swiftness() > STEEP
                })
            })
        })
    }

    /// Forces and torques of the joints, at the middle between the start and where the bodies ended, into `forces`.
    #[inline(always)]
    pub(super) fn gather(&mut self, rig: &Rig) {
        self.begin_forces();
        for (j, joint) in rig.joints.iter().enumerate() {
            let hold = &self.holds[j];
            if !hold.active {
                continue;
            }
            let l = &self.room.multipliers[j];
            let ends = self.system.structure.ends[j];
            let late = [self.late(j, 0), self.late(j, 1)];
            if hold.point {
                let force = DVec3::new(l[0], l[1], l[2]);
                let mid = |e: usize, late: f64| hold.start[e].mix_point(&hold.end[e], late);
                if let Some(body) = ends[1] {
                    self.room.forces[body].0 += force;
                    self.room.forces[body].1 += mid(1, late[1]).1.cross(force);
                }
                if let Some(body) = ends[0] {
                    // What is left open does not turn the pair: the two forces act at one point.
                    let (point, lever) = mid(0, late[0]);
                    let lever = lever + mid(1, late[0]).0 - point;
                    self.room.forces[body].0 -= force;
                    self.room.forces[body].1 -= lever.cross(force);
                }
                continue;
            }
            // Its rows are not needed any more where they are. What bodies turned by, springs pulled along.
            let rows = &mut self.room.rows[j];
            if !hold.is_soft || hold.translations > 0 {
                let a = hold.start[0].mix(&hold.end[0], late[0]);
                let b = hold.start[1].mix(&hold.end[1], late[1]);
                rows.set(joint, &a, &b, &hold.to, Measure::Products);
            }
            for e in 0..2 {
                let Some(body) = ends[e] else { continue };
                rows.push(e, l, &mut self.room.forces[body]);
            }
        }
    }

    /// Puts the frames where the bodies have come to.
    #[inline(always)]
    fn place_ends(&mut self) {
        for (i, m) in self.room.movers.iter().enumerate() {
            if self.jointed[i] {
                self.room.axes[i] = end_axes(m);
            }
        }
        for (j, hold) in self.holds.iter_mut().enumerate() {
            if !hold.on {
                continue;
            }
            for e in 0..2 {
                let Some(body) = self.system.structure.ends[j][e] else { continue };
                let mover = &self.room.movers[body];
                hold.put(true, e, mover.end_position, (&self.room.axes[body], mover.end_orientation));
            }
        }
    }

    /// How far joints are from what they are held to, negated, in `wanted`; the largest translation and rotation.
    #[inline(always)]
    pub(super) fn residuals(&mut self, rig: &Rig) -> (f64, f64) {
        let mut worst = (0.0_f64, 0.0_f64);
        let mut sum = 0.0;
        for (j, joint) in rig.joints.iter().enumerate() {
            let hold = &self.holds[j];
            let wanted = &mut self.room.wanted[j];
            if !hold.active {
                *wanted = [0.0; MOST];
                self.room.open[j] = (0.0, 0.0);
                continue;
            }
            if hold.point {
                let apart = hold.end[1].point - hold.end[0].point;
                *wanted = [-apart.x, -apart.y, -apart.z, 0.0, 0.0, 0.0];
                let most = apart.abs().max_element();
                self.room.open[j] = (most, 0.0);
                worst.0 = worst.0.max(most);
                sum += apart.x + apart.y + apart.z;
                continue;
            }
            if let (Kind::Directions(locked), false) = (joint.kind, hold.is_soft) {
                let (errors, count) = Rows::errors(locked, &hold.end[0], &hold.end[1]);
                let mut open = (0.0_f64, 0.0_f64);
                for (r, e) in errors[..count].iter().enumerate() {
                    sum += e;
                    if r < hold.translations {
                        open.0 = open.0.max(e.abs())
                    } else {
                        open.1 = open.1.max(e.abs())
                    }
                }
                *wanted = errors.map(|e| -e);
                self.room.open[j] = open;
                worst = (worst.0.max(open.0), worst.1.max(open.1));
                continue;
            }
            let (mut errors, count) = Rows::errors_between(joint, &hold.end[0], &hold.end[1], &hold.to);
            errors[0] -= hold.past;
            if hold.is_soft {
                for r in 0..count {
                    errors[r] = self.room.softs[j][r].residual(errors[r], self.room.multipliers[j][r]);
                }
            }
            let translations = joint.kind.translations().min(count);
            let mut open = (0.0_f64, 0.0_f64);
            let counts = if hold.muscle { MUSCLES_COUNT } else { 1.0 };
            for r in 0..count {
                let e = errors[r].abs() * counts;
                sum += e;
                if r < translations { open.0 = open.0.max(e) } else { open.1 = open.1.max(e) }
            }
            *wanted = errors.map(|e| -e);
            if hold.is_soft {
                for r in 0..count {
                    wanted[r] *= self.room.softs[j][r].unscale();
                }
                self.room.open[j] = (0.0, 0.0);
            } else {
                self.room.open[j] = open;
            }
            worst = (worst.0.max(open.0), worst.1.max(open.1));
        }
        // The largest of numbers and NaN is a number.
        if sum.is_finite() { worst } else { (f64::NAN, f64::NAN) }
    }

    /// Sums up, for every body, how hard its joints pull outwards.
    #[inline(always)]
    pub(super) fn measure_stretch(&mut self) {
        self.room.stretches.fill(0.0);
        for (j, hold) in self.holds.iter().enumerate().filter(|(_, h)| h.point && h.on) {
            let l = &self.room.multipliers[j];
            let force = DVec3::new(l[0], l[1], l[2]);
            for (e, sign) in [(0, -1.0), (1, 1.0)] {
                if let Some(body) = self.system.structure.ends[j][e] {
                    self.room.stretches[body] += (sign * force.dot(hold.start[e].lever)).max(0.0);
                }
            }
        }
    }
}
