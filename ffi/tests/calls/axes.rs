//! Hosts with Z up see the motion that hosts with Y up see.

use crate::host::{self, Up, ok};
use sinew::curve::sinew_curve_info;
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
        let mut count = 0;
        // SAFETY: places for the answers, buffers of the sizes that the info asks for.
        unsafe {
            ok(sinew_job_curve_count(job, &raw mut count));
            (0..count)
                .map(|i| {
                    let mut info: sinew_curve_info = std::mem::zeroed();
                    info.struct_size = size_of::<sinew_curve_info>() as u32;
                    ok(sinew_job_curve_info(job, i, &raw mut info));
                    let (keys, width) = (info.key_count, info.width as usize);
                    let mut times = vec![0.0; keys];
                    let [mut values, mut arriving, mut leaving] = [0; 3].map(|_| vec![0.0; keys * width]);
                    let places = [&mut values, &mut arriving, &mut leaving].map(|v| v.as_mut_ptr());
                    ok(sinew_job_curve_read(
                        job,
                        i,
                        keys,
                        times.as_mut_ptr(),
                        places[0],
                        places[1],
                        places[2],
                    ));
                    let turned = [values, arriving, leaving].map(|v| up.all(&v, width));
                    (info.node, info.property, info.interpolation, times, turned)
                })
                .collect::<Vec<_>>()
        }
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
