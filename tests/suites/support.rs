//! The test house itself: what suites rely on does what it says, so that a failure is the product's.
#![forbid(unsafe_code)]

use serde_json::json;
use sinew_tests::document::{RawDocument, same_meaning};
use sinew_tests::made::character::Character;
use sinew_tests::oracle::{self, khronos};
use sinew_tests::program::Program;
use sinew_tests::{made, sample, scratch};
use std::time::Duration;

#[cfg(unix)]
#[test]
fn a_program_gives_code_output_and_takes_input_larger_than_a_pipe() {
    let input = vec![b'x'; 1 << 20];
    let done = Program::new("sh").args(["-c", "cat; echo oops >&2; exit 7"]).input(input).run().unwrap();
    assert_eq!((done.code, done.stdout.len(), done.stderr.as_str()), (Some(7), 1 << 20, "oops\n"));
    assert!(done.success().unwrap_err().contains("exited with 7"));
}

#[cfg(target_os = "linux")]
#[test]
fn a_hanging_program_is_ended_with_its_children() {
    // It says who its child is; both compute for ever.
    let text = "(while :; do :; done) & echo child $!; while :; do :; done";
    let limit = Duration::from_millis(500);
    let error = Program::new("sh").args(["-c", text]).limit(limit).run().unwrap_err();
    assert!(error.contains("did not end"), "{error}");
    let child = error.lines().find_map(|l| l.strip_prefix("child ")).expect("it said who its child is");
    // Whoever has no parent any more may take a moment to be buried.
    let runs = || {
        let stat = std::fs::read_to_string(format!("/proc/{child}/stat"));
        stat.is_ok_and(|s| !s.rsplit(')').next().unwrap_or_default().trim_start().starts_with('Z'))
    };
    while runs() {
        std::thread::yield_now();
    }
}

#[cfg(target_os = "linux")]
#[test]
fn a_program_that_waits_is_not_ended() {
    // It takes longer than its limit, and computes for less.
    let limit = Duration::from_millis(500);
    let done = Program::new("sh").args(["-c", "sleep 1; echo done"]).limit(limit).run().unwrap();
    assert_eq!((done.code, done.stdout.as_str()), (Some(0), "done\n"));
}

#[test]
#[should_panic(expected = "no file to try")]
fn a_test_of_no_file_fails() {
    sample::each(&[], |_| Ok(String::new()));
}

#[test]
fn json_is_compared_by_meaning() {
    assert!(same_meaning(&json!({"a": [1, 2.5], "b": 0}), &json!({"b": 0.0, "a": [1.0, 2.5]})));
    assert!(!same_meaning(&json!({"a": 1}), &json!({"a": 1, "b": null})));
    assert!(!same_meaning(&json!([1, 2]), &json!([2, 1])));
    assert!(!same_meaning(&json!(0), &json!(false)));
}

#[test]
fn a_document_opens_from_text_and_from_chunks() {
    let folder = scratch::folder("document");
    let text =
        br#"{"buffers":[{"byteLength":3,"uri":"a%20b.bin"},{"byteLength":2,"uri":"data:;base64,AQI="}]}"#;
    std::fs::write(folder.path().join("a b.bin"), [7, 8, 9, 10]).unwrap();
    let path = folder.path().join("plain.gltf");
    std::fs::write(&path, text).unwrap();
    let plain = RawDocument::open(&path).unwrap();
    assert_eq!(plain.buffer(0).unwrap(), Some(vec![7, 8, 9]));
    assert_eq!(plain.buffer(1).unwrap(), Some(vec![1, 2]));

    let mut json = br#"{"buffers":[{"byteLength":3}]}"#.to_vec();
    json.resize(json.len().next_multiple_of(4), b' ');
    let chunk = |kind: &[u8], data: &[u8]| [&(data.len() as u32).to_le_bytes()[..], kind, data].concat();
    let chunks = [chunk(b"JSON", &json), chunk(b"BIN\0", &[4, 5, 6, 0])].concat();
    let header = [&b"glTF"[..], &2u32.to_le_bytes(), &(12 + chunks.len() as u32).to_le_bytes()].concat();
    let path = folder.path().join("packed.glb");
    std::fs::write(&path, [header, chunks].concat()).unwrap();
    let packed = RawDocument::open(&path).unwrap();
    assert_eq!(packed.buffer(0).unwrap(), Some(vec![4, 5, 6]));
}

#[test]
fn made_files_are_valid() {
    if !oracle::are_installed() {
        return;
    }
    let folder = scratch::folder("made");
    let mut files = made::files(folder.path());
    files.extend(Character::all().iter().map(|c| c.write(folder.path())));
    files.extend((0..20).map(|seed| Character::random(seed).write(folder.path())));
    files.push(made::cubic_integers(folder.path()));
    for file in files {
        assert_eq!(khronos::judge(&file, &file), Ok(0), "{}", file.display());
    }
}
