//! Which bones become bodies, and which stay keyed on them.

use super::flesh::Flesh;
use super::name::{Name, Part};
use super::survey::Survey;
use crate::scene::{Local, Scene};
use std::collections::{HashMap, HashSet};

/// What becomes of a bone, and why.
pub(super) enum Choice {
    Body { slides: bool, because: String },
    Carried(String),
}

/// A bone that moves less than this part of the whole surface is too small to matter.
const TINY: f64 = 0.002;

/// A bone whose origin wanders on its parent by more than this part of the figure's size is held by no joint.
const SLIDES: f64 = 0.01;

/// Less than this is no motion: rad, and a part of the figure's size.
const STILL: f64 = 1e-4;

/// Chooses for every bone.
pub(super) fn choose(scene: &Scene, survey: &Survey, flesh: &Flesh) -> HashMap<usize, Choice> {
    let mut wanted: HashMap<usize, Result<String, String>> = HashMap::new();
    // Children first: a bone without flesh of its own matters to those that hang on it.
    let mut bears: HashSet<usize> = HashSet::new();
    for &bone in survey.bones.iter().rev() {
        let fate = fate(scene, survey, flesh, bone, bears.contains(&bone));
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
            Ok(what) => {
                let slides = above.is_some_and(|p| {
                    let from = survey.first(p).to(&survey.first(bone)).position;
                    survey.seen(p, bone).any(|s| (s.position - from).length() > SLIDES * survey.size)
                });
                let how = match above {
                    None => "leads the rest: chases its keys in the world".into(),
                    Some(p) if slides => {
                        format!("is keyed to move along {}, so no joint holds it", scene.label(p))
                    }
                    Some(p) => format!("on a joint with {}", scene.label(p)),
                };
                Choice::Body { slides, because: format!("{what}, {how}") }
            }
        };
        choices.insert(bone, choice);
    }
    choices
}

/// What a bone is a body for, or why it is none.
fn fate(scene: &Scene, survey: &Survey, flesh: &Flesh, bone: usize, bears: bool) -> Result<String, String> {
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
        Some(Part::Helper) if !bears => return Err("a target, control or prop by its name".into()),
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
        let from = survey.first(p).to(&survey.first(bone));
        survey.seen(p, bone).any(|s| {
            crate::rotation::distance(s.rotation, from.rotation) > STILL
                || (s.position - from.position).length() > STILL * survey.size
        })
    });
    let carried = nearest.is_some_and(|p| survey.above(scene, p).next().is_some() || flesh.share(p) > TINY);
    match (bears && moves && carried, flesh.points(bone).is_empty()) {
        (true, _) => Ok("moves no skin itself, but turns bones that do".into()),
        (false, true) => Err("moves no skin".into()),
        (false, false) => Err(format!("moves only {percent:.2} % of the skin")),
    }
}
