//! Set-ups built by calls are what a file would have said.

use crate::host::ok;
use sinew::curve::SINEW_STEP;
use sinew::result::SINEW_BAD_SETUP;
use sinew::setup::*;
use std::ffi::{CStr, c_char};
use std::ptr::null_mut;

const NUL: usize = usize::MAX;

fn text(setup: *const sinew_setup, place: &CStr) -> String {
    let (mut buffer, mut length) = ([0 as c_char; 1024], 0);
    // SAFETY: a buffer of the size that is told.
    unsafe {
        ok(sinew_setup_get_json(setup, place.as_ptr(), NUL, buffer.as_mut_ptr(), 1024, &raw mut length));
        let text = CStr::from_ptr(buffer.as_ptr()).to_string_lossy().into_owned();
        assert_eq!(text.len(), length);
        text
    }
}

#[test]
fn every_kind_of_value_arrives() {
    let mut setup = null_mut();
    // SAFETY: texts that end in zero, arrays of the lengths that are told.
    unsafe {
        ok(sinew_setup_create(&raw mut setup));
        ok(sinew_setup_add_body(setup, c"Ball".as_ptr(), 4));
        let (times, values) = ([0.0, 1.5], [1.0, 0.25]);
        let place = c"bodies/Ball/actuator/blend".as_ptr();
        ok(sinew_setup_set_keys(setup, place, NUL, SINEW_STEP, times.as_ptr(), values.as_ptr(), 2));
        ok(sinew_setup_set_number(setup, c"world/substeps".as_ptr(), NUL, 8.0));
        ok(sinew_setup_set_numbers(setup, c"world/gravity".as_ptr(), NUL, [0.0, -1.6, 0.5].as_ptr(), 3));
        ok(sinew_setup_set_text(setup, c"bodies/Ball/behaviour".as_ptr(), NUL, c"free".as_ptr(), 4));
        ok(sinew_setup_set_json(setup, c"groups".as_ptr(), NUL, c"[{\"name\":\"arms\"}]".as_ptr(), NUL));
        ok(sinew_setup_set_number(setup, c"groups/arms/strength".as_ptr(), NUL, 0.5));
        let refused = sinew_setup_set_text(setup, c"bodies/Ball/behaviour".as_ptr(), NUL, c"fre".as_ptr(), 3);
        assert_eq!(refused, SINEW_BAD_SETUP);
    }
    assert_eq!(
        text(setup, c"bodies/Ball/actuator/blend"),
        r#"{"keys":[[0.0,1.0],[1.5,0.25]],"between":"step"}"#
    );
    assert_eq!(text(setup, c"world/substeps"), "8");
    assert_eq!(text(setup, c"world/gravity"), "[0.0,-1.6,0.5]");
    assert_eq!(text(setup, c"bodies/Ball/behaviour"), "\"free\"");
    assert_eq!(text(setup, c"groups/arms/strength"), "0.5");

    // As text and back it is the same.
    let mut length = 0;
    // SAFETY: a buffer of the length that was told.
    unsafe {
        ok(sinew_setup_to_json(setup, null_mut(), 0, &raw mut length));
        let mut json = vec![0 as c_char; length + 1];
        ok(sinew_setup_to_json(setup, json.as_mut_ptr(), json.len(), null_mut()));
        let mut again = null_mut();
        ok(sinew_setup_from_json(json.as_ptr(), length, &raw mut again));
        assert_eq!(text(again, c"bodies"), text(setup, c"bodies"));
        ok(sinew_setup_free(again));
    }
    ok(sinew_setup_free(setup));
}
