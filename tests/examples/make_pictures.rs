//! Writes the pictures of the example scenes and of coatings anew, with the `sinew` command of this workspace.

use sinew_tests::program::Program;
use sinew_tests::{built, repository, scenes, scratch, soft};

fn main() -> Result<(), String> {
    let (root, scratch) = (repository::root(), scratch::folder("pictures"));
    for (name, _) in scenes::all() {
        let picture = root.join("docs/pictures").join(name).with_extension("svg");
        Program::new(built::command()?)
            .args(scenes::picture_command(name))
            .args([&format!("examples/scenes/{name}.gltf"), "-o"])
            .arg(scratch.path().join(name).with_extension("gltf"))
            .arg("--plot")
            .arg(&picture)
            .folder(root)
            .run()?
            .success()?;
        println!("drew {}", picture.display());
    }
    let picture = root.join("docs/pictures/coating.svg");
    std::fs::write(&picture, soft::picture()).map_err(|e| format!("{}: {e}", picture.display()))?;
    Ok(())
}
