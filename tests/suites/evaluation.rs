//! Curves mean what other tools show: every channel of every file against three.js.
#![forbid(unsafe_code)]

use sinew_plugin::gltf::{Document, ReadOptions};
use sinew_tests::oracle::{self, three};
use sinew_tests::{made, sample, scratch};
use std::path::Path;

/// Both sides start from the same 32-bit floats; three.js itself is off by up to 5.1e-7 between close rotation
/// keys (see `three_evaluate.mjs`).
const TOLERANCE: f64 = 1e-6;

#[test]
fn agrees_with_three_at_and_between_keys() {
    if oracle::are_installed() {
        let folder = scratch::folder("evaluation");
        sample::each(&sample::gltf_files(folder.path()), check);
    }
}

#[test]
fn agrees_with_three_on_cubic_keys_that_are_not_unit() {
    if oracle::are_installed() {
        let folder = scratch::folder("evaluation");
        sample::each(&[made::cubic_integers(folder.path())], check);
    }
}

fn check(path: &Path) -> Result<String, String> {
    let scene = match Document::open(path, &ReadOptions::default()) {
        Ok(document) => document.scene().clone(),
        Err(error) => return sample::may_be_refused(path, &error.to_string()),
    };
    let found = three::compare(path, &scene)?.within(TOLERANCE)?;
    Ok(format!("{:>2} clips {:>7} values, worst {:.1e}", scene.clips.len(), found.samples, found.worst))
}
