//! The repository reads well anywhere: short files, no trace of a machine, no dead links.
#![forbid(unsafe_code)]

use sinew_tests::repository;
use std::path::Path;

/// Longer files hold more than one idea.
const LINES_MAX: usize = 700;

/// What is read and written by people, as against locks, recordings and generated headers.
const SOURCES: [&str; 11] = ["rs", "py", "mjs", "js", "c", "cc", "cpp", "h", "hpp", "md", "toml"];

/// Written by a program and held to that program's form, not to ours.
const GENERATED: [&str; 2] = ["Cargo.lock", "ffi/include/sinew.h"];

#[test]
fn no_source_file_is_too_long() {
    report("files over the limit", |file, text| {
        let lines = text.lines().count();
        let long = lines > LINES_MAX && is_source(file) && !is_generated(file);
        if long { vec![format!("{lines} lines, {LINES_MAX} at most")] } else { Vec::new() }
    });
}

#[test]
fn no_machine_paths() {
    // In two halves, so that this file does not accuse itself.
    let homes = [("/wo", "rk/"), ("/ro", "ot/"), ("/ho", "me/"), ("/Use", "rs/"), ("C:\\", "Users")];
    let homes = homes.map(|(a, b)| format!("{a}{b}"));
    report("absolute paths of somebody's machine", |_, text| {
        lines_with(text, |line| homes.iter().any(|home| starts_a_path(line, home)))
    });
}

#[test]
fn no_registry_hosts() {
    let hosts = [
        ("registry.npm", "js.org"),
        ("static.crates", ".io"),
        ("index.crates", ".io"),
        ("files.python", "hosted.org"),
        ("pypi", ".org/simple"),
        ("\"resol", "ved\":"),
    ];
    let hosts = hosts.map(|(a, b)| format!("{a}{b}"));
    report("package registries named by host; name the package instead", |_, text| {
        lines_with(text, |line| hosts.iter().any(|host| line.contains(host.as_str())))
    });
}

#[test]
fn links_lead_to_files() {
    report("dead links", |file, text| {
        if file.extension().is_none_or(|e| e != "md") {
            return Vec::new();
        }
        let folder = repository::root().join(file).with_file_name("");
        link_targets(text)
            .filter(|target| {
                !target.contains("://") && !target.starts_with("mailto:") && !target.starts_with('#')
            })
            .filter(|target| !folder.join(target.split('#').next().unwrap_or_default()).exists())
            .map(str::to_owned)
            .collect()
    });
}

#[test]
fn every_suite_is_declared() {
    let manifest = include_str!("../Cargo.toml");
    for file in repository::files().iter().filter(|f| f.parent() == Some(Path::new("tests/suites"))) {
        let name = file.file_name().expect("a file has a name").to_string_lossy();
        assert!(
            manifest.contains(&format!("path = \"suites/{name}\"")),
            "{name} is in no [[test]], so never run"
        );
    }
}

/// Fails with everything that `find` finds in any text file of the repository, but for libraries that others wrote.
fn report(what: &str, find: impl Fn(&Path, &str) -> Vec<String>) {
    let mut found = Vec::new();
    for file in repository::files().into_iter().filter(|f| !f.starts_with("vendor")) {
        let bytes = std::fs::read(repository::root().join(&file)).expect("a listed file can be read");
        // Pictures and other binaries have no lines.
        let Ok(text) = String::from_utf8(bytes) else { continue };
        found
            .extend(find(&file, &text).into_iter().map(|finding| format!("  {}: {finding}", file.display())));
    }
    assert!(found.is_empty(), "{what}:\n{}", found.join("\n"));
}

fn is_source(file: &Path) -> bool {
    file.extension().is_some_and(|e| SOURCES.iter().any(|s| e == *s))
}

fn is_generated(file: &Path) -> bool {
    GENERATED.iter().any(|g| file == Path::new(g))
}

fn lines_with(text: &str, is_bad: impl Fn(&str) -> bool) -> Vec<String> {
    text.lines()
        .enumerate()
        .filter(|(_, line)| is_bad(line))
        .map(|(n, l)| format!("{}: {}", n + 1, l.trim()))
        .collect()
}

/// Whether `line` has `home` where a path begins: a folder of that name further in, or on a server, is no machine's path.
fn starts_a_path(line: &str, home: &str) -> bool {
    let before_is_free = |at: usize| {
        !line[..at].chars().next_back().is_some_and(|c| c.is_alphanumeric() || "._-~/}$".contains(c))
    };
    line.match_indices(home).any(|(at, _)| before_is_free(at))
}

/// The targets of Markdown links and of `src="..."`: `[text](target)`, `[text](target "title")`.
fn link_targets(text: &str) -> impl Iterator<Item = &str> {
    let mut in_code = false;
    let prose = text.lines().filter(move |line| {
        in_code ^= line.trim_start().starts_with("```");
        !in_code
    });
    prose.flat_map(|line| {
        let links = line.split("](").skip(1).filter_map(|rest| rest.split([')', ' ']).next());
        let images = line.split("src=\"").skip(1).filter_map(|rest| rest.split('"').next());
        links.chain(images)
    })
}
