//! Outside judges: programs that others trust and that share no code with us. Their scripts and pinned
//! packages are in `tests/oracles`; `tests/run` installs them.

pub mod khronos;
pub mod openusd;
pub mod three;

use crate::program::Program;
use crate::{repository, skip};

/// Whether the judges can be asked; says why not when they cannot. A panic then under `tests/run`, which installs them.
pub fn are_installed() -> bool {
    if Program::new("node").arg("--version").run().is_err() {
        skip::because("there is no `node`; tests/run installs it");
        return false;
    }
    if !repository::root().join("tests/oracles/node_modules").is_dir() {
        skip::because("the packages of tests/oracles are not installed; tests/run does that");
        return false;
    }
    true
}

fn script(name: &str) -> Program {
    Program::new("node").arg(repository::root().join("tests/oracles").join(name))
}
