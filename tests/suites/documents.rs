//! The documentation says what the program does: every field, every flag, every test that it names.
#![forbid(unsafe_code)]
#![allow(clippy::unwrap_used)] // helpers of tests are tests

use serde_json::Value;
use sinew_tests::program::Program;
use sinew_tests::{built, repository};
use std::collections::BTreeSet;

fn read(file: &str) -> String {
    std::fs::read_to_string(repository::root().join(file)).unwrap_or_else(|e| panic!("{file}: {e}"))
}

fn sinew(arguments: &[&str]) -> String {
    let done = Program::new(built::command().unwrap()).args(arguments).run().unwrap();
    done.success().unwrap().stdout
}

/// What stands between single backticks.
fn quoted(text: &str) -> BTreeSet<&str> {
    text.lines().flat_map(|line| line.split('`').skip(1).step_by(2)).collect()
}

#[test]
fn the_committed_schema_is_the_programs() {
    assert!(
        read("docs/sinew-setup.schema.json") == sinew(&["setup", "--schema"]),
        "docs/sinew-setup.schema.json is out of date; write it anew with `sinew setup --schema`"
    );
}

#[test]
fn every_field_of_a_set_up_is_explained() {
    fn collect(value: &Value, names: &mut BTreeSet<String>) {
        match value {
            Value::Object(map) => {
                if let Some(fields) = map.get("properties").and_then(Value::as_object) {
                    names.extend(fields.keys().cloned());
                }
                // Names of values: presets, behaviours, kinds.
                for key in ["const", "enum"] {
                    let values = map.get(key).into_iter().flat_map(|v| match v {
                        Value::Array(all) => all.as_slice(),
                        one => std::slice::from_ref(one),
                    });
                    names.extend(values.filter_map(Value::as_str).map(str::to_owned));
                }
                map.values().for_each(|v| collect(v, names));
            }
            Value::Array(all) => all.iter().for_each(|v| collect(v, names)),
            _ => {}
        }
    }
    let schema: Value = serde_json::from_str(&read("docs/sinew-setup.schema.json")).unwrap();
    let mut names = BTreeSet::new();
    collect(&schema, &mut names);
    assert!(names.len() > 60, "{names:?}");
    let text = read("docs/setup.md");
    let explained = |name: &str| {
        text.contains(&format!("`{name}`"))
            || text.contains(&format!("\"{name}\""))
            || text.contains(&format!("| {name} |"))
    };
    let missing: Vec<&String> = names.iter().filter(|n| !explained(n)).collect();
    assert!(missing.is_empty(), "docs/setup.md does not explain {missing:?}");
}

#[test]
fn every_flag_is_listed() {
    let page = read("docs/command.md");
    let listed = quoted(&page);
    for command in ["bake", "assemble", "refine", "inspect", "setup", "version"] {
        let help = sinew(&[command, "--help"]);
        let flags =
            help.split_whitespace().filter(|w| w.starts_with("--")).map(|w| w.trim_end_matches([',', '.']));
        for flag in flags.filter(|f| *f != "--help") {
            assert!(
                listed.iter().any(|l| l.split_whitespace().any(|w| w == flag)),
                "docs/command.md does not list {flag} of `sinew {command}`"
            );
        }
    }
}

#[test]
fn tests_that_the_methods_page_names_exist() {
    let sources: String = repository::files()
        .iter()
        .filter(|f| f.extension().is_some_and(|e| e == "rs"))
        .map(|f| std::fs::read_to_string(repository::root().join(f)).unwrap())
        .collect();
    let page = read("docs/methods.md");
    // Tests are the only long names there.
    let named: Vec<&str> = quoted(&page).into_iter().filter(|n| n.matches('_').count() >= 3).collect();
    assert!(named.len() > 25, "{named:?}");
    for name in named {
        assert!(sources.contains(&format!("fn {name}(")), "docs/methods.md names {name}, which is no test");
    }
}

#[test]
fn the_readme_shows_the_c_example_as_it_is() {
    let program = repository::root().join("examples/c/hello.c");
    // Read by hand: a tree without the C interface has no such program.
    let Ok(program) = std::fs::read_to_string(program) else { return };
    let readme = read("README.md");
    let block = readme.split("```c\n").nth(1).and_then(|rest| rest.split("```").next());
    assert_eq!(block, Some(program.as_str()), "README's C program is not examples/c/hello.c");
}

#[test]
fn the_picture_of_speed_and_error_is_of_the_pages_figures() {
    let drawn = Program::new("python3")
        .args(["benches/peers/chart.py", "docs/bench.md"])
        .folder(repository::root())
        .run()
        .and_then(|done| done.success())
        .unwrap()
        .stdout;
    assert!(
        read("docs/pictures/peers.svg") == drawn,
        "docs/pictures/peers.svg is out of date; draw it anew with benches/peers/chart.py and look at it"
    );
}

#[test]
fn every_example_and_picture_is_shown() {
    let pages: String = repository::files()
        .iter()
        .filter(|f| f.extension().is_some_and(|e| e == "md"))
        .map(|f| std::fs::read_to_string(repository::root().join(f)).unwrap())
        .collect();
    for (name, _) in sinew_tests::scenes::all() {
        assert!(pages.contains(&format!("pictures/{name}.svg")), "no page shows the picture of {name}");
    }
}
