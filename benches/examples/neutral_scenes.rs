//! Writes the neutral scenes as other engines read them: `neutral_scenes DIRECTORY`.

use sinew_benches::figure::{COPIES, figures};
use std::path::Path;
use std::process::ExitCode;

fn main() -> ExitCode {
    let Some(directory) = std::env::args().nth(1) else {
        eprintln!("usage: neutral_scenes DIRECTORY");
        return ExitCode::from(2);
    };
    let write = || -> std::io::Result<()> {
        std::fs::create_dir_all(&directory)?;
        let neutral = sinew_benches::neutral::all().into_iter().map(|s| s.json());
        let piles = sinew_benches::pile::all().into_iter().map(|s| s.json());
        let figures = COPIES.into_iter().map(|copies| figures(copies).json());
        let scenes = neutral.chain(piles).chain(figures);
        for scene in scenes {
            let name = scene["name"].as_str().unwrap_or_default();
            std::fs::write(Path::new(&directory).join(format!("{name}.json")), scene.to_string())?;
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
