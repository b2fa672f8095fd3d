//! Writes the neutral scenes as other engines read them: `neutral_scenes DIRECTORY`.

use std::path::Path;
use std::process::ExitCode;

fn main() -> ExitCode {
    let Some(directory) = std::env::args().nth(1) else {
        eprintln!("usage: neutral_scenes DIRECTORY");
        return ExitCode::from(2);
    };
    let write = || -> std::io::Result<()> {
        std::fs::create_dir_all(&directory)?;
        for scene in sinew_benches::neutral::all() {
            let file = Path::new(&directory).join(format!("{}.json", scene.name));
            std::fs::write(file, scene.json().to_string())?;
        }
        Ok(())
    };
    match write() {
        Ok(()) => ExitCode::SUCCESS,
        Err(e) => {
            eprintln!("{directory}: {e}");
            ExitCode::FAILURE
        }
    }
}
