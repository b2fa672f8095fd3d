//! Which bones become bodies, and which stay keyed on them.

use super::flesh::Flesh;
use super::name::{Name, Part};
use super::survey::Survey;
use crate::scene::{Local, Scene};
use std::collections::{HashMap, HashSet};

/// What becomes of a bone, and why.
pub(super) enum Choice {
    Body(String),
    Carried(String),
}

/// A bone that moves less than this part of the whole surface is too small to matter.
const TINY: f64 = 0.002;

/// Less than this is no motion: rad, and a part of the figure's size.
const STILL: f64 = 1e-4;

/// Chooses for every bone.
pub(super) fn choose(scene: &Scene, survey: &Survey, flesh: &Flesh) -> HashMap<usize, Choice> {
    let mut wanted: HashMap<usize, Result<String, String>> = HashMap::new();
    // Children first: a bone without flesh of its own matters to those that hang on it.
    let mut bears: HashSet<usize> = HashSet::new();
    for &bone in survey.bones.iter().rev() {
        let bodies = wanted.iter().filter(|(_, fate)| fate.is_ok()).map(|(b, _)| *b);
        let joins = bears.contains(&bone) && joins(scene, survey, bone, &bodies.collect());
        let fate = fate(scene, survey, flesh, bone, (bears.contains(&bone), joins));
        if fate.is_ok() {
            bears.extend(survey.above(scene, bone));
        }
        wanted.insert(bone, fate);
    }
    let is_body = |bone: usize| wanted.get(&bone).is_some_and(Result::is_ok);
    let mut choices = HashMap::new();
    for &bone in &survey.bones {
        let above = survey.above(scene, bone).find(|&p| is_body(p));
        let choice = match &wanted[&bone] {
            Err(why) => Choice::Carried(match above {
                Some(p) => format!("{why}: stays as keyed on {}", scene.label(p)),
                None => format!("{why}: stays as keyed"),
            }),
            Ok(what) => Choice::Body(what.clone()),
        };
        choices.insert(bone, choice);
    }
    choices
}

/// Two bones that wander on another by less than this part of the figure's size are held together by it.
const STAYS: f64 = 0.01;

/// Whether several of `bodies` hang on a bone and nothing between, each at one point: without it they would be several figures.
fn joins(scene: &Scene, survey: &Survey, bone: usize, bodies: &HashSet<usize>) -> bool {
    let next = |b: &usize| survey.above(scene, *b).find(|p| *p == bone || bodies.contains(p)) == Some(bone);
    let stays = |b: &usize| survey.wanders(bone, *b).1 < STAYS * survey.size;
    bodies.iter().filter(|b| next(b) && stays(b)).count() > 1
}

/// What a bone is a body for, or why it is none; whether it `bears` others, and `joins` several of them.
fn fate(
    scene: &Scene,
    survey: &Survey,
    flesh: &Flesh,
    bone: usize,
    (bears, joins): (bool, bool),
) -> Result<String, String> {
    if matches!(scene.nodes[bone].local, Local::Matrix(_)) {
        return Err("its matrix is sheared".into());
    }
    if survey.scales(bone) || survey.above(scene, bone).any(|p| survey.scales(p)) {
        return Err("its scale is keyed".into());
    }
    let part = Name::new(&scene.nodes[bone].name).part();
    let share = flesh.share(bone);
    let has_flesh = share > TINY && flesh.points(bone).len() >= 4;
    let percent = 100.0 * share;
    match part {
        Some(Part::Helper) if !bears && !has_flesh => {
            return Err("a target or control by its name".into());
        }
        Some(Part::Prop) if !bears => return Err("a prop by its name".into()),
        Some(Part::Digit) if !bears => return Err("a finger or toe by its name".into()),
        Some(Part::Twist) if !bears => return Err("only shares a twist by its name".into()),
        _ => {}
    }
    if has_flesh && flesh.guessed {
        return Ok("bone (the mesh is not known: a bar by its length)".into());
    }
    if has_flesh {
        return Ok(format!("bone that moves {percent:.1} % of the skin"));
    }
    let nearest = survey.above(scene, bone).next();
    let moves = nearest.is_some_and(|p| {
        let from = survey.at_rest(p).to(&survey.at_rest(bone));
        survey.ever_seen(p, bone).any(|s| {
            crate::rotation::distance(s.rotation, from.rotation) > STILL
                || (s.position - from.position).length() > STILL * survey.size
        })
    });
    let carried = nearest.is_some_and(|p| survey.above(scene, p).next().is_some() || flesh.share(p) > TINY);
    let turns = moves && (carried || joins) || joins && nearest.is_none();
    match (bears && turns, flesh.points(bone).is_empty()) {
        (true, _) => Ok("moves no skin itself, but turns bones that do".into()),
        (false, true) => Err("moves no skin".into()),
        (false, false) => Err(format!("moves only {percent:.2} % of the skin")),
    }
}
