//! Made characters, and those that nobody tuned for, where the sample folder has some: each is one figure, the same in all of its clips, of plausible
//! weight, and holds together as a ragdoll.

use super::open;
use sinew_core::rig::compile;
use sinew_core::setup::{Preset, Setup, Space, automatic, choose_clip};
use sinew_core::simulate::run;
use sinew_tests::made::character::Character;
use sinew_tests::{sample, scratch};
use std::path::{Path, PathBuf};

/// A ragdoll's joints are open by no more than this part of its size.
const TORN: f64 = 1e-3;

/// The made ones, written into `scratch`, and every .glb of the sample folder's characters, in order.
fn files(scratch: &Path) -> Vec<PathBuf> {
    let mut files: Vec<PathBuf> = Character::all().iter().map(|c| c.write(scratch)).collect();
    if let Some(folder) = sample::folder().map(|f| f.join("characters")).filter(|f| f.is_dir()) {
        files.extend(sample::with_extension(&folder, &["glb"]));
    }
    files
}

/// What must not depend on the clip.
fn made(setup: &Setup) -> String {
    let bodies =
        setup.bodies.iter().map(|b| format!("{} {:?} {:?} {:?}\n", b.node, b.mass, b.groups, b.guide.parent));
    let joints = setup.joints.iter().map(|j| format!("{:?} {}\n", j.between, j.keyed_anchor));
    let world = format!("{:?} {}\n", setup.world.floor, setup.world.metres_per_unit);
    bodies.chain(joints).chain([world]).collect()
}

#[test]
fn each_is_one_figure_the_same_in_all_clips() {
    let folder = scratch::folder("whole");
    sample::each(&files(folder.path()), |file| {
        let document = open(file);
        let scene = document.scene();
        let clips = || (0..scene.clips.len()).map(|c| format!("#{c}"));
        let first = automatic(scene, Some("#0")).map_err(|e| e.to_string())?;
        let leads = first.bodies.iter().filter(|b| b.guide.space == Space::World).count();
        if leads != 1 {
            return Err(format!("{leads} bodies lead"));
        }
        for clip in clips() {
            let setup = automatic(scene, Some(&clip)).map_err(|e| e.to_string())?;
            if made(&setup) != made(&first) {
                return Err(format!("another figure in clip {clip}"));
            }
        }
        let mass: f64 = first.bodies.iter().filter_map(|b| b.mass).sum();
        match (0.05..500.0).contains(&mass) {
            true => Ok(format!("{} bodies, {mass:.1} kg, {} clips", first.bodies.len(), scene.clips.len())),
            false => Err(format!("{mass} kg")),
        }
    });
}

#[test]
fn ragdolls_stay_in_one_piece_and_land() {
    let folder = scratch::folder("whole");
    sample::each(&files(folder.path()), |file| {
        let document = open(file);
        let scene = document.scene();
        let mut setup = automatic(scene, None).map_err(|e| e.to_string())?;
        setup.use_preset(Preset::Ragdoll);
        let clip = choose_clip(scene, setup.clip.as_deref()).map_err(|e| e.to_string())?.map(|c| c.1);
        let rig = compile(scene, &setup, clip).map_err(|e| e.to_string())?.rig;
        let (motion, _) = run(&rig, |_, _| true);
        let places = |f: usize| motion.frame(f).iter().map(|s| s.node.position);
        let size = places(0).flat_map(|a| places(0).map(move |b| (a - b).length())).fold(0.0, f64::max);
        let open = motion.open_joints().iter().fold(0.0_f64, |m, o| m.max(o.0));
        let lowest = (0..motion.frames()).flat_map(places).map(|p| p.y).fold(f64::INFINITY, f64::min);
        let floor = setup.world.floor.ok_or("it has no floor")?;
        if open > TORN * size {
            return Err(format!("open by {open:.4} of {size:.3}"));
        }
        if lowest < floor - 0.1 * size {
            return Err(format!("fell to {lowest} below the floor at {floor}"));
        }
        Ok(format!("open by {:.6} of the size", open / size))
    });
}
