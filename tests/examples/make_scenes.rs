//! Writes the scenes of `examples/scenes` anew.

use sinew_tests::{repository, scenes};

fn main() -> std::io::Result<()> {
    let folder = repository::root().join("examples/scenes");
    std::fs::create_dir_all(&folder)?;
    let scenes = scenes::all().into_iter().map(|s| (s, "gltf"));
    for ((name, text), ending) in scenes.chain(scenes::setups().into_iter().map(|s| (s, "sinew.json"))) {
        let file = folder.join(name).with_extension(ending);
        std::fs::write(&file, text)?;
        println!("wrote {}", file.display());
    }
    Ok(())
}
