//! Sessions: the bits of a job, and no allocation on the way.

use crate::counting::allocations;
use crate::host::{self, Up, ok};
use sinew::job::sinew_job_free;
use sinew::scene::sinew_scene_free;
use sinew::session::*;

#[test]
fn stepping_and_seeking_give_the_bits_of_a_job() {
    let scene = host::scene(Up::Y, false);
    let job = host::job(scene);
    let poses = host::poses(job);
    let session = host::session(scene);
    ok(sinew_scene_free(scene)); // they live on
    let frames: Vec<&[f64]> = poses.chunks_exact(14).collect();
    for frame in &frames[..30] {
        assert_eq!(host::look(session).0, **frame);
        ok(sinew_session_step_frame(session));
    }
    for frame in [5, 37, 0, 29] {
        ok(sinew_session_seek(session, frame as f64 / 30.0));
        assert_eq!(host::look(session).0, *frames[frame]);
    }
    let (mut first, mut last, mut rate) = (0.0, 0.0, 0.0);
    // SAFETY: places for the answers.
    ok(unsafe { sinew_session_range(session, &raw mut first, &raw mut last, &raw mut rate) });
    assert_eq!((first, rate, (last * rate).round() as usize + 1), (0.0, 30.0, frames.len()));
    ok(sinew_job_free(job));
    ok(sinew_session_free(session));
}

#[test]
fn steps_and_reads_allocate_nothing() {
    let scene = host::scene(Up::Z, false);
    let session = host::session(scene);
    host::look(session);
    let mut time = 0.0;
    let count = allocations(|| {
        for _ in 0..100 {
            ok(sinew_session_step(session, 0.01));
            host::look(session);
            // SAFETY: a place for the answer.
            ok(unsafe { sinew_session_time(session, &raw mut time) });
        }
    });
    assert!(time > 0.99);
    assert_eq!(count, 0);
    ok(sinew_session_free(session));
    ok(sinew_scene_free(scene));
}

#[test]
fn settings_are_in_the_units_of_the_header() {
    let scene = host::scene(Up::Y, false);
    let session = host::session(scene);
    ok(sinew_session_set(session, 0, SINEW_SETTING_MAX_FORCE, 2.0));
    for _ in 0..20 {
        ok(sinew_session_step_frame(session));
        let force = host::look(session).2;
        let size = force[..3].iter().map(|f| f * f).sum::<f64>().sqrt();
        assert!(size < 2.0 + 1e-9, "{size} N");
    }
    // Blended to the keys altogether, it is on them.
    for body in 0..2 {
        ok(sinew_session_set(session, body, SINEW_SETTING_BLEND, 0.0));
    }
    ok(sinew_session_seek(session, 0.5));
    let at = host::look(session).0;
    assert!((0..3).all(|i| (at[i] - host::MOVES[3 + i]).abs() < 1e-12), "{at:?}");
    ok(sinew_session_free(session));
    ok(sinew_scene_free(scene));
}
