//! A stick on a motor that is too weak to lift it: it must swing up.

use super::{along, bare, link};
use glam::{DQuat, DVec3};
use sinew_core::articulation::{Articulation, JointKind, Mass};
use sinew_core::refine::{Drive, Refinement, Status};
use sinew_core::scene::Placement;
use std::f64::consts::PI;

const SAMPLES: usize = 200;
const SECONDS: f64 = 4.0;
const STRENGTH: f64 = 2.0;

/// From hanging to standing upright, beginning with the angles given (1 at the end, times pi).
fn swing(start: impl Fn(f64) -> f64, limited: bool) -> Refinement {
    let centre = Placement { position: DVec3::NEG_Y * 0.5, rotation: DQuat::IDENTITY };
    let mass = Mass { mass: 1.0, inertia: DVec3::splat(1.0 / 12.0), centre };
    let tree =
        Articulation::new(vec![link(None, JointKind::Hinge, along(DVec3::Z, DVec3::ZERO), Some(mass))]);
    // The hinge's frame has its x along z; the stick hangs along -y of that frame, which is -y of the world.
    let pose = |i: usize| vec![PI * start(i as f64 / SAMPLES as f64)];
    let drive = Drive { unit: STRENGTH, effort: Some(1.0), limited };
    let problem = bare(tree, (0..=SAMPLES).map(pose).collect(), SECONDS / SAMPLES as f64, vec![drive]);
    Refinement::new(problem, 1e-9)
}

/// In newton metres squared and seconds.
fn effort(refinement: &Refinement) -> f64 {
    refinement.objective() * STRENGTH * STRENGTH
}

/// Swings up, within so many iterations, with the least effort near the start as IPOPT finds it for the same equations.
fn swings_up(start: impl Fn(f64) -> f64, wanted: f64, most: usize) {
    let mut refinement = swing(start, true);
    let status = refinement.run(most).clone();
    println!("{} iterations, effort {:.7}", refinement.iterations().len(), effort(&refinement));
    assert_eq!(status, Status::Converged, "{:#?}", refinement.iterations());
    assert!((effort(&refinement) / wanted - 1.0).abs() < 1e-6, "{} for {wanted}", effort(&refinement));
    let strongest = (0..=SAMPLES).fold(0.0_f64, |m, k| m.max(refinement.forces(k)[0].abs()));
    assert!(strongest <= 1.0 + 1e-9, "{strongest} of its strength");
}

#[test]
fn a_weak_motor_swings_a_stick_up_from_a_steady_turn() {
    swings_up(|u| u, 4.951_293, 35);
}

#[test]
fn a_weak_motor_swings_a_stick_up_from_a_swing() {
    swings_up(|u| u * (PI * (1.0 - u)).cos(), 4.047_431, 25);
}

#[test]
fn near_the_solution_every_step_squares_the_error() {
    let mut refinement = swing(|u| u * (PI * (1.0 - u)).cos(), false);
    assert_eq!(*refinement.run(25), Status::Converged);
    let errors: Vec<f64> = refinement.iterations().iter().map(|i| i.error).collect();
    let near = errors.iter().position(|e| *e < 1e-1).expect("it converges");
    println!("{errors:?}");
    assert!(errors.len() >= near + 3);
    for pair in errors[near..].windows(2).filter(|p| p[1] > 1e-11) {
        assert!(pair[1] < 10.0 * pair[0] * pair[0], "{errors:?}");
    }
}
