//! A small host: scenes of a parent that moves and a child that swings on it, in either kind of axes.

use sinew::axes::{SINEW_UP_Y, SINEW_UP_Z};
use sinew::build::*;
use sinew::curve::*;
use sinew::job::*;
use sinew::result::*;
use sinew::scene::*;
use sinew::session::*;
use std::ptr::{null, null_mut};

/// Fails with the library's own words. Allocates only then.
pub fn ok(result: sinew_result) {
    if result == SINEW_OK {
        return;
    }
    let mut why = [0; 512];
    // SAFETY: a buffer of the size that is told.
    unsafe { sinew_last_error(why.as_mut_ptr(), why.len()) };
    let why: String = why.iter().take_while(|c| **c != 0).map(|c| *c as u8 as char).collect();
    panic!("{result}: {why}");
}

/// The host's axes.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct Up(pub i32);

impl Up {
    pub const Y: Up = Up(SINEW_UP_Y);
    pub const Z: Up = Up(SINEW_UP_Z);

    /// A vector given with Y up, in these axes: written out here, so that the library's own change is not its judge.
    pub fn vector(self, [x, y, z]: [f64; 3]) -> [f64; 3] {
        if self == Up::Z { [x, -z, y] } else { [x, y, z] }
    }

    pub fn quaternion(self, [x, y, z, w]: [f64; 4]) -> [f64; 4] {
        let [x, y, z] = self.vector([x, y, z]);
        [x, y, z, w]
    }

    fn scale(self, [x, y, z]: [f64; 3]) -> [f64; 3] {
        if self == Up::Z { [x, z, y] } else { [x, y, z] }
    }

    /// Vectors or quaternions one behind the other.
    pub fn all(self, numbers: &[f64], width: usize) -> Vec<f64> {
        let turn = |n: &[f64]| match *n {
            [x, y, z] => self.vector([x, y, z]).to_vec(),
            [x, y, z, w] => self.quaternion([x, y, z, w]).to_vec(),
            _ => unreachable!("vectors and quaternions"),
        };
        numbers.chunks_exact(width).flat_map(turn).collect()
    }
}

/// Times, and with Y up: where the parent is keyed, and how the child is turned, with tangents.
pub const TIMES: [f64; 3] = [0.0, 0.5, 1.25];
pub const MOVES: [f64; 9] = [0.0, 1.0, 0.0, 1.5, 1.25, -0.5, 1.5, 0.75, 2.0];
pub const TURNS: [f64; 12] = [0.0, 0.0, 0.0, 1.0, 0.6, 0.0, 0.0, 0.8, 0.0, 0.6, 0.0, 0.8];
pub const BENDS: [f64; 12] = [0.5, 0.0, 0.25, 0.0, 0.0, 0.5, 0.0, -0.5, 0.0, 0.0, 1.0, 0.0];
/// The child's rest transform: translation, rotation, scale.
pub const REST: [f64; 10] = [0.5, -0.25, 0.125, 0.0, 0.6, 0.0, 0.8, 1.0, 2.0, 0.5];
/// The corners of a lopsided tetrahedron.
const CORNERS: [f64; 12] = [0.0, 0.0, 0.0, 0.5, 0.0, 0.0, 0.0, 0.75, 0.0, 0.0, 0.0, 0.25];
const SIDES: [u32; 12] = [0, 2, 1, 0, 1, 3, 0, 3, 2, 1, 2, 3];

/// The scene in these axes; `single` gives the mesh in single precision.
pub fn scene(up: Up, single: bool) -> *mut sinew_scene {
    let options = sinew_scene_options {
        struct_size: size_of::<sinew_scene_options>() as u32,
        up_axis: up.0,
        metres_per_unit: 1.0,
        frames_per_second: 30.0,
    };
    let (mut scene, mut parent, mut child, mut clip) = (null_mut(), 9, 9, 9);
    let rest: Vec<f64> = [
        &up.vector([REST[0], REST[1], REST[2]])[..],
        &up.quaternion([REST[3], REST[4], REST[5], REST[6]]),
        &up.scale([REST[7], REST[8], REST[9]]),
    ]
    .concat();
    let corners = up.all(&CORNERS, 3);
    let corners_f32: Vec<f32> = corners.iter().map(|v| *v as f32).collect();
    let (moves, turns, bends) = (up.all(&MOVES, 3), up.all(&TURNS, 4), up.all(&BENDS, 4));
    let curve = |node, property, interpolation, values: &[f64], tangents: *const f64| sinew_curve {
        struct_size: size_of::<sinew_curve>() as u32,
        node,
        property,
        interpolation,
        width: 0,
        reserved: 0,
        key_count: TIMES.len(),
        times: TIMES.as_ptr(),
        values: values.as_ptr(),
        arriving: tangents,
        leaving: tangents,
    };
    // SAFETY: arrays of the lengths that are told, alive during the calls.
    unsafe {
        ok(sinew_scene_create(c"test".as_ptr(), usize::MAX, &raw const options, &raw mut scene));
        ok(sinew_scene_add_node(scene, c"Parent".as_ptr(), 6, SINEW_NONE, null(), &raw mut parent));
        ok(sinew_scene_add_node(scene, c"Child".as_ptr(), 5, parent, rest.as_ptr(), &raw mut child));
        for node in [parent, child] {
            ok(match single {
                true => sinew_scene_set_mesh_f32(scene, node, corners_f32.as_ptr(), 4, SIDES.as_ptr(), 4),
                false => sinew_scene_set_mesh(scene, node, corners.as_ptr(), 4, SIDES.as_ptr(), 4),
            });
        }
        ok(sinew_scene_add_clip(scene, c"Clip".as_ptr(), 4, &raw mut clip));
        let moves = curve(parent, SINEW_TRANSLATION, SINEW_LINEAR, &moves, null());
        let turns = curve(child, SINEW_ROTATION, SINEW_CUBIC, &turns, bends.as_ptr());
        ok(sinew_scene_add_curve(scene, clip, &raw const moves));
        ok(sinew_scene_add_curve(scene, clip, &raw const turns));
    }
    assert_eq!((parent, child, clip), (0, 1, 0));
    scene
}

/// A job on it, with an automatic set-up.
pub fn job(scene: *const sinew_scene) -> *mut sinew_job {
    let mut job = null_mut();
    // SAFETY: NULL where it is allowed, and a place for the handle.
    ok(unsafe { sinew_job_run(scene, null(), null(), null(), &raw mut job) });
    job
}

/// All poses of a job: per frame and body seven numbers.
pub fn poses(job: *const sinew_job) -> Vec<f64> {
    let (mut frames, mut bodies) = (0, 0);
    // SAFETY: places for the counts, then a buffer of that size.
    unsafe {
        ok(sinew_job_frame_count(job, &raw mut frames));
        ok(sinew_job_body_count(job, &raw mut bodies));
        let mut poses = vec![0.0; frames * bodies as usize * 7];
        ok(sinew_job_poses(job, poses.as_mut_ptr(), poses.len()));
        poses
    }
}

/// A baked curve.
pub struct Baked {
    pub node: u32,
    pub property: i32,
    pub width: usize,
    pub times: Vec<f64>,
    /// Values, arriving and leaving tangents.
    pub numbers: [Vec<f64>; 3],
}

/// All curves of a job.
pub fn curves(job: *const sinew_job) -> Vec<Baked> {
    let read = |i: u32| {
        // SAFETY: all zeros is such a struct; a place for the answer; buffers of the sizes that it asks for.
        unsafe {
            let mut info: sinew_curve_info = std::mem::zeroed();
            info.struct_size = size_of::<sinew_curve_info>() as u32;
            ok(sinew_job_curve_info(job, i, &raw mut info));
            let (keys, width) = (info.key_count, info.width as usize);
            let mut times = vec![0.0; keys];
            let mut numbers = [0; 3].map(|_| vec![0.0; keys * width]);
            let [values, arriving, leaving] = numbers.each_mut().map(|n| n.as_mut_ptr());
            ok(sinew_job_curve_read(job, i, keys, times.as_mut_ptr(), values, arriving, leaving));
            Baked { node: info.node, property: info.property, width, times, numbers }
        }
    };
    let mut count = 0;
    // SAFETY: a place for the count.
    ok(unsafe { sinew_job_curve_count(job, &raw mut count) });
    (0..count).map(read).collect()
}

/// A session on it, with an automatic set-up.
pub fn session(scene: *const sinew_scene) -> *mut sinew_session {
    let mut session = null_mut();
    // SAFETY: NULL where it is allowed, and a place for the handle.
    ok(unsafe { sinew_session_create(scene, null(), &raw mut session) });
    session
}

/// Poses, targets and forces of both bodies.
pub fn look(session: *const sinew_session) -> ([f64; 14], [f64; 14], [f64; 12]) {
    let (mut poses, mut targets, mut forces, mut flags) = ([0.0; 14], [0.0; 14], [0.0; 12], [0; 2]);
    // SAFETY: buffers of the sizes that are told.
    unsafe {
        ok(sinew_session_poses(session, poses.as_mut_ptr(), 14));
        ok(sinew_session_targets(session, targets.as_mut_ptr(), 14, flags.as_mut_ptr(), 2));
        ok(sinew_session_forces(session, forces.as_mut_ptr(), 12, flags.as_mut_ptr(), 2));
    }
    (poses, targets, forces)
}
