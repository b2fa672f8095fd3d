//! Writes the pictures of the example scenes, those in motion and that of coatings anew, with the `sinew` command of this workspace.

use sinew_tests::program::Program;
use sinew_tests::{built, repository, scenes, scratch, soft};

fn main() -> Result<(), String> {
    let (root, scratch) = (repository::root(), scratch::folder("pictures"));
    for (name, _) in scenes::all() {
        let picture = root.join("docs/pictures").join(name).with_extension("svg");
        let moving = picture.with_file_name(format!("{name}_playblast.svg"));
        let playblast =
            scenes::PLAYBLASTS.contains(&name).then_some(["--playblast".as_ref(), moving.as_os_str()]);
        Program::new(built::command()?)
            .args(scenes::picture_command(name))
            .args([&format!("examples/scenes/{name}.gltf"), "-o"])
            .arg(scratch.path().join(name).with_extension("gltf"))
            .arg("--plot")
            .arg(&picture)
            .args(playblast.into_iter().flatten())
            .folder(root)
            .run()?
            .success()?;
        println!("drew {}", picture.display());
    }
    let picture = root.join("docs/pictures/coating.svg");
    std::fs::write(&picture, soft::picture()).map_err(|e| format!("{}: {e}", picture.display()))?;
    Ok(())
}
