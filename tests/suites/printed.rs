//! Command lines of the README, the pages and the examples, run as they are printed, with the repository as the folder.
#![forbid(unsafe_code)]
#![allow(clippy::unwrap_used)] // helpers of tests are tests

use sinew_tests::program::Program;
use sinew_tests::repository;
use std::path::Path;
use std::time::Duration;

/// Where command lines are printed that a reader types: pages in fenced blocks, programs in the comment at their top.
const PRINTED: [&str; 7] = [
    "README.md",
    "docs/c-abi.md",
    "examples/c/host.c",
    "examples/cpp/host.cpp",
    "examples/rust/src/main.rs",
    "examples/python/bake.py",
    "examples/python/drag.py",
];

/// Lines that are not run here, and who runs them.
const ELSEWHERE: [(&str, &str); 2] =
    [("tests/run", "runs this"), ("plugin/python/build", "the suite python")];

/// How a command line begins in a comment.
const COMMANDS: [&str; 6] = ["cargo ", "cc ", "c++ ", "export ", "python3 ", "target/"];

/// The whole program is built from nothing where it has not been, as it is shipped.
const LIMIT: Duration = Duration::from_secs(3600);

/// Command lines of a file, without the remarks behind them.
fn lines(file: &str) -> Vec<String> {
    let text =
        std::fs::read_to_string(repository::root().join(file)).unwrap_or_else(|e| panic!("{file}: {e}"));
    let plain = |line: &str| line.split("  #").next().unwrap_or_default().trim().to_owned();
    if file.ends_with(".md") {
        // Every second part is inside a fence; its first line is the language.
        let blocks = text.split("```").skip(1).step_by(2).filter_map(|block| block.split_once('\n'));
        let shell = blocks.filter(|(language, _)| language.is_empty() || *language == "sh");
        return shell.flat_map(|(_, block)| block.lines()).map(plain).filter(|l| !l.is_empty()).collect();
    }
    let stripped = text.lines().map(|l| plain(l.trim_start_matches([' ', '/', '*', '!'])));
    stripped.filter(|l| COMMANDS.iter().any(|c| l.starts_with(c))).collect()
}

/// What a line writes into the folder of builds.
fn outputs(line: &str) -> impl Iterator<Item = &str> {
    let is_scene = |w: &&str| w.starts_with("target/") && (w.ends_with(".gltf") || w.ends_with(".glb"));
    line.split(' ').filter(is_scene)
}

#[test]
fn lines_do_what_they_say_as_printed() {
    if !cfg!(unix) {
        return sinew_tests::skip::because("the lines are for a Unix shell");
    }
    for file in PRINTED {
        let all = lines(file);
        let here = |l: &&String| !ELSEWHERE.iter().any(|(start, _)| l.starts_with(start));
        let run: Vec<&String> = all.iter().filter(here).collect();
        assert!(!run.is_empty(), "{file} prints no command line");
        for output in run.iter().flat_map(|l| outputs(l)) {
            _ = std::fs::remove_file(repository::root().join(output));
        }
        // As the README says of compilers that are older than a dependency wants.
        let typed = |l: &&String| match l.strip_prefix("cargo ").and_then(|rest| rest.split_once(' ')) {
            Some((command @ ("build" | "run"), rest)) => {
                format!("cargo {command} --ignore-rust-version {rest}")
            }
            _ => l.to_string(),
        };
        let script: Vec<String> = run.iter().map(typed).collect();
        let done = Program::new("sh")
            .args(["-euc", &script.join("\n")])
            .folder(repository::root())
            .without_env("CARGO_TARGET_DIR")
            .without_env("SINEW_LIBRARY")
            .limit(LIMIT)
            .run()
            .and_then(|done| done.success())
            .unwrap_or_else(|e| panic!("{file}: {e}"));
        for output in run.iter().flat_map(|l| outputs(l)) {
            assert!(repository::root().join(output).is_file(), "{file}: {output} was not written");
        }
        println!("  {file}: {} lines run, of {}\n{}", run.len(), all.len(), done.stdout);
    }
}

#[test]
fn every_example_says_how_it_is_run() {
    let programs = ["c", "cpp", "py", "rs"];
    let is_program = |f: &&std::path::PathBuf| {
        f.starts_with("examples") && f.extension().is_some_and(|e| programs.iter().any(|p| e == *p))
    };
    for file in repository::files().iter().filter(is_program) {
        // The README's, where its lines are.
        let is_known = PRINTED.iter().any(|p| Path::new(p) == file) || file.ends_with("hello.c");
        assert!(is_known, "{} is not in the list of examples whose lines are run", file.display());
    }
}
