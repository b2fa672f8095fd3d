//! What Sinew is built from: every package has a licence that a studio can ship, and a Rust version that is declared is enough.
#![forbid(unsafe_code)]
#![allow(clippy::unwrap_used)] // helpers of tests are tests

use serde_json::Value;
use sinew_tests::program::Program;
use sinew_tests::repository;
use std::collections::{BTreeMap, BTreeSet};

/// Licences that ask for no more than their text. Others are a decision: of this list, with a reason.
const PERMISSIVE: [&str; 6] = ["Apache-2.0", "BSD-3-Clause", "ISC", "MIT", "Unicode-3.0", "Zlib"];

/// Packages that only make what is built, of which nothing is shipped: their licences may ask for changes to be published.
const TOOLS: [(&str, &str); 1] = [("cbindgen", "MPL-2.0")];

/// Everything that Cargo.lock names, on every platform and with all that tests and benchmarks need.
fn packages() -> Value {
    let cargo = std::env::var_os("CARGO").unwrap_or_else(|| "cargo".into());
    let arguments = ["metadata", "--format-version", "1", "--locked", "--all-features"];
    let done =
        Program::new(cargo).args(arguments).folder(repository::root()).run().unwrap().success().unwrap();
    serde_json::from_str(&done.stdout).unwrap()
}

#[test]
fn every_package_has_a_permissive_licence() {
    let metadata = packages();
    let packages = metadata["packages"].as_array().unwrap();
    assert!(packages.len() > 100, "{} packages", packages.len());
    let mut refused = Vec::new();
    for package in packages {
        let name = package["name"].as_str().unwrap();
        let Some(text) = package["license"].as_str() else {
            refused.push(format!("{name} declares no licence"));
            continue;
        };
        let licence = spdx::Expression::parse_mode(text, spdx::ParseMode::LAX).unwrap();
        let tool = |id: &str| TOOLS.contains(&(name, id));
        let allowed = |r: &spdx::LicenseReq| {
            r.license.id().is_some_and(|id| PERMISSIVE.contains(&id.name) || tool(id.name))
        };
        if !licence.evaluate(allowed) {
            refused.push(format!("{name} is licensed as {text}"));
        }
    }
    assert!(
        refused.is_empty(),
        "{refused:#?}\nfind another package, or add the licence to the list with a reason"
    );
}

#[test]
fn the_rust_that_a_package_declares_is_enough_for_what_it_depends_on() {
    let metadata = packages();
    let version = |text: &str| -> Vec<u32> { text.split('.').map(|n| n.parse().unwrap()).collect() };
    let declared: BTreeMap<&str, Option<Vec<u32>>> = metadata["packages"]
        .as_array()
        .unwrap()
        .iter()
        .map(|p| (p["id"].as_str().unwrap(), p["rust_version"].as_str().map(version)))
        .collect();
    let nodes: BTreeMap<&str, &Value> = metadata["resolve"]["nodes"]
        .as_array()
        .unwrap()
        .iter()
        .map(|n| (n["id"].as_str().unwrap(), n))
        .collect();
    for member in metadata["workspace_members"].as_array().unwrap() {
        let member = member.as_str().unwrap();
        let mut seen = BTreeSet::new();
        let mut open = vec![member];
        while let Some(id) = open.pop() {
            if !seen.insert(id) {
                continue;
            }
            let ordinary = |kind: &Value| kind["kind"].is_null() || kind["kind"] == "build";
            for dependency in nodes[id]["deps"].as_array().unwrap() {
                if dependency["dep_kinds"].as_array().unwrap().iter().any(ordinary) {
                    open.push(dependency["pkg"].as_str().unwrap());
                }
            }
        }
        let most = seen.iter().filter_map(|id| declared[id].clone().map(|v| (v, *id))).max().unwrap();
        assert!(
            declared[member].as_ref() >= Some(&most.0),
            "{member} needs at least what {} declares",
            most.1
        );
    }
}
