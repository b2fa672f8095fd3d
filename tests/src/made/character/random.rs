//! Bodies nobody thought of: another one for every seed, the same one for the same.

use super::plan::{Feet, Naming, Plan};
use super::take::{Action, Take};
use super::{Character, Skeleton};
use crate::scatter::Dice;

/// Bones that a body has at least and at most.
const BONES: [usize; 2] = [5, 80];

impl Character {
    /// The body of that seed: of 5 to 80 bones, on no leg to eight, led by next to nothing now and then, with bones that
    /// stretch, feet that hang on their shins, on the root or on nothing, in units from a centimetre to a hundred metres.
    pub fn random(seed: u64) -> Character {
        let mut dice = Dice::new(seed);
        let plan = loop {
            let plan = plan(&mut dice);
            if (BONES[0]..=BONES[1]).contains(&Skeleton::new(&plan).bones.len()) {
                break plan;
            }
        };
        let actions: &[Action] = match (plan.leg_pairs, plan.wings) {
            (_, true) => &[Action::Fly, Action::Idle],
            (0, _) => &[Action::Slither, Action::Idle],
            _ => &Action::ON_LEGS,
        };
        let action = dice.one_of(actions);
        let cycle = matches!(action, Action::Walk | Action::Run);
        let take = Take {
            turns: dice.whole(1, 3),
            travels: cycle && dice.happens(0.5),
            one_short: dice.happens(0.3),
            held: dice.happens(0.15).then(|| dice.whole(2, 8)),
            ..Take::of(action)
        };
        Character {
            name: format!("random_{seed}"),
            plan,
            takes: vec![take],
            units_per_metre: dice.one_of(&[0.01, 0.1, 1.0, 1.0, 1.0, 10.0, 100.0]),
            frames_per_second: dice.one_of(&[24.0, 25.0, 30.0, 60.0]),
        }
    }
}

fn plan(dice: &mut Dice) -> Plan {
    let upright = dice.happens(0.45);
    let wings = !upright && dice.happens(0.15);
    let leg_pairs = if upright || wings { 1 } else { dice.one_of(&[0, 1, 2, 2, 2, 3, 4]) };
    let large = dice.one_of(&[0.2, 0.5, 1.0, 1.0, 1.0, 2.0, 4.0]);
    let base = if upright { Plan::biped() } else { Plan::quadruped() };
    let arms = upright && dice.happens(0.85);
    Plan {
        upright,
        leg: base.leg * large * dice.between(0.5, 1.3),
        trunk: base.trunk * large * dice.between(0.7, 1.4),
        stout: dice.between(0.7, 1.6),
        spine: if leg_pairs == 0 { dice.whole(3, 16) } else { dice.whole(1, 4) },
        leg_pairs,
        arms,
        wings,
        fingers: if arms && dice.happens(0.3) { dice.whole(1, 5) } else { 0 },
        neck: dice.whole(0, 3),
        head: dice.happens(0.95),
        ears: dice.happens(0.3),
        tail: if dice.happens(0.5) { dice.whole(1, 8) } else { 0 },
        prop: dice.happens(0.2),
        feet: dice.one_of(&[Feet::OnShin, Feet::OnShin, Feet::OnRoot, Feet::Loose]),
        tiny_lead: dice.happens(0.25),
        stretches: dice.happens(0.2),
        aloft: if wings { large } else { 0.0 },
        naming: dice.one_of(&[Naming::Prefixed, Naming::Suffixed, Naming::Numbered]),
    }
}
