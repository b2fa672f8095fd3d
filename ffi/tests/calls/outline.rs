//! Lines that show what touches, in the host's axes.

use crate::host::{self, Up, ok};
use sinew::outline::sinew_session_outline;
use sinew::result::*;
use sinew::scene::sinew_scene_free;
use sinew::session::sinew_session_free;
use std::ptr::null_mut;

fn lines(up: Up) -> Vec<f64> {
    let scene = host::scene(up, false);
    let session = host::session(scene);
    let mut length = 0;
    // SAFETY: no buffer first, then one of the length told.
    let found = unsafe {
        ok(sinew_session_outline(session, 0, null_mut(), 0, &raw mut length));
        let mut found = vec![0.0; length];
        assert_eq!(
            sinew_session_outline(session, 0, found.as_mut_ptr(), length - 1, null_mut()),
            SINEW_TOO_SMALL
        );
        ok(sinew_session_outline(session, 0, found.as_mut_ptr(), length, null_mut()));
        let mut none = 3;
        ok(sinew_session_outline(session, 7, null_mut(), 0, &raw mut none));
        assert_eq!(none, 0);
        found
    };
    ok(sinew_session_free(session));
    ok(sinew_scene_free(scene));
    found
}

#[test]
fn a_tetrahedron_has_six_edges_where_it_is() {
    let (flat, turned) = (lines(Up::Y), lines(Up::Z));
    assert_eq!(flat.len(), 6 * 6);
    // The parent is a unit up at the first frame, and its corners reach 0.75 higher.
    let highest = flat.chunks_exact(3).map(|p| p[1]).fold(f64::NEG_INFINITY, f64::max);
    assert!((highest - 1.75).abs() < 1e-9, "{highest}");
    let same = Up::Z.all(&flat, 3);
    assert!(same.iter().zip(&turned).all(|(a, b)| (a - b).abs() < 1e-9), "{same:?} {turned:?}");
}
