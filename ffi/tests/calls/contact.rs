//! Contacts: in the host's axes and units, whichever they are, and read without allocating.

use crate::counting::allocations;
use crate::host::{Up, ok};
use sinew::build::*;
use sinew::contact::*;
use sinew::job::*;
use sinew::scene::*;
use sinew::session::*;
use sinew::setup::*;
use std::ptr::{null, null_mut};

/// Centimetres; the ball falls 50 of them beside the origin, and slides on.
const SETUP: &str = r#"{"sinew":1,"bake":{"frames":[0,40]},"world":{"metres_per_unit":0.01,"frames_per_second":25},
    "bodies":[{"node":"Floor","behaviour":"static","shape":{"kind":"plane"}},
    {"node":"Ball","behaviour":"free","mass":2,"shape":{"kind":"sphere","radius":10},"velocity":[100,0,0]}]}"#;

/// A job and a session on a ball above a floor, in these axes.
fn ball(up: Up) -> (*mut sinew_job, *mut sinew_session) {
    let options = sinew_scene_options {
        struct_size: size_of::<sinew_scene_options>() as u32,
        up_axis: up.0,
        metres_per_unit: 0.01,
        frames_per_second: 25.0,
    };
    let at = up.vector([20.0, 60.0, -30.0]);
    let place = [at[0], at[1], at[2], 0.0, 0.0, 0.0, 1.0, 1.0, 1.0, 1.0];
    let (mut scene, mut setup, mut floor, mut ball) = (null_mut(), null_mut(), 9, 9);
    let (mut job, mut session) = (null_mut(), null_mut());
    // SAFETY: texts and arrays of the lengths that are told, places for answers.
    unsafe {
        ok(sinew_scene_create(c"ball".as_ptr(), 4, &raw const options, &raw mut scene));
        ok(sinew_scene_add_node(scene, c"Floor".as_ptr(), 5, SINEW_NONE, null(), &raw mut floor));
        ok(sinew_scene_add_node(scene, c"Ball".as_ptr(), 4, SINEW_NONE, place.as_ptr(), &raw mut ball));
        ok(sinew_setup_from_json(SETUP.as_ptr().cast(), SETUP.len(), &raw mut setup));
        ok(sinew_job_run(scene, setup, null(), null(), &raw mut job));
        ok(sinew_session_create(scene, setup, &raw mut session));
    }
    ok(sinew_setup_free(setup));
    ok(sinew_scene_free(scene));
    (job, session)
}

fn empty_contact() -> sinew_contact {
    // SAFETY: all zeros is such a struct.
    let zeros: sinew_contact = unsafe { std::mem::zeroed() };
    sinew_contact { struct_size: size_of::<sinew_contact>() as u32, ..zeros }
}

fn empty_strike() -> sinew_strike {
    // SAFETY: all zeros is such a struct.
    let zeros: sinew_strike = unsafe { std::mem::zeroed() };
    sinew_strike { struct_size: size_of::<sinew_strike>() as u32, ..zeros }
}

/// The first strike of a job, and the only point at its last frame.
fn seen(job: *const sinew_job) -> (sinew_strike, sinew_contact) {
    let (mut strike, mut contact) = (empty_strike(), empty_contact());
    let (mut frames, mut count) = (0, 0);
    // SAFETY: places for answers.
    unsafe {
        ok(sinew_job_frame_count(job, &raw mut frames));
        ok(sinew_job_strike_info(job, 0, &raw mut strike));
        ok(sinew_job_contact_count(job, frames - 1, &raw mut count));
        assert_eq!(count, 1);
        ok(sinew_job_contact_info(job, frames - 1, 0, &raw mut contact));
    }
    (strike, contact)
}

#[test]
fn contacts_are_in_the_axes_and_units_of_the_header() {
    let [(y_strike, y_contact), (z_strike, z_contact)] = [Up::Y, Up::Z].map(|up| {
        let (job, session) = ball(up);
        let found = seen(job);
        ok(sinew_job_free(job));
        ok(sinew_session_free(session));
        found
    });
    assert_eq!((y_strike.node_a, y_strike.node_b), (0, 1));
    let speed = (2.0 * 9.81 * 0.5_f64).sqrt();
    assert!((y_strike.time - speed / 9.81).abs() < 1e-3, "{y_strike:?}");
    assert!((y_strike.frame - 25.0 * y_strike.time).abs() < 1e-9);
    // Newton seconds, although the scene is in centimetres; speeds are in scene units.
    assert!((y_strike.impulse[1] - 2.0 * speed).abs() < 0.05 * 2.0 * speed, "{y_strike:?}");
    assert!(y_strike.impulse[0] < -0.01, "the floor holds the ball back: {y_strike:?}");
    assert!((y_strike.speed - 100.0 * speed).abs() < 0.05 * 100.0 * speed, "{y_strike:?}");
    assert!((y_contact.load - 2.0 * 9.81).abs() < 1e-6 * 2.0 * 9.81, "{y_contact:?}");
    // The same in the other axes.
    for (y, z) in [
        (y_strike.point, z_strike.point),
        (y_strike.normal, z_strike.normal),
        (y_strike.impulse, z_strike.impulse),
        (y_contact.point, z_contact.point),
        (y_contact.normal, z_contact.normal),
        (y_contact.friction, z_contact.friction),
    ] {
        assert_eq!(Up::Z.vector(y), z);
    }
    assert_eq!((y_strike.time, y_contact.load), (z_strike.time, z_contact.load));
}

#[test]
fn a_session_tells_contacts_without_allocating() {
    let (job, session) = ball(Up::Y);
    let (expected, at_end) = seen(job);
    let (mut strike, mut contact, mut strikes, mut points) = (empty_strike(), empty_contact(), 0, 0);
    for _ in 0..40 {
        ok(sinew_session_step_frame(session));
        let count = allocations(|| {
            // SAFETY: places for answers.
            unsafe {
                let mut now = 0;
                ok(sinew_session_strike_count(session, &raw mut now));
                if now > 0 && strikes == 0 {
                    ok(sinew_session_strike_info(session, 0, &raw mut strike));
                }
                strikes += now;
                ok(sinew_session_contact_count(session, &raw mut points));
                for i in 0..points {
                    ok(sinew_session_contact_info(session, i, &raw mut contact));
                }
            }
        });
        assert_eq!(count, 0);
    }
    assert!(strikes > 0 && points == 1);
    assert_eq!((strike.time, strike.impulse), (expected.time, expected.impulse));
    assert_eq!((contact.point, contact.load), (at_end.point, at_end.load));
    ok(sinew_job_free(job));
    ok(sinew_session_free(session));
}
