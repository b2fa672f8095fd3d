//! The Python package: against the header, the library, its own documentation, and as a wheel.
#![forbid(unsafe_code)]

use sinew_tests::program::Program;
use sinew_tests::{built, made, repository, scratch};
use std::path::{Path, PathBuf};

fn source(relative: &str) -> PathBuf {
    repository::root().join(relative)
}

/// Runs a program that must succeed.
fn succeeds(program: Program) -> String {
    let done = program.run().and_then(|done| done.success()).unwrap_or_else(|e| panic!("{e}"));
    done.stdout + &done.stderr
}

/// A small scene in one file.
fn scene(folder: &Path) -> PathBuf {
    made::packed(folder)
}

#[test]
fn functions_and_structs_are_those_of_the_header() {
    succeeds(Program::new("python3").arg(source("plugin/python/make_abi.py")).arg("--check"));
}

#[test]
fn the_package_does_what_the_library_does() {
    let folder = scratch::folder("python");
    let said = succeeds(
        Program::new("python3")
            .arg(source("plugin/python/test_package.py"))
            .arg(scene(folder.path()))
            .arg(folder.path())
            .env("SINEW_LIBRARY", built::library().unwrap_or_else(|e| panic!("{e}"))),
    );
    println!("{said}");
}

#[test]
fn the_wheel_has_all_it_needs() {
    let folder = scratch::folder("wheel");
    let library = built::library().unwrap_or_else(|e| panic!("{e}"));
    let made = succeeds(
        Program::new("python3")
            .arg(source("plugin/python/build"))
            .arg("--library")
            .arg(&library)
            .arg("--output")
            .arg(folder.path()),
    );
    let wheel = Path::new(made.trim());
    let name = wheel.file_name().expect("a wheel has a name").to_string_lossy().into_owned();
    assert!(name.starts_with("sinew-") && name.contains("-py3-none-") && name.ends_with(".whl"), "{name}");
    // What pip does with a wheel, without pip.
    let installed = folder.path().join("installed");
    succeeds(Program::new("python3").args(["-m", "zipfile", "-e"]).arg(wheel).arg(&installed));
    let bake = "import sys, sinew; print(sinew.bake(sys.argv[1], sys.argv[2])['status'], sinew.__file__)";
    let said = succeeds(
        Program::new("python3")
            .args(["-c", bake])
            .arg(scene(folder.path()))
            .arg(folder.path().join("out.glb"))
            .env("PYTHONPATH", &installed)
            .without_env("SINEW_LIBRARY"),
    );
    assert!(said.starts_with("done ") && said.contains("installed"), "{said}");
}
