//! `sinew`: bake, assemble, inspect and set up scenes from the command line.
#![forbid(unsafe_code)]

mod arguments;
mod progress;
mod refine;
mod say;
mod stop;

use arguments::{Arguments, Command};
use clap::Parser;
use sinew_plugin::document::Document;
use sinew_plugin::job::{self, JobError, SetupSource, Status};
use std::path::Path;
use std::process::ExitCode;

fn main() -> ExitCode {
    let arguments = Arguments::parse();
    let json = arguments.json();
    let flags = arguments.flags();
    stop::listen(arguments.limits(), json);
    let done = check_scene(&arguments).and_then(|()| run(arguments)).map_err(|e| blame_flags(e, &flags));
    stop::claim();
    match done {
        Ok(status) => ExitCode::from(u8::from(status == Status::FellShort)),
        Err(error) => {
            if json {
                let code = error.exit_code();
                let said =
                    serde_json::json!({ "status": "error", "exit_code": code, "error": error.to_string() });
                // The code says it, too.
                let _ = say::print_data(&say::json(&said));
            }
            say::tell(&format!("sinew: {error}"));
            ExitCode::from(error.exit_code())
        }
    }
}

/// Refuses a folder where a scene is wanted, and says which scenes are in it.
fn check_scene(arguments: &Arguments) -> Result<(), JobError> {
    let Some(folder) = arguments.scene().filter(|s| s.is_dir()) else { return Ok(()) };
    let mut scenes: Vec<String> = std::fs::read_dir(folder)
        .into_iter()
        .flatten()
        .flatten()
        .map(|entry| entry.path())
        .filter(|file| file.is_file() && job::is_scene(file))
        .map(|file| file.display().to_string())
        .collect();
    scenes.sort();
    let (folder, count) = (folder.display(), scenes.len());
    Err(JobError::Use(match scenes.first() {
        None => format!("{folder} is a folder without a scene in it; give a .gltf, .glb or USD file"),
        Some(first) if count == 1 => format!("{folder} is a folder; give the scene in it: {first}"),
        Some(first) => format!(
            "{folder} is a folder with {count} scenes in it; scenes are baked one at a time, so give one of them, such as {first}"
        ),
    }))
}

/// A value that a flag gave and the set-up's own checks refused is bad use, not bad input: the flag is named instead of the
/// place in the set-up.
fn blame_flags(error: JobError, flags: &[(&'static str, &'static str)]) -> JobError {
    let JobError::Setup { error: inner, .. } = &error else { return error };
    let at = |place: &str| inner.place == place || inner.place.starts_with(&format!("{place}["));
    match flags.iter().find(|(place, _)| at(place)) {
        Some((_, flag)) => JobError::Use(format!("{flag}: {}", inner.problem)),
        None => error,
    }
}

fn run(arguments: Arguments) -> Result<Status, JobError> {
    match arguments.command {
        Command::Bake(a) => {
            let request = a.request();
            let mut bar = progress::Bar::new(a.input.json);
            let report = job::bake_file(&request, &mut |p| bar.show(p));
            bar.clear();
            let report = report?;
            say::report(&report, a.input.json, say::bake)?;
            Ok(report.status)
        }
        Command::Assemble(a) => {
            let request = a.request();
            let mut bar = progress::Bar::new(a.input.json);
            let report = job::assemble_file(&request, &mut |p| bar.show(p));
            bar.clear();
            let report = report?;
            say::report(&report, a.input.json, say::assembly)?;
            Ok(report.status)
        }
        Command::Refine(a) => {
            let report = job::refine_file(&a.request())?;
            say::report(&report, a.input.json, refine::say)?;
            Ok(report.status)
        }
        Command::Inspect(a) => {
            let (input, wish) = (&a.input, a.figure.wish());
            let found =
                job::inspect(&input.scene, &input.source(), input.clip.as_deref(), &wish, &input.read())?;
            say::report(&found, input.json, say::inspection)?;
            Ok(Status::Done)
        }
        Command::Setup(a) => {
            let Some(scene) = &a.scene else {
                say::print_data(&sinew_core::setup::schema())?;
                return Ok(Status::Done);
            };
            if let Some(output) = &a.into {
                let report = job::physics_file(&a.request(scene, output))?;
                say::report(&report, a.json, say::physics)?;
                return Ok(report.status);
            }
            set_up(scene, &a)?;
            Ok(Status::Done)
        }
        Command::Version { json } => {
            let version = env!("CARGO_PKG_VERSION");
            let setup = sinew_core::setup::VERSION;
            let said = serde_json::json!({ "version": version, "setup_version": setup });
            say::report(&said, json, |_| format!("sinew {version} (set-up format {setup})\n"))?;
            Ok(Status::Done)
        }
    }
}

/// Writes the set-up that would be used, unless one is there already.
fn set_up(scene: &Path, a: &arguments::Setup) -> Result<(), JobError> {
    let document = Document::open(scene, &a.read())?;
    let loaded =
        job::load_setup_with(scene, &document, &SetupSource::Automatic, a.clip.as_deref(), &a.figure.wish())?;
    loaded.warnings.iter().for_each(|w| say::tell(&format!("warning: {w}")));
    let setup = loaded.setup;
    let text = sinew_core::setup::to_text_with_sliders(&setup);
    if a.json {
        return say::print_data(&text);
    }
    let file = a.output.clone().unwrap_or_else(|| job::setup_beside(scene));
    if file.extension().is_none_or(|e| e != "json") {
        return Err(JobError::Use(format!(
            "a set-up is a .json file; give it another name than {}",
            file.display()
        )));
    }
    if file.exists() && !a.force {
        return Err(JobError::Use(format!(
            "{} is already there; --force overwrites it, -o FILE writes elsewhere, --json prints",
            file.display()
        )));
    }
    sinew_plugin::files::write_whole(&file, text.as_bytes())
        .map_err(|error| JobError::Io { file: file.clone(), error })?;
    // Beside the scene it is found without being named.
    let named =
        if file == job::setup_beside(scene) { String::new() } else { format!(" --setup {}", file.display()) };
    say::print(&format!(
        "wrote {} ({}); edit it, then: sinew bake {}{named}\n",
        file.display(),
        say::count(setup.bodies.len(), "body", "bodies"),
        scene.display()
    ))
}
