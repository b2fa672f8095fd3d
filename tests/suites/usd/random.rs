//! Stages nobody thought of. All of them are read, or refused with a reason, in as many steps as their files can have meant;
//! and those of arcs that compose as in OpenUSD have the same prims, types and places there, read and flattened.

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

/// Time codes that are compared.
const CODES: [f64; 4] = [0.0, 5.5, 12.0, 24.0];

fn count() -> u64 {
    let said = std::env::var("SINEW_RANDOM_STAGES").ok();
    said.map_or(COUNT, |n| n.parse().expect("SINEW_RANDOM_STAGES is a number"))
}

/// A stage that was read and flattened.
struct Read {
    seed: u64,
    file: PathBuf,
    flat: PathBuf,
    document: Document,
}

/// Makes the stage of a seed, reads and flattens it.
fn read(folder: &Path, seed: u64, arcs: Arcs) -> Result<Read, String> {
    let place = folder.join(seed.to_string());
    std::fs::create_dir_all(&place).unwrap();
    let file = random(&place, seed, arcs);
    let document = Document::open(&file, &backend::options()).map_err(|e| e.to_string())?;
    let flat = place.join("flat.usda");
    match document.save(&flat, Destination::Flat) {
        Ok(_) => Ok(Read { seed, file, flat, document }),
        Err(e) => {
            assert!(!flat.exists(), "{seed}: a file is left behind after: {e}");
            Err(e.to_string())
        }
    }
}

/// What differs of stages between us and OpenUSD, one line for each stage; and how many prims and transforms were compared.
fn differences(stages: &[Read]) -> (Vec<String>, usize, usize) {
    let (mut found, mut prims, mut transforms) = (Vec::new(), 0, 0);
    for batch in stages.chunks(BATCH) {
        let asked: Vec<_> = batch.iter().map(|s| json!({ "file": s.file, "flat": s.flat })).collect();
        let answer = openusd::ask(&json!({ "ask": "stages", "stages": asked, "times": CODES })).unwrap();
        for (stage, theirs) in batch.iter().zip(answer.as_array().unwrap()) {
            let seed = stage.seed;
            let differs: Vec<String> = serde_json::from_value(theirs["differs"].clone()).unwrap();
            prims += theirs["types"].as_object().unwrap().len();
            match worlds::deviation_from(theirs, &stage.document, &CODES) {
                Err(why) => found.push(format!("{seed}: {why}")),
                Ok((worst, place, _)) if worst.is_nan() || worst > CLOSE => {
                    found.push(format!("{seed}: off by {worst:.1e}: {place}"));
                }
                Ok(_) if !differs.is_empty() => found.push(format!("{seed}: {}", differs[0])),
                Ok((_, _, count)) => transforms += count,
            }
        }
    }
    (found, prims, transforms)
}

/// Reads all stages of arcs of a kind; those that are refused, why. Nothing aborts or hangs, since this returns.
fn read_all(folder: &Path, arcs: Arcs) -> (Vec<Read>, Vec<String>) {
    let (mut stages, mut refused) = (Vec::new(), Vec::new());
    for seed in 0..count() {
        match read(folder, seed, arcs) {
            Ok(stage) => stages.push(stage),
            Err(why) => refused.push(format!("{seed}: {why}")),
        }
    }
    (stages, refused)
}

/// Arcs of every kind: a stage is read or refused with a sentence that names the file. A panic of the library would be said
/// to be damage; composing that goes on out of proportion to the files is counted in steps and refused as that. How many
/// compose otherwise than in OpenUSD is printed, and not judged: of 300 of either kind about one in seven. `Arcs::Agreed`
/// lists the constructs that these have and the stages that are judged have not.
fn ends(arcs: Arcs) {
    let folder = scratch::folder(&format!("usd-random-{arcs:?}"));
    let (stages, refused) = read_all(folder.path(), arcs);
    for why in &refused {
        assert!(
            why.contains(".usda: ") && why.contains("; "),
            "no sentence that says where and what to do: {why}"
        );
        assert!(!why.contains("damaged"), "a panic: {why}");
    }
    assert!(stages.len() > refused.len(), "most stages are refused:\n  {}", refused.join("\n  "));
    println!("{} of {} stages are refused:\n  {}", refused.len(), count(), refused.join("\n  "));
    if openusd::is_installed() {
        let (differ, ..) = differences(&stages);
        println!("{} of {} stages differ:\n  {}", differ.len(), stages.len(), differ.join("\n  "));
    }
}

#[test]
fn random_stages_are_read_or_refused() {
    ends(Arcs::Onward);
}

#[test]
fn random_stages_with_arcs_in_circles_are_read_or_refused() {
    ends(Arcs::Anywhere);
}

/// Every stage, without exception. `Arcs::Agreed` says what these stages are without.
#[test]
fn random_stages_compose_as_in_openusd() {
    if !openusd::is_installed() {
        return;
    }
    let folder = scratch::folder("usd-random-agreed");
    let (stages, refused) = read_all(folder.path(), Arcs::Agreed);
    assert!(refused.is_empty(), "refused:\n  {}", refused.join("\n  "));
    let (differ, prims, transforms) = differences(&stages);
    println!("{} stages, {prims} prims, {transforms} transforms", stages.len());
    assert!(prims > stages.len() && transforms > prims, "nothing was compared");
    assert!(
        differ.is_empty(),
        "{} of {} stages differ:\n  {}",
        differ.len(),
        stages.len(),
        differ.join("\n  ")
    );
}
