//! Writes the scenes of `examples/scenes` anew.

use sinew_tests::{repository, scenes};

fn main() -> std::io::Result<()> {
    let folder = repository::root().join("examples/scenes");
    std::fs::create_dir_all(&folder)?;
    for (name, text) in scenes::all() {
        let file = folder.join(name).with_extension("gltf");
        std::fs::write(&file, text)?;
        println!("wrote {}", file.display());
    }
    Ok(())
}
