//! Real files, altered at random: whatever comes of it, there is no panic, no hang, and no runaway memory.

use crate::builder::{glb, unglb};
use proptest::prelude::Rng;
use proptest::test_runner::{RngAlgorithm, TestRng};
use serde_json::{Value, json};
use sinew_plugin::gltf::{ClipToAdd, Document, PhysicsDialect, ReadOptions};
use sinew_tests::{sample, scratch};
use std::path::Path;
use std::time::Duration;

/// Files below this size are altered; larger ones repeat the same constructs at more cost.
const SMALL: u64 = 60_000;

/// Alterations per file, bytes and values each: the whole takes a few seconds.
const ROUNDS: usize = 300;

/// A single read that computes for longer than this counts as a hang; the files take about a millisecond.
const PATIENCE: Duration = Duration::from_secs(5);

/// Numbers that are easy to get: deterministic, so that a failure repeats.
struct Source(TestRng);

impl Source {
    fn new() -> Source {
        Source(TestRng::deterministic_rng(RngAlgorithm::ChaCha))
    }

    /// A number below `end`.
    fn below(&mut self, end: usize) -> usize {
        (self.0.next_u64() % end.max(1) as u64) as usize
    }
}

fn small_files(made: &Path) -> Vec<std::path::PathBuf> {
    let mut files = sample::gltf_files(made);
    files.retain(|f| f.metadata().unwrap().len() < SMALL);
    assert!(files.len() >= 5, "{files:?}");
    files
}

/// What this thread has used of the processor; nothing where there is no `/proc`.
fn processor_time() -> Duration {
    let stat = std::fs::read_to_string("/proc/thread-self/stat").unwrap_or_default();
    let fields = stat.rsplit(')').next().unwrap_or_default().split_whitespace();
    let ticks: u64 = fields.skip(11).take(2).filter_map(|f| f.parse::<u64>().ok()).sum();
    Duration::from_millis(10 * ticks)
}

/// Reads, and when that succeeds writes and reads again.
fn exercise(bytes: &[u8], path: &Path) {
    let start = processor_time();
    if let Ok(mut document) = Document::from_bytes(bytes, "mutated", path.parent(), &ReadOptions::default()) {
        if let Ok(Some(physics)) = document.physics(None) {
            let _ = document.set_physics(&physics.setup, PhysicsDialect::Khronos);
        }
        if let Some(clip) = document.scene().clips.first().cloned() {
            let bake = ClipToAdd { name: "Again", source: Some(0), replace: false, channels: &clip.channels };
            let _ = document.add_clip(&bake);
        }
        if let Ok(saved) = document.to_glb() {
            Document::from_bytes(&saved, "again", path.parent(), &ReadOptions::default()).unwrap();
        }
    }
    let took = processor_time().saturating_sub(start);
    assert!(took < PATIENCE, "{} took {took:?}", path.display());
}

#[test]
fn altered_bytes_never_break_the_reader() {
    let mut source = Source::new();
    let made = scratch::folder("mutated");
    for path in small_files(made.path()) {
        let good = std::fs::read(&path).unwrap();
        for _ in 0..ROUNDS {
            let mut bad = good.clone();
            for _ in 0..1 + source.below(4) {
                let at = source.below(bad.len());
                match source.below(4) {
                    0 => bad[at] = source.below(256) as u8,
                    1 => bad[at] ^= 1 << source.below(8),
                    2 => bad.truncate(at.max(1)),
                    _ => drop(bad.splice(at..at, [0xFF; 3])),
                }
            }
            exercise(&bad, &path);
        }
    }
}

/// All places in a document, as pointers.
fn pointers(value: &Value, at: String, out: &mut Vec<String>) {
    match value {
        Value::Array(list) => {
            list.iter().enumerate().for_each(|(i, v)| pointers(v, format!("{at}/{i}"), out));
        }
        Value::Object(map) => {
            map.iter().for_each(|(k, v)| {
                pointers(v, format!("{at}/{}", k.replace('~', "~0").replace('/', "~1")), out)
            });
        }
        _ => {}
    }
    out.push(at);
}

fn odd_value(source: &mut Source) -> Value {
    let odd = [
        json!(null),
        json!(-1),
        json!(0),
        json!(1),
        json!(2),
        json!(3),
        json!(5),
        json!(5121),
        json!(5126),
        json!(255),
        json!(1e18),
        json!(u64::MAX),
        json!(4_294_967_295_u64),
        json!(0.5),
        json!(1e-300),
        json!(f64::MAX),
        json!(""),
        json!("SCALAR"),
        json!("VEC4"),
        json!("CUBICSPLINE"),
        json!("../x"),
        json!([]),
        json!({}),
        json!([0]),
        json!(true),
    ];
    odd[source.below(odd.len())].clone()
}

#[test]
fn altered_values_never_break_the_reader() {
    let mut source = Source::new();
    let made = scratch::folder("mutated");
    for path in small_files(made.path()) {
        let good = std::fs::read(&path).unwrap();
        let binary = path.extension().is_some_and(|e| e == "glb");
        let (json, bin) =
            if binary { unglb(&good) } else { (serde_json::from_slice(&good).unwrap(), Vec::new()) };
        let mut places = Vec::new();
        pointers(&json, String::new(), &mut places);
        for _ in 0..ROUNDS {
            let mut bad = json.clone();
            for _ in 0..1 + source.below(3) {
                let place = &places[source.below(places.len())];
                if let Some(value) = bad.pointer_mut(place) {
                    *value = odd_value(&mut source);
                }
            }
            let bytes = if binary { glb(&bad, Some(&bin)) } else { serde_json::to_vec(&bad).unwrap() };
            exercise(&bytes, &path);
        }
    }
}
