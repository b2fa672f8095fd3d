//! Stages nobody thought of, composed by us and by OpenUSD: the same prims, types and places, and it ends.

use super::worlds;
use serde_json::json;
use sinew_plugin::usd::{Destination, Document};
use sinew_tests::made::stage::{Arcs, random};
use sinew_tests::oracle::openusd;
use sinew_tests::{backend, scratch};
use std::path::{Path, PathBuf};

/// Stages of each kind that are tried, where `SINEW_RANDOM_STAGES` does not say another number.
const COUNT: u64 = 60;

/// So many are asked about at once.
const BATCH: usize = 30;

/// What is promised, as a share of the size of what is compared.
const CLOSE: f64 = 1e-6;

fn count() -> u64 {
    let said = std::env::var("SINEW_RANDOM_STAGES").ok();
    said.map_or(COUNT, |n| n.parse().expect("SINEW_RANDOM_STAGES is a number"))
}

/// Reads and flattens a stage; the flattened one.
fn flattened(file: &Path) -> Result<(Document, PathBuf), String> {
    let document = Document::open(file, &backend::options()).map_err(|e| e.to_string())?;
    let flat = file.with_file_name("flat.usda");
    document.save(&flat, Destination::Flat).map_err(|e| format!("flattening: {e}"))?;
    Ok((document, flat))
}

/// Composes random stages and compares them with OpenUSD. All of them end, and a share of `most` at most differs: arcs meet
/// there (instances, specializes and variants of one prim, skeletons below them) that are not yet composed as OpenUSD does.
/// The share may shrink, not grow.
fn compare(arcs: Arcs, most: f64) {
    if !openusd::is_installed() {
        return;
    }
    let folder = scratch::folder(&format!("usd-random-{arcs:?}"));
    let codes = [0.0, 5.5, 12.0, 24.0];
    let mut failures = Vec::new();
    let (mut transforms, mut prims) = (0, 0);
    let seeds: Vec<u64> = (0..count()).collect();
    for batch in seeds.chunks(BATCH) {
        let mut opened = Vec::new();
        for &seed in batch {
            let place = folder.path().join(seed.to_string());
            std::fs::create_dir_all(&place).unwrap();
            let file = random(&place, seed, arcs);
            match flattened(&file) {
                Ok((document, flat)) => opened.push((seed, file, document, flat)),
                Err(why) => failures.push(format!("{seed}: {why}")),
            }
        }
        let stages: Vec<_> =
            opened.iter().map(|(_, file, _, flat)| json!({ "file": file, "flat": flat })).collect();
        let answer = openusd::ask(&json!({ "ask": "stages", "stages": stages, "times": codes })).unwrap();
        for ((seed, _, document, _), theirs) in opened.iter().zip(answer.as_array().unwrap()) {
            let differs: Vec<String> = serde_json::from_value(theirs["differs"].clone()).unwrap();
            if let Some(first) = differs.first() {
                failures.push(format!("{seed}: {} differ: {first}", differs.len()));
                continue;
            }
            prims += theirs["types"].as_object().unwrap().len();
            match worlds::deviation_from(theirs, document, &codes) {
                Err(why) => failures.push(format!("{seed}: {why}")),
                Ok((worst, place, _)) if worst.is_nan() || worst > CLOSE => {
                    failures.push(format!("{seed}: off by {worst:.1e}: {place}"));
                }
                Ok((_, _, count)) => transforms += count,
            }
        }
    }
    println!("{} stages, {prims} prims, {transforms} transforms", seeds.len());
    assert!(prims > 0 && transforms > 0, "nothing was compared");
    let all = failures.len();
    failures.truncate(30);
    println!("{all} of {} stages differ:\n  {}", seeds.len(), failures.join("\n  "));
    let share = all as f64 / seeds.len() as f64;
    assert!(share <= most, "{all} of {} stages:\n  {}", seeds.len(), failures.join("\n  "));
}

#[test]
fn random_stages_compose_as_in_openusd() {
    compare(Arcs::Onward, 0.1);
}

#[test]
fn random_stages_with_arcs_in_circles_compose_as_in_openusd() {
    compare(Arcs::Anywhere, 0.2);
}
