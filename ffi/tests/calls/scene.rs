//! What a host puts into a scene is what it reads back.

use crate::host::{self, Up, ok};
use sinew::build::SINEW_NONE;
use sinew::curve::*;
use sinew::job::*;
use sinew::look::*;
use sinew::result::{SINEW_BAD_INPUT, SINEW_BAD_SETUP, SINEW_OUT_OF_RANGE};
use sinew::scene::*;
use std::ptr::{null, null_mut};

#[test]
fn nodes_and_curves_are_read_back_bit_for_bit() {
    for up in [Up::Y, Up::Z] {
        let scene = host::scene(up, false);
        let (mut parent, mut child, mut name, mut length) = (0, 0, [0; 8], 0);
        let (mut transform, mut first, mut last) = ([0.0; 10], -1.0, -1.0);
        let (mut times, mut values, mut arriving) = ([0.0; 3], [0.0; 12], [0.0; 12]);
        // SAFETY: places for the answers, buffers of the sizes that are told.
        unsafe {
            ok(sinew_scene_node_find(scene, c"Child".as_ptr(), 5, &raw mut child));
            ok(sinew_scene_node_parent(scene, child, &raw mut parent));
            assert_eq!((child, parent), (1, 0));
            ok(sinew_scene_node_parent(scene, 0, &raw mut parent));
            assert_eq!(parent, SINEW_NONE);
            ok(sinew_scene_node_name(scene, 1, name.as_mut_ptr(), 8, &raw mut length));
            assert_eq!((name.map(|c| c as u8), length), (*b"Child\0\0\0", 5));
            let none = sinew_scene_node_find(scene, c"Chidl".as_ptr(), 5, &raw mut child);
            assert_eq!(none, SINEW_BAD_INPUT);

            ok(sinew_scene_node_transform(scene, 1, transform.as_mut_ptr(), 10));
            let [t, q, s] = [&host::REST[..3], &host::REST[3..7], &host::REST[7..]];
            assert_eq!(transform[..3], up.all(t, 3));
            assert_eq!(transform[3..7], up.all(q, 4));
            assert_eq!(transform[7..], if up == Up::Z { [s[0], s[2], s[1]] } else { [s[0], s[1], s[2]] });

            ok(sinew_scene_clip_range(scene, 0, &raw mut first, &raw mut last));
            assert_eq!((first, last), (0.0, 1.25));
            ok(sinew_scene_curve_read(
                scene,
                0,
                1,
                3,
                times.as_mut_ptr(),
                values.as_mut_ptr(),
                arriving.as_mut_ptr(),
                null_mut(),
            ));
            assert_eq!(times, host::TIMES);
            assert_eq!(values[..], up.all(&host::TURNS, 4));
            assert_eq!(arriving[..], up.all(&host::BENDS, 4));
            let mut info: sinew_curve_info = std::mem::zeroed();
            info.struct_size = size_of::<sinew_curve_info>() as u32;
            ok(sinew_scene_curve_info(scene, 0, 1, &raw mut info));
            assert_eq!((info.node, info.property, info.interpolation), (1, SINEW_ROTATION, SINEW_CUBIC));
            assert_eq!((info.width, info.key_count), (4, 3));
        }
        ok(sinew_scene_free(scene));
    }
}

#[test]
fn meshes_in_either_precision_weigh_the_same() {
    let scenes = [false, true].map(|single| host::scene(Up::Y, single));
    let jobs = scenes.map(|s| host::job(s));
    // Its corners are exact in both.
    assert_eq!(host::poses(jobs[0]), host::poses(jobs[1]));
    jobs.into_iter().for_each(|j| ok(sinew_job_free(j)));
    scenes.into_iter().for_each(|s| ok(sinew_scene_free(s)));
}

/// A node that hops along x: four keys, data inside.
const HOP: &str = r#"{
  "asset": {"version": "2.0"}, "nodes": [{"name": "Ball"}],
  "buffers": [{"byteLength": 64, "uri": "data:application/octet-stream;base64,AAAAAAAAgD8AAABAAABAQAAAAAAAAAAAAAAAAAAAgD8AAABAAAAAAAAAAEAAAAAAAAAAAAAAQEAAAABAAAAAAA=="}],
  "bufferViews": [{"buffer": 0, "byteLength": 64}],
  "accessors": [
    {"bufferView": 0, "componentType": 5126, "count": 4, "type": "SCALAR", "min": [0], "max": [3]},
    {"bufferView": 0, "byteOffset": 16, "componentType": 5126, "count": 4, "type": "VEC3"}],
  "animations": [{"name": "Hop", "channels": [{"sampler": 0, "target": {"node": 0, "path": "translation"}}],
    "samplers": [{"input": 0, "output": 1}]}]
}"#;

#[test]
fn jobs_loop_and_layer_as_asked() {
    let scene = host::scene(Up::Y, false);
    // SAFETY: all zeros is such a struct.
    let mut options: sinew_job_options = unsafe { std::mem::zeroed() };
    options.struct_size = size_of::<sinew_job_options>() as u32;
    let run = |options: &sinew_job_options| {
        let mut job = null_mut();
        // SAFETY: NULL where it is allowed, a place for the handle.
        (unsafe { sinew_job_run(scene, null(), options, null(), &raw mut job) }, job)
    };
    let report = |job: *mut sinew_job| {
        let (mut text, mut length) = (vec![0_u8; 1 << 16], 0);
        // SAFETY: a buffer of the length that is told.
        unsafe { ok(sinew_job_report(job, text.as_mut_ptr().cast(), text.len(), &raw mut length)) };
        String::from_utf8_lossy(&text[..length]).into_owned()
    };
    let full = host::job(scene);
    options.flags = SINEW_LOOP;
    let (result, looped) = run(&options);
    ok(result);
    assert!(report(full).contains("\"loop\": null") && report(looped).contains("\"turns\": "));
    options.flags = 0;
    options.layer = SINEW_LAYER_ADDITIVE;
    let (result, layer) = run(&options);
    ok(result);
    // The layer has the same curves, with other numbers.
    let (whole, added) = (host::curves(full), host::curves(layer));
    assert_eq!(whole.len(), added.len());
    assert!(whole.iter().zip(&added).any(|(a, b)| a.numbers != b.numbers));
    options.layer = 4;
    assert_eq!(run(&options).0, SINEW_OUT_OF_RANGE);
    options.layer = SINEW_LAYER_NONE;
    options.only = b"Nobody".as_ptr().cast();
    options.only_length = 6;
    assert_eq!(run(&options).0, SINEW_BAD_SETUP);
    [full, looped, layer].into_iter().for_each(|j| ok(sinew_job_free(j)));
    ok(sinew_scene_free(scene));
}

#[test]
fn curves_are_rounded_for_those_who_store_them_so_and_for_nobody_else() {
    let is_single = |job: *mut sinew_job| {
        let moves = host::curves(job).into_iter().filter(|c| c.property == SINEW_TRANSLATION);
        let numbers: Vec<f64> = moves.flat_map(|c| c.numbers.concat()).collect();
        assert!(numbers.len() > 20);
        ok(sinew_job_free(job));
        numbers.iter().all(|v| f64::from(*v as f32) == *v)
    };
    let (ours, mut file, mut job) = (host::scene(Up::Y, false), null_mut(), null_mut());
    // SAFETY: all zeros is such a struct.
    let mut options: sinew_job_options = unsafe { std::mem::zeroed() };
    options.struct_size = size_of::<sinew_job_options>() as u32;
    options.flags = SINEW_SINGLE;
    // SAFETY: bytes of the length that is told, NULL where it is allowed, places for the handles.
    unsafe {
        ok(sinew_scene_open_memory(HOP.as_ptr(), HOP.len(), null(), 0, &raw mut file));
        ok(sinew_job_run(ours, null(), &raw const options, null(), &raw mut job));
    }
    assert!(is_single(job));
    assert!(is_single(host::job(file)));
    assert!(!is_single(host::job(ours)));
    [ours, file].into_iter().for_each(|s| ok(sinew_scene_free(s)));
}
