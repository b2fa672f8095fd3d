//! Prints `include/sinew.h`, made from this crate's sources.

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let folder = std::path::Path::new(env!("CARGO_MANIFEST_DIR"));
    let config = cbindgen::Config::from_file(folder.join("cbindgen.toml"))?;
    let mut builder = cbindgen::Builder::new().with_config(config);
    // Each file by itself: asking cargo for the crate's structure would need its lock and its network.
    // In the order of the header: what everything leans on first.
    for name in [
        "result",
        "version",
        "callback",
        "axes",
        "curve",
        "scene",
        "build",
        "skin",
        "look",
        "setup",
        "job",
        "limits",
        "bake",
        "session",
        "drag",
        "contact",
        "outline",
        "deformation",
    ] {
        builder = builder.with_src(folder.join("src").join(name).with_extension("rs"));
    }
    builder.generate()?.write(std::io::stdout());
    Ok(())
}
