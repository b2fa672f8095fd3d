//! A particle that is pushed 190 m up in 3 s, from rest to rest.

use super::{bare, link};
use glam::DVec3;
use sinew_core::articulation::{Articulation, JointKind, Mass};
use sinew_core::refine::{Drive, End, Problem, Refinement, Status};
use sinew_core::scene::Placement;

const SECONDS: f64 = 3.0;
const UP: f64 = 190.0;
const GRAVITY: f64 = 9.81;
const UNIT: f64 = 200.0;

fn particle(samples: usize) -> Problem {
    let mass = Mass { mass: 1.0, inertia: DVec3::ONE, centre: Placement::IDENTITY };
    let tree = Articulation::new(vec![link(None, JointKind::Translation, Placement::IDENTITY, Some(mass))]);
    let pose = |i: usize| vec![0.0, 10.0 + UP * i as f64 / samples as f64, 0.0];
    // Rows are counted in this: doubles have 16 digits, and a second difference of places loses six.
    let drive = Drive { unit: UNIT, effort: Some(1.0), limited: false };
    bare(tree, (0..=samples).map(pose).collect(), SECONDS / samples as f64, vec![drive; 3])
}

#[test]
fn a_particle_is_pushed_as_the_closed_form_says() {
    for samples in [30, 300, 3000] {
        let mut refinement = Refinement::new(particle(samples), 1e-9);
        let status = refinement.run(5).clone();
        assert_eq!(status, Status::Converged, "{:?}", refinement.iterations());
        let n = samples as f64;
        let thin = 1.0 + 2.0 / (n * n);
        let objective = GRAVITY * GRAVITY * SECONDS + 12.0 * UP * UP / (SECONDS.powi(3) * thin);
        let found = refinement.objective() * UNIT * UNIT;
        assert!((found / objective - 1.0).abs() < 1e-9, "{samples}: {found} for {objective}");
        for k in 0..=samples {
            let wanted = GRAVITY + 6.0 * UP / (SECONDS * SECONDS) * (1.0 - 2.0 * k as f64 / n) / thin;
            let force: Vec<f64> = refinement.forces(k).iter().map(|f| f * UNIT).collect();
            assert!((force[1] - wanted).abs() < 1e-9 * UNIT, "{samples}, {k}: {} for {wanted}", force[1]);
            assert!(force[0].abs() < 1e-9 * UNIT && force[2].abs() < 1e-9 * UNIT);
        }
    }
}

#[test]
fn a_particle_whose_ends_are_free_is_thrown_and_not_pushed() {
    let mut problem = particle(30);
    problem.ends = [End::Pose, End::Pose];
    let mut refinement = Refinement::new(problem, 1e-9);
    assert_eq!(*refinement.run(5), Status::Converged);
    assert!(refinement.objective() < 1e-12, "{}", refinement.objective());
    // A parabola through both ends.
    let h = SECONDS / 30.0;
    let height = |i: usize| refinement.motion()[i][1];
    for i in 1..30 {
        assert!((height(i + 1) - 2.0 * height(i) + height(i - 1) + GRAVITY * h * h).abs() < 1e-9);
    }
}
