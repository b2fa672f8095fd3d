//! Hosts with Z up see the motion that hosts with Y up see.

use crate::host::{self, Up, ok};
use sinew::job::*;
use sinew::scene::sinew_scene_free;
use sinew::session::*;

/// Poses as vectors and quaternions with Y up, in the axes of `up`.
fn turned(up: Up, poses: &[f64]) -> Vec<f64> {
    poses.chunks_exact(7).flat_map(|p| [up.all(&p[..3], 3), up.all(&p[3..], 4)].concat()).collect()
}

#[test]
fn a_job_has_the_same_poses_and_curves() {
    let scenes = [Up::Y, Up::Z].map(|up| host::scene(up, false));
    let [y, z] = scenes.map(|s| host::job(s));
    let (poses_y, poses_z) = (host::poses(y), host::poses(z));
    assert!(poses_y.len() > 30 * 14);
    assert_eq!(turned(Up::Z, &poses_y), poses_z);
    // It fell short of its keys: something was simulated, and gravity pulls along -Z there.
    assert!(poses_y.iter().zip(&poses_z).any(|(a, b)| a != b));

    let curves = |job, up: Up| {
        let turned = |c: host::Baked| (c.node, c.property, c.times, c.numbers.map(|n| up.all(&n, c.width)));
        host::curves(job).into_iter().map(turned).collect::<Vec<_>>()
    };
    let (of_y, of_z) = (curves(y, Up::Z), curves(z, Up::Y));
    assert!(of_y.len() >= 2);
    assert_eq!(of_y, of_z);
    [y, z].into_iter().for_each(|j| ok(sinew_job_free(j)));
    scenes.into_iter().for_each(|s| ok(sinew_scene_free(s)));
}

#[test]
fn a_session_has_the_same_poses_targets_and_forces() {
    let scenes = [Up::Y, Up::Z].map(|up| host::scene(up, false));
    let [y, z] = scenes.map(|s| host::session(s));
    for _ in 0..20 {
        [y, z].into_iter().for_each(|s| ok(sinew_session_step_frame(s)));
        let (of_y, of_z) = (host::look(y), host::look(z));
        assert_eq!(turned(Up::Z, &of_y.0), of_z.0);
        assert_eq!(turned(Up::Z, &of_y.1), of_z.1);
        assert_eq!(Up::Z.all(&of_y.2, 3), of_z.2);
        assert!(of_y.2.iter().any(|f| f.abs() > 1.0), "nothing pulls: {:?}", of_y.2);
    }
    [y, z].into_iter().for_each(|s| ok(sinew_session_free(s)));
    scenes.into_iter().for_each(|s| ok(sinew_scene_free(s)));
}
