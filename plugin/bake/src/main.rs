//! `cargo bake SCENE...`: builds the `sinew` command as it is shipped, with Cargo's own lines, and runs `sinew bake`. Before
//! the first build it says what is coming.

use std::io;
use std::path::Path;
use std::process::{Command, ExitCode};

fn main() -> ExitCode {
    let cargo = std::env::var_os("CARGO").unwrap_or_else(|| "cargo".into());
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
    let target = std::env::var_os("CARGO_TARGET_DIR").map_or_else(|| root.join("target"), Into::into);
    if !target.join("release").join(format!("sinew{}", std::env::consts::EXE_SUFFIX)).exists() {
        eprintln!("Sinew is built once, which takes a few minutes; from then on a bake begins at once.");
    }
    let mut command = Command::new(cargo);
    // `--ignore-rust-version`: a dependency declares a newer compiler than it needs.
    command.args([
        "run",
        "--release",
        "--ignore-rust-version",
        "--package",
        "sinew-plugin",
        "--bin",
        "sinew",
    ]);
    command.arg("--manifest-path").arg(root.join("Cargo.toml"));
    match run(command.args(["--", "bake"]).args(std::env::args_os().skip(1))) {
        Ok(code) => code,
        Err(e) => {
            eprintln!("cargo cannot be run: {e}");
            ExitCode::FAILURE
        }
    }
}

/// In place of this program, so that signals go where they should.
#[cfg(unix)]
fn run(command: &mut Command) -> io::Result<ExitCode> {
    Err(std::os::unix::process::CommandExt::exec(command))
}

#[cfg(not(unix))]
fn run(command: &mut Command) -> io::Result<ExitCode> {
    let code = command.status()?.code();
    Ok(ExitCode::from(code.and_then(|c| u8::try_from(c).ok()).unwrap_or(1)))
}
