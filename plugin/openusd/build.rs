//! Finds an OpenUSD SDK and builds the bridge against it.
//!
//! OPENUSD_ROOT, PXR_USD_LOCATION, USD_ROOT, OPENUSD_PATH   the SDK: `include/pxr/pxr.h`, `lib/libusd_ms.so` or `libusd_usd.so`
//! SINEW_OPENUSD_TBB        where TBB's `include` and `lib` are, if not in the SDK and not the system's
//! SINEW_OPENUSD_PYTHON     the Python that the SDK was built with, if it was [default: python3]
//! CXXFLAGS                 flags that the SDK was built with: `-D_GLIBCXX_USE_CXX11_ABI=0`, `-std=c++20`

use std::env;
use std::path::{Path, PathBuf};
use std::process::{Command, exit};

const ROOTS: [&str; 4] = ["OPENUSD_ROOT", "PXR_USD_LOCATION", "USD_ROOT", "OPENUSD_PATH"];
const OTHERS: [&str; 3] = ["SINEW_OPENUSD_TBB", "SINEW_OPENUSD_PYTHON", "CXXFLAGS"];

/// Parts of OpenUSD that are used, where it is not one library.
const PARTS: [&str; 13] =
    ["usdUtils", "usdGeom", "usd", "pcp", "sdf", "ar", "kind", "ts", "vt", "gf", "plug", "work", "tf"];

fn main() {
    for name in ROOTS.iter().chain(&OTHERS) {
        println!("cargo::rerun-if-env-changed={name}");
    }
    println!("cargo::rerun-if-changed=src");
    let root = sdk();
    let mut build = cxx_build::bridge("src/bridge.rs");
    build.files(["src/stage.cpp", "src/census.cpp", "src/spline.cpp", "src/flatten.cpp", "src/write.cpp"]);
    if !env::var("CXXFLAGS").unwrap_or_default().contains("-std=") {
        build.std("c++17");
    }
    build.include(root.join("include")).include("src");
    // What other people's headers do is theirs.
    build.flag_if_supported("-w").cargo_warnings(false);
    let header = root.join("include/pxr/pxr.h");
    let settings = std::fs::read_to_string(&header).unwrap_or_default();
    let is_defined = |name: &str| {
        let mut lines = settings.lines().map(str::trim);
        let mut on = true;
        lines.any(|line| {
            if let Some(condition) = line.strip_prefix("#if ") {
                on = condition.trim() != "0";
            }
            on && line.strip_prefix("#define ").is_some_and(|rest| rest.trim() == name)
        })
    };
    link(&root);
    if let Some(tbb) = env::var_os("SINEW_OPENUSD_TBB").map(PathBuf::from) {
        build.include(tbb.join("include"));
        println!("cargo::rustc-link-search={}", tbb.join("lib").display());
        rpath(&tbb.join("lib"));
    }
    keep("tbb");
    if is_defined("PXR_PYTHON_SUPPORT_ENABLED") {
        python(&mut build);
    }
    build.compile("sinew_openusd_cxx");
}

fn fail(what: &str) -> ! {
    eprintln!("{what}");
    exit(1)
}

fn sdk() -> PathBuf {
    let named = ROOTS.iter().filter_map(|name| Some((name, PathBuf::from(env::var_os(name)?))));
    let mut without = Vec::new();
    for (name, root) in named {
        if root.join("include/pxr/pxr.h").is_file() {
            return root;
        }
        without.push(format!("{name}={}", root.display()));
    }
    let looked = if without.is_empty() { ROOTS.join(", ") + " are not set" } else { without.join(", ") };
    fail(&format!(
        "no OpenUSD SDK ({looked}): set OPENUSD_ROOT to a folder that has include/pxr/pxr.h and lib/libusd_ms or lib/libusd_usd"
    ))
}

/// Libraries are found where they were when this was built.
fn rpath(folder: &Path) {
    if cfg!(unix) {
        println!("cargo::rustc-link-arg=-Wl,-rpath,{}", folder.display());
    }
}

/// Links a library although nothing here calls it: OpenUSD does.
fn keep(name: &str) {
    if cfg!(target_os = "linux") {
        println!("cargo::rustc-link-arg=-Wl,--push-state,--no-as-needed,-l{name},--pop-state");
    } else {
        println!("cargo::rustc-link-lib={name}");
    }
}

fn link(root: &Path) {
    // The old kind of path also counts for what the libraries themselves need.
    if cfg!(target_os = "linux") {
        println!("cargo::rustc-link-arg=-Wl,--disable-new-dtags");
    }
    let endings = ["so", "dylib", "lib"];
    let folders = ["lib", "lib64"].map(|f| root.join(f));
    let find = |name: &str| {
        let files = folders.iter().flat_map(|f| {
            endings
                .iter()
                .flat_map(move |e| [f.join(format!("lib{name}.{e}")), f.join(format!("{name}.{e}"))])
        });
        files.into_iter().find(|f| f.is_file())
    };
    let found = |file: &Path| {
        for folder in
            [Some(file.to_owned()), file.canonicalize().ok()].iter().flatten().filter_map(|f| f.parent())
        {
            println!("cargo::rustc-link-search={}", folder.display());
            rpath(folder);
        }
    };
    for prefix in ["usd_", "pxr_", ""] {
        if let Some(file) = find(&format!("{prefix}ms")) {
            found(&file);
            println!("cargo::rustc-link-lib={prefix}ms");
            return;
        }
        if let Some(file) = find(&format!("{prefix}usdUtils")) {
            found(&file);
            for part in PARTS.iter().filter(|p| find(&format!("{prefix}{p}")).is_some()) {
                println!("cargo::rustc-link-lib={prefix}{part}");
            }
            return;
        }
    }
    fail(&format!(
        "{} has OpenUSD's headers and not its libraries (lib/libusd_ms, lib/libusd_usd)",
        root.display()
    ))
}

fn python(build: &mut cc::Build) {
    let program = env::var("SINEW_OPENUSD_PYTHON").unwrap_or_else(|_| "python3".into());
    let script = "import sysconfig as s; print(s.get_path('include')); print(s.get_config_var('LIBDIR') or ''); \
                  print((s.get_config_var('LDLIBRARY') or '') if s.get_config_var('Py_ENABLE_SHARED') else '')";
    let output = Command::new(&program).args(["-c", script]).output();
    let text = match output {
        Ok(done) if done.status.success() => String::from_utf8_lossy(&done.stdout).into_owned(),
        _ => fail(&format!(
            "the SDK was built with Python, and {program} cannot be asked; set SINEW_OPENUSD_PYTHON"
        )),
    };
    let mut lines = text.lines();
    let (include, folder, library) = (
        lines.next().unwrap_or_default(),
        lines.next().unwrap_or_default(),
        lines.next().unwrap_or_default(),
    );
    if !Path::new(include).join("Python.h").is_file() {
        fail(&format!(
            "the SDK was built with Python, and {include} has no Python.h; install it, or set SINEW_OPENUSD_PYTHON"
        ));
    }
    build.include(include);
    let name = library.strip_prefix("lib").unwrap_or(library);
    let name = name.split(".so").next().unwrap_or(name).trim_end_matches(".dylib");
    if !name.is_empty() {
        println!("cargo::rustc-link-search={folder}");
        keep(name);
        rpath(Path::new(folder));
    }
}
