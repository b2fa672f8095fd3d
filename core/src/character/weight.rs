//! What a figure and each of its parts weigh, and how large its unit is.
//!
//! A human weighs what a human of its height does, however it is drawn, and each part its share of that (de Leva 1996, the mean of
//! women and men), shared out by volume where several bones make up a part. Everything else weighs its volume in water. A prop
//! weighs between 0.2 and 10 kg. What others hang on is not much lighter than they are: a peg cannot lead them.

use super::kind::Kind;
use super::name::{Name, Part, Segment, Side};
use super::survey::Survey;
use super::{Character, Limb, Wish, hangs_on};
use crate::scene::Scene;
use std::collections::BTreeMap;

/// Living things are about as dense as water, kg/m^3.
const DENSITY: f64 = 1000.0;

/// Mass of a human per squared height (kg/m^2), and the least and most that one weighs (kg).
const PER_HEIGHT_SQUARED: f64 = 22.5;
const HUMAN_KG: [f64; 2] = [40.0, 120.0];

/// The least and the most that a prop weighs, kg.
const PROP_KG: [f64; 2] = [0.2, 10.0];

/// What is held is thinner than the shape around it: a sword weighs a kilogram or two, a staff no more, kg per metre of its length.
const PROP_KG_PER_METRE: f64 = 2.0;

/// Tails, hair and skirts of a human are no heavier than this part of it, each.
const LOOSE_SHARE: f64 = 0.01;

/// Nothing weighs less than this part of what hangs on it, or is easier to turn than this part of it.
pub(super) const LEAST_OF_HANGING: f64 = 0.05;

/// Nothing weighs less than this part of the whole: a button on a string cannot lead the string.
const LEAST_OF_ALL: f64 = 2e-3;

/// A part of a human.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum Region {
    Head,
    Trunk,
    UpperArm,
    Forearm,
    Hand,
    Thigh,
    Shank,
    Foot,
    /// What hangs and follows.
    Loose,
    /// What is held or worn.
    Prop,
}

/// Parts with their share of the whole (each side), and what has the share of those that are missing (de Leva 1996, table 4).
const SHARES: [(Region, f64, Region); 8] = [
    (Region::Hand, 0.0059, Region::Forearm),
    (Region::Forearm, 0.0150, Region::UpperArm),
    (Region::UpperArm, 0.0263, Region::Trunk),
    (Region::Foot, 0.0133, Region::Shank),
    (Region::Shank, 0.0457, Region::Thigh),
    (Region::Thigh, 0.1447, Region::Trunk),
    (Region::Head, 0.0681, Region::Trunk),
    (Region::Trunk, 0.4301, Region::Trunk),
];

/// Heights or lengths that are plausible for a kind in metres, and those in other units (m), and the one that is taken for what no
/// plain unit makes plausible. Few files are in other units, and fewer of small animals.
fn plausible(kind: Kind) -> Option<([f64; 2], [f64; 2], f64)> {
    match kind {
        Kind::Human => Some(([1.0, 2.2], [1.0, 2.2], 1.7)),
        Kind::FourLegged | Kind::Legged => Some(([0.05, 3.0], [0.5, 3.0], 1.5)),
        Kind::Thing => None,
    }
}

/// Extents of things beyond this many units are taken for centimetres: no prop is fifty metres long, many are fifty inches.
const CENTIMETRES_FROM: f64 = 50.0;

/// Metres per unit, by what the first figure is and how large: what makes it plausible, metres first, then units a hundred times
/// smaller and larger, so that a file that is scaled by a hundred weighs what it weighed.
pub(super) fn metres_per_unit(figure: &Character, wish: &Wish) -> f64 {
    if let Some(height) = wish.height {
        return height / figure.height;
    }
    if let Some(unit) = wish.unit {
        return unit;
    }
    let Some((in_metres, otherwise, else_taken)) = plausible(figure.kind()) else {
        return unit_of_a_thing(figure.size);
    };
    let extent = if figure.kind() == Kind::Human { figure.height } else { figure.size };
    let fits = |m: &f64| {
        let [least, most] = if *m == 1.0 { in_metres } else { otherwise };
        (least..=most).contains(&(extent * m))
    };
    let plain = [1.0, 0.01, 100.0, 1e-4, 1e4].into_iter().find(fits);
    plain.unwrap_or_else(|| rounded(else_taken / extent))
}

/// The same of a thing, by its size: what makes it neither a toy nor a tower.
fn unit_of_a_thing(size: f64) -> f64 {
    if (0.15..CENTIMETRES_FROM).contains(&size) {
        return 1.0;
    }
    let plausible = |m: &f64| (0.5..5.0).contains(&(size * m));
    [0.01, 0.001, 0.0001, 100.0].into_iter().find(plausible).unwrap_or(1.0)
}

/// To three digits.
fn rounded(value: f64) -> f64 {
    let unit = 10_f64.powi(2 - value.abs().log10().floor() as i32);
    (value * unit).round() / unit
}

/// Gives every limb its mass. After shapes, kinds and the unit are known; `enclosed` is what the skins enclose, cubic units.
pub(super) fn weigh(scene: &Scene, survey: &Survey, figure: &mut Character, enclosed: f64, wish: &Wish) {
    share_volume(&mut figure.limbs, enclosed, figure.metres_per_unit);
    for number in 0..survey.figures {
        let own: Vec<usize> = (0..figure.limbs.len()).filter(|&i| figure.limbs[i].figure == number).collect();
        let regions = regions(scene, &figure.limbs);
        let human = figure.kinds[number] == Kind::Human;
        let held: Vec<bool> = figure
            .limbs
            .iter()
            .zip(&regions)
            .map(|(l, r)| r.0 == Region::Prop && (human || is_prop(&Name::new(&scene.nodes[l.node].name))))
            .collect();
        let prop = |i: usize| held[i];
        for &i in own.iter().filter(|i| prop(**i)) {
            let most = PROP_KG_PER_METRE * figure.limbs[i].form.length() * figure.metres_per_unit;
            let mass = &mut figure.limbs[i].mass;
            *mass = mass.min(most).clamp(PROP_KG[0], PROP_KG[1]);
        }
        let body = |i: &&usize| !prop(**i);
        if human {
            let metres = figure.height * figure.metres_per_unit;
            let mass = (PER_HEIGHT_SQUARED * metres * metres).clamp(HUMAN_KG[0], HUMAN_KG[1]);
            share_out(&mut figure.limbs, &own, &regions, wish.mass.unwrap_or(mass));
        }
        support(&mut figure.limbs, &own);
        let whole: f64 = own.iter().filter(body).map(|&i| figure.limbs[i].mass).sum();
        let usual = if human { whole.clamp(HUMAN_KG[0], HUMAN_KG[1]) } else { whole };
        let wanted = wish.mass.unwrap_or(usual);
        own.iter().filter(body).for_each(|&i| figure.limbs[i].mass *= wanted / whole);
    }
}

/// Whether a name is that of something held or worn.
fn is_prop(name: &Name) -> bool {
    name.part() == Some(Part::Prop)
}

/// Volumes in water. Where shapes overlap, at the joints, volume would count twice: all of them together have what the skin
/// encloses, as long as that is plausible (an open or doubled skin encloses anything).
fn share_volume(limbs: &mut [Limb], enclosed: f64, metres_per_unit: f64) {
    let sum: f64 = limbs.iter().map(|l| l.form.volume()).sum();
    let share = (enclosed / sum).clamp(0.5, 1.0);
    let share = if share.is_finite() { share } else { 1.0 };
    let least = LEAST_OF_ALL * sum * share;
    let per_volume = DENSITY * metres_per_unit.powi(3);
    limbs.iter_mut().for_each(|l| l.mass = (l.form.volume() * share).max(least) * per_volume);
}

/// Shares a human's mass out.
fn share_out(limbs: &mut [Limb], own: &[usize], regions: &[(Region, Option<Side>)], whole: f64) {
    // Masses of all parts that there are, what is missing given to what it would hang on.
    let mut parts: BTreeMap<(Region, Option<Side>), f64> = BTreeMap::new();
    let sided = |region: Region| !matches!(region, Region::Head | Region::Trunk);
    let there = |key: (Region, Option<Side>)| own.iter().any(|&i| regions[i] == key);
    for (region, share, instead) in SHARES {
        let sides: &[Option<Side>] =
            if sided(region) { &[Some(Side::Left), Some(Side::Right)] } else { &[None] };
        for &side in sides {
            let mass = share * whole + parts.remove(&(region, side)).unwrap_or(0.0);
            let key = if there((region, side)) || region == Region::Trunk {
                (region, side)
            } else {
                (instead, side.filter(|_| sided(instead)))
            };
            *parts.entry(key).or_default() += mass;
        }
    }
    for (key, mass) in parts {
        let mut of: Vec<usize> = own.iter().copied().filter(|&i| regions[i] == key).collect();
        if of.is_empty() {
            of.extend(own.first());
        }
        let volume: f64 = of.iter().map(|&i| limbs[i].mass).sum();
        of.iter().for_each(|&i| limbs[i].mass *= mass / volume);
    }
    for &i in own.iter().filter(|i| regions[**i].0 == Region::Loose) {
        limbs[i].mass = limbs[i].mass.min(LOOSE_SHARE * whole);
    }
}

/// Has nothing weigh less than a part of what hangs on it.
fn support(limbs: &mut [Limb], own: &[usize]) {
    for &i in own.iter().rev() {
        let below = (0..limbs.len()).filter(|&k| k != i && hangs_on(limbs, k, i));
        let hanging: f64 = below.map(|k| limbs[k].mass).sum();
        limbs[i].mass = limbs[i].mass.max(LEAST_OF_HANGING * hanging);
    }
}

/// The part of a human that each limb is of, and its side.
fn regions(scene: &Scene, limbs: &[Limb]) -> Vec<(Region, Option<Side>)> {
    let names: Vec<Name> = limbs.iter().map(|l| Name::new(&scene.nodes[l.node].name)).collect();
    let mut found: Vec<(Region, Option<Side>)> = Vec::with_capacity(limbs.len());
    for (i, name) in names.iter().enumerate() {
        let over = limbs[i].parent.map(|p| found[p]);
        let (above, side) = over.unwrap_or((Region::Trunk, None));
        let side = name.side().or(side);
        let region = match (name.part(), above) {
            (Some(Part::Prop), _) | (_, Region::Prop) => Region::Prop,
            (Some(Part::Loose), _) | (_, Region::Loose) => Region::Loose,
            (Some(Part::Head), _) => Region::Head,
            (Some(Part::Spine), _) => Region::Trunk,
            (Some(Part::Arm), _) if side.is_some() => Region::UpperArm,
            (Some(Part::Leg), _) if side.is_some() => Region::Thigh,
            (Some(Part::End | Part::Digit), Region::UpperArm | Region::Forearm | Region::Hand) => {
                Region::Hand
            }
            (Some(Part::End | Part::Digit), Region::Thigh | Region::Shank | Region::Foot) => Region::Foot,
            (_, Region::Hand) => Region::Prop,
            (_, above) => above,
        };
        found.push((region, side));
    }
    // Arms and legs are made of pieces: the last two before a hand or foot, or what their names say.
    for end in (0..limbs.len()).filter(|&i| !limbs.iter().any(|l| l.parent == Some(i))) {
        for (whole, pieces, segments) in [
            (Region::UpperArm, [Region::Forearm, Region::Hand], [Segment::UpperArm, Segment::ForeArm]),
            (Region::Thigh, [Region::Shank, Region::Foot], [Segment::Thigh, Segment::Shin]),
        ] {
            let mut up: Vec<usize> = std::iter::successors(Some(end), |&l| limbs[l].parent).collect();
            up.reverse();
            let ends = up.iter().any(|&l| found[l].0 == pieces[1]);
            up.retain(|&l| found[l].0 == whole);
            let named = |segment: Segment| up.iter().position(|&l| names[l].segment() == Some(segment));
            let shoulder = |l: usize| names[l].has(&["shoulder", "clavicle", "collar"]);
            let first = match (named(segments[0]), named(segments[1])) {
                (Some(first), _) => first,
                (None, Some(second)) if second > 0 => second - 1,
                _ if ends => up.len().saturating_sub(2),
                _ => usize::from(up.len() > 2 && shoulder(up[0])),
            };
            for (k, &l) in up.iter().enumerate() {
                found[l].0 = match k {
                    k if k < first => Region::Trunk,
                    k if k == first => whole,
                    k if k == first + 1 => pieces[0],
                    _ => pieces[1],
                };
                if found[l].0 == Region::Trunk {
                    found[l].1 = None;
                }
            }
        }
    }
    found.iter_mut().filter(|f| matches!(f.0, Region::Head | Region::Trunk)).for_each(|f| f.1 = None);
    found
}
