//! Dragging: in the host's axes, and refusals that say what to do.

use crate::counting::allocations;
use crate::host::{self, Up, ok};
use sinew::drag::*;
use sinew::result::*;
use sinew::scene::sinew_scene_free;
use sinew::session::*;
use sinew::setup::*;
use std::ptr::{null, null_mut};

fn grip(flags: u32, at: [f64; 3]) -> sinew_grip {
    sinew_grip { struct_size: size_of::<sinew_grip>() as u32, flags, at, strength: 0.0 }
}

#[test]
fn a_hand_is_where_the_host_says_in_its_own_axes() {
    for up in [Up::Y, Up::Z] {
        let scene = host::scene(up, false);
        let session = host::session(scene);
        let turn = up.quaternion([0.0, 0.6, 0.0, 0.8]);
        let place = up.vector([0.25, 1.5, -0.5]);
        let target = [&place[..], &turn].concat();
        let mut drag = 0;
        let grip = grip(SINEW_GRIP_ORIENTATION, [0.0; 3]);
        // SAFETY: arrays of the lengths that are told, and a place for the answer.
        unsafe {
            ok(sinew_session_drag_begin(session, 0, &raw const grip, &raw mut drag));
            let step = || {
                ok(sinew_session_drag_move(session, drag, target.as_ptr(), 7));
                ok(sinew_session_step(session, 1.0 / 30.0));
            };
            (0..6).for_each(|_| step());
            assert_eq!(allocations(step), 0);
        }
        let pose = host::look(session).0;
        let same = if pose[6] * turn[3] < 0.0 { -1.0 } else { 1.0 };
        let near = |i: usize| {
            let found = if i < 3 { pose[i] } else { pose[i] * same };
            (found - target[i]).abs() < 1e-6
        };
        assert!((0..7).all(near), "{up:?}: {pose:?} {target:?}");
        ok(sinew_session_drag_end(session, drag));
        ok(sinew_session_free(session));
        ok(sinew_scene_free(scene));
    }
}

#[test]
fn what_follows_its_keys_is_not_dragged_and_the_text_says_what_to_do() {
    let scene = host::scene(Up::Y, false);
    let (mut setup, mut session, mut drag) = (null_mut(), null_mut(), 3);
    // SAFETY: texts that end in zero, places for answers.
    unsafe {
        ok(sinew_setup_automatic(scene, null(), 0, &raw mut setup));
        let place = c"bodies/Child/simulate".as_ptr();
        ok(sinew_setup_set_text(setup, place, usize::MAX, c"orientation".as_ptr(), usize::MAX));
        ok(sinew_session_create(scene, setup, &raw mut session));
        let refused = sinew_session_drag_begin(session, 1, null(), &raw mut drag);
        assert_eq!((refused, drag), (SINEW_NOT_SUPPORTED, 3));
        let mut why = [0; 512];
        sinew_last_error(why.as_mut_ptr(), why.len());
        let why: String = why.iter().take_while(|c| **c != 0).map(|c| *c as u8 as char).collect();
        assert!(why.contains("Child") && why.contains("simulate"), "{why}");
    }
    ok(sinew_session_free(session));
    ok(sinew_setup_free(setup));
    ok(sinew_scene_free(scene));
}
