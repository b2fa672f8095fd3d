//! Sizes and offsets of the structs that hosts compile into themselves, against the committed ones.

use crate::{bake, build, callback, contact, curve, deformation, drag, job, scene};

#[cfg(target_pointer_width = "64")]
#[test]
fn layout_is_as_committed() {
    let found = [
        callback::sinew_progress::layout(),
        callback::sinew_callbacks::layout(),
        callback::sinew_watch::layout(),
        scene::sinew_open_options::layout(),
        build::sinew_scene_options::layout(),
        curve::sinew_curve::layout(),
        curve::sinew_curve_info::layout(),
        deformation::sinew_deformation_info::layout(),
        job::sinew_job_options::layout(),
        bake::sinew_bake_request::layout(),
        drag::sinew_grip::layout(),
        drag::sinew_solver::layout(),
        contact::sinew_contact::layout(),
        contact::sinew_strike::layout(),
    ]
    .concat();
    let file = concat!(env!("CARGO_MANIFEST_DIR"), "/abi/layout.txt");
    if std::env::var_os("SINEW_BLESS").is_some_and(|v| !v.is_empty()) {
        std::fs::write(file, &found).expect("the committed layout can be written");
    }
    let committed = std::fs::read_to_string(file).expect("the committed layout can be read");
    assert_eq!(committed, found, "see ffi/check-abi");
}
