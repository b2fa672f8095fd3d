//! Hosts in C and C++, compiled against the C library as a stranger would.

use crate::program::Program;
use crate::repository;
use std::path::{Path, PathBuf};

/// Compiles `source` (C11, or C++17 when it ends in `.cpp`) into `folder`, without a single warning, and links it
/// to `library`, which it finds again when it runs.
pub fn compile(source: &Path, library: &Path, folder: &Path) -> Result<PathBuf, String> {
    let root = repository::root();
    let is_cpp = source.extension().is_some_and(|e| e == "cpp");
    let (compiler, standard) = if is_cpp { ("c++", "-std=c++17") } else { ("cc", "-std=c11") };
    let text = |path: &Path| path.display().to_string();
    let stem = |path: &Path| path.file_stem().map_or_else(String::new, |s| s.to_string_lossy().into_owned());
    let (home, name) = (text(library.parent().unwrap_or(root)), stem(library));
    let program = folder.join(format!("{}-{}", stem(source), if is_cpp { "cpp" } else { "c" }));
    Program::new(compiler)
        .args([standard, "-Wall", "-Wextra", "-Werror", "-pedantic", "-g", "-O1"])
        .args(["ffi/include", "examples/cpp", "tests/hosts"].map(|f| format!("-I{}", text(&root.join(f)))))
        .args([text(source), "-o".into(), text(&program)])
        .args([format!("-L{home}"), format!("-l{}", name.trim_start_matches("lib"))])
        .args([format!("-Wl,-rpath,{home}"), "-lm".into(), "-pthread".into()])
        .run()?
        .success()?;
    Ok(program)
}

/// Runs `program` under valgrind: no bad access, nothing lost but what `tests/hosts/valgrind.supp` explains.
pub fn memcheck(program: &Path) -> Program {
    Program::new("valgrind")
        .args([
            "--quiet",
            "--leak-check=full",
            "--errors-for-leak-kinds=definite,possible",
            "--error-exitcode=9",
            // Inlined functions count, and what is let pass is found by who called.
            "--num-callers=40",
        ])
        .arg(format!("--suppressions={}", repository::root().join("tests/hosts/valgrind.supp").display()))
        .arg(program)
}
