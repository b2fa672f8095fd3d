//! Nothing lost, nothing hangs, nothing dies: the command while the system fails it, and while it is killed.
//!
//! Calls of the system are made to fail by strace. SINEW_FAULTS says how many kills there are (default 40).
#![forbid(unsafe_code)]
#![allow(clippy::unwrap_used)] // helpers of tests are tests
#![cfg(target_os = "linux")]

#[path = "faults/doors.rs"]
mod doors;
#[path = "faults/ends.rs"]
mod ends;
#[path = "faults/hosts.rs"]
mod hosts;
#[path = "faults/kills.rs"]
mod kills;
#[path = "faults/saves.rs"]
mod saves;

use serde_json::{Value, json};
use sinew_tests::program::{Finished, Program};
use sinew_tests::{built, repository, skip};
use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};
use std::time::Duration;

/// Processor time after which something that ends in less than a second is taken to hang.
const ENDLESS: Duration = Duration::from_secs(300);

fn command() -> PathBuf {
    built::command().expect("the command is built")
}

fn sinew(arguments: &[&str], folder: &Path) -> Finished {
    let run = Program::new(command()).args(arguments).folder(folder).limit(ENDLESS).run();
    run.expect("the command ends by itself")
}

/// The command with calls of the system that fail, as strace's `inject=` says. `None` where strace may not trace.
fn failing(inject: &[&str], arguments: &[&str], folder: &Path) -> Option<Finished> {
    let mut traced = Program::new("strace").args(["-f", "-qq", "-o", "/dev/null"]);
    for fault in inject {
        traced = traced.args(["-e", &format!("inject={fault}")]);
    }
    let run = traced.arg(command()).args(arguments).folder(folder).limit(ENDLESS).run();
    match run {
        Ok(done) if done.stderr.contains("ptrace") => {
            skip::rightly("this machine does not let strace trace");
            None
        }
        Ok(done) => Some(done),
        Err(e) => {
            skip::because(&format!("strace: {e}"));
            None
        }
    }
}

fn example(name: &str) -> PathBuf {
    repository::root().join("examples/scenes").join(name)
}

/// Every file in a folder, by name.
fn contents(folder: &Path) -> BTreeMap<String, Vec<u8>> {
    let files = fs::read_dir(folder).unwrap().flatten().filter(|e| e.file_type().unwrap().is_file());
    files.map(|e| (e.file_name().to_string_lossy().into_owned(), fs::read(e.path()).unwrap())).collect()
}

/// A ball that hops, in a `.gltf` with its data in a file beside it.
fn hop(folder: &Path) -> PathBuf {
    let times: Vec<f32> = vec![0.0, 0.5, 1.0, 2.0];
    let places: Vec<f32> = vec![0., 0., 0., 1., 2., 0., 2., 0., 0., 3., 2., 0.];
    let data: Vec<u8> = times.iter().chain(&places).flat_map(|v| v.to_le_bytes()).collect();
    fs::write(folder.join("hop-data.bin"), &data).unwrap();
    let scene = json!({
        "asset": { "version": "2.0" }, "scene": 0, "scenes": [{ "nodes": [0] }], "nodes": [{ "name": "Ball" }],
        "buffers": [{ "byteLength": data.len(), "uri": "hop-data.bin" }],
        "bufferViews": [{ "buffer": 0, "byteLength": data.len() }],
        "accessors": [
            { "bufferView": 0, "componentType": 5126, "count": 4, "type": "SCALAR", "min": [0], "max": [2] },
            { "bufferView": 0, "byteOffset": 16, "componentType": 5126, "count": 4, "type": "VEC3" }],
        "animations": [{ "name": "Hop", "channels": [{ "sampler": 0, "target": { "node": 0, "path": "translation" } }],
            "samplers": [{ "input": 0, "output": 1 }] }]
    });
    let path = folder.join("hop.gltf");
    fs::write(&path, serde_json::to_vec(&scene).unwrap()).unwrap();
    path
}

fn json_of(path: &Path) -> Value {
    serde_json::from_slice(&fs::read(path).unwrap()).unwrap()
}

/// Files that nobody should find: temporary ones.
fn strays(folder: &Path) -> Vec<String> {
    let names = fs::read_dir(folder).unwrap().flatten().map(|e| e.file_name().to_string_lossy().into_owned());
    names.filter(|n| n.starts_with('.')).collect()
}

/// Numbers that are the same in every run.
struct Dice(u64);

impl Dice {
    fn roll(&mut self, sides: usize) -> usize {
        // Steele, Lea and Flood 2014.
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut z = self.0;
        z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        ((z ^ (z >> 31)) % sides as u64) as usize
    }
}
