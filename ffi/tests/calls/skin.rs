//! Bones out of the host's memory have the shape of the vertices that follow them, in either kind of axes.

use crate::host::{self, Up, ok};
use sinew::build::*;
use sinew::curve::*;
use sinew::job::*;
use sinew::result::*;
use sinew::scene::*;
use sinew::skin::sinew_scene_set_weights;
use std::ptr::{null, null_mut};

/// A square tube up along Y, bound to two bones that meet at its middle; the upper end is three times as thick.
const RINGS: [(f64, f64); 6] = [(0.0, 0.1), (0.3, 0.1), (0.5, 0.1), (0.5, 0.3), (0.8, 0.3), (1.0, 0.3)];

struct Tube {
    scene: *mut sinew_scene,
    vertices: Vec<u32>,
    joints: Vec<u32>,
    weights: Vec<f64>,
    bind: Vec<f64>,
}

fn tube(up: Up) -> Tube {
    let options = sinew_scene_options {
        struct_size: size_of::<sinew_scene_options>() as u32,
        up_axis: up.0,
        metres_per_unit: 1.0,
        frames_per_second: 24.0,
    };
    let mut corners = Vec::new();
    for (height, half) in RINGS {
        for (x, z) in [(-half, -half), (half, -half), (half, half), (-half, half)] {
            corners.extend(up.vector([x, height, z]));
        }
    }
    let mut sides: Vec<u32> = vec![0, 1, 2, 0, 2, 3, 20, 22, 21, 20, 23, 22];
    for ring in 0..RINGS.len() as u32 - 1 {
        for side in 0..4 {
            let (a, b) = (4 * ring + side, 4 * ring + (side + 1) % 4);
            sides.extend([a, a + 4, b, b, a + 4, b + 4]);
        }
    }
    let vertices: Vec<u32> = (0..4 * RINGS.len() as u32).collect();
    let joints = vertices.iter().map(|v| u32::from(*v >= 12)).collect();
    // Not normalised: the library does that.
    let weights = vec![3.0; vertices.len()];
    let moved = |by: f64| {
        let [x, y, z] = up.vector([0.0, -by, 0.0]);
        [1.0, 0.0, 0.0, 0.0, 0.0, 1.0, 0.0, 0.0, 0.0, 0.0, 1.0, 0.0, x, y, z, 1.0]
    };
    let place = |by: f64| [&up.vector([0.0, by, 0.0])[..], &[0.0, 0.0, 0.0, 1.0, 1.0, 1.0, 1.0]].concat();
    let times = [0.0, 0.5, 1.0];
    let turns = up.all(&[0.0, 0.0, 0.0, 1.0, 0.6, 0.0, 0.0, 0.8, 0.0, 0.0, 0.0, 1.0], 4);
    let curve = |node| sinew_curve {
        struct_size: size_of::<sinew_curve>() as u32,
        node,
        property: SINEW_ROTATION,
        interpolation: SINEW_LINEAR,
        width: 0,
        reserved: 0,
        key_count: 3,
        times: times.as_ptr(),
        values: turns.as_ptr(),
        arriving: null(),
        leaving: null(),
    };
    let (mut scene, mut lower, mut upper, mut mesh) = (null_mut(), 9, 9, 9);
    // SAFETY: arrays of the lengths that are told, alive during the calls.
    unsafe {
        ok(sinew_scene_create(c"tube".as_ptr(), usize::MAX, &raw const options, &raw mut scene));
        ok(sinew_scene_add_node(
            scene,
            c"Lower".as_ptr(),
            5,
            SINEW_NONE,
            place(0.0).as_ptr(),
            &raw mut lower,
        ));
        ok(sinew_scene_add_node(scene, c"Upper".as_ptr(), 5, lower, place(0.5).as_ptr(), &raw mut upper));
        ok(sinew_scene_add_node(scene, c"Tube".as_ptr(), 4, SINEW_NONE, null(), &raw mut mesh));
        ok(sinew_scene_set_mesh(scene, mesh, corners.as_ptr(), 24, sides.as_ptr(), sides.len() / 3));
        ok(sinew_scene_set_skin(scene, mesh, [lower, upper].as_ptr(), 2));
        ok(sinew_scene_add_clip(scene, c"Bend".as_ptr(), 4, null_mut()));
        for node in [lower, upper] {
            let turns = curve(node);
            ok(sinew_scene_add_curve(scene, 0, &raw const turns));
        }
    }
    Tube { scene, vertices, joints, weights, bind: [moved(0.0), moved(0.5)].concat() }
}

impl Tube {
    fn weigh(&self) -> sinew_result {
        let Tube { scene, vertices, joints, weights, bind } = self;
        // SAFETY: arrays of the lengths that are told.
        unsafe {
            sinew_scene_set_weights(
                *scene,
                2,
                vertices.as_ptr(),
                joints.as_ptr(),
                weights.as_ptr(),
                vertices.len(),
                bind.as_ptr(),
            )
        }
    }
}

/// The report of an automatic job.
fn report(job: *const sinew_job) -> serde_json::Value {
    let mut text = vec![0; 1 << 16];
    // SAFETY: a buffer of the size that is told.
    ok(unsafe { sinew_job_report(job, text.as_mut_ptr(), text.len(), null_mut()) });
    let bytes: Vec<u8> = text.iter().take_while(|c| **c != 0).map(|c| *c as u8).collect();
    serde_json::from_slice(&bytes).expect("a report is JSON")
}

#[test]
fn the_thick_end_is_heavy_in_either_axes() {
    let [y, z] = [Up::Y, Up::Z].map(|up| {
        let tube = tube(up);
        ok(tube.weigh());
        let job = host::job(tube.scene);
        let poses = host::poses(job);
        let masses: Vec<f64> = report(job)["bodies"].as_array().expect("bodies")[..]
            .iter()
            .map(|b| b["mass_kg"].as_f64().expect("a mass"))
            .collect();
        ok(sinew_job_free(job));
        ok(sinew_scene_free(tube.scene));
        (masses, poses.chunks_exact(7).map(|p| up.vector([p[0], p[1], p[2]])[0]).collect::<Vec<_>>())
    });
    assert_eq!(y.0.len(), 2);
    assert!(y.0[1] > 3.0 * y.0[0], "masses by the vertices that follow each bone: {:?}", y.0);
    assert_eq!(y, z);
}

#[test]
fn weights_that_fit_no_vertex_or_bone_are_refused() {
    let mut tube = tube(Up::Z);
    tube.joints[3] = 2;
    assert_eq!(tube.weigh(), SINEW_OUT_OF_RANGE);
    tube.joints[3] = 1;
    tube.vertices[5] = 24;
    assert_eq!(tube.weigh(), SINEW_OUT_OF_RANGE);
    tube.vertices[5] = 5;
    tube.weights[0] = 0.0;
    assert_eq!(tube.weigh(), SINEW_OUT_OF_RANGE);
    tube.weights[0] = 1.0;
    tube.bind[7] = f64::NAN;
    assert_eq!(tube.weigh(), SINEW_INVALID_ARGUMENT);
    tube.bind[7] = 0.0;
    ok(tube.weigh());
    // SAFETY: no arrays at all.
    let bone = unsafe { sinew_scene_set_weights(tube.scene, 0, null(), null(), null(), 0, null()) };
    assert_eq!(bone, SINEW_INVALID_ARGUMENT, "a node without mesh and skin has no weights");
    ok(sinew_scene_free(tube.scene));
}
