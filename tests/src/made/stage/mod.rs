//! USD stages by code: things that move, skeletons, and physics, as text; and the same in the other two containers.

mod doll;
mod figure;
mod linkage;
mod motor;
mod random;
mod set;

pub use doll::doll;
pub use figure::figure;
pub use linkage::linkage;
pub use motor::motor;
pub use random::{Arcs, random};
pub use set::set;

use super::character::Character;
use sinew_plugin::document::Document;
use sinew_plugin::gltf::ReadOptions;
use sinew_plugin::usd::Destination;
use std::path::{Path, PathBuf};

/// Writes all of them into `folder`.
pub fn files(folder: &Path) -> Vec<PathBuf> {
    let (bird, snake) = (figure(&Character::bird(), 0), figure(&Character::snake(), 0));
    let texts = [
        ("set", set()),
        ("linkage", linkage()),
        ("motor", motor()),
        ("doll", doll()),
        ("bird", bird),
        ("snake", snake),
    ];
    let mut files: Vec<PathBuf> = texts.iter().map(|(name, text)| write(folder, name, text)).collect();
    for (name, ending) in [("bird", "usdc"), ("snake", "usdz"), ("set", "usdc"), ("linkage", "usdz")] {
        files.push(packed(folder, name, ending));
    }
    files
}

/// Writes a stage as `NAME.usda`.
pub fn write(folder: &Path, name: &str, text: &str) -> PathBuf {
    let path = folder.join(format!("{name}.usda"));
    std::fs::write(&path, text).expect("the scratch folder can be written");
    path
}

/// The same stage, in another container.
pub fn packed(folder: &Path, name: &str, ending: &str) -> PathBuf {
    let document = Document::open(&folder.join(format!("{name}.usda")), &ReadOptions::default())
        .unwrap_or_else(|e| panic!("{e}"));
    let path = folder.join(format!("{name}_packed.{ending}"));
    document.save(&path, Destination::Flat, None).unwrap_or_else(|e| panic!("{e}"));
    path
}

/// The head of a stage.
fn header(root: &str, metres: f64, up: &str, frames: Option<usize>) -> String {
    let range = frames.map(|f| format!("    startTimeCode = 0\n    endTimeCode = {f}\n")).unwrap_or_default();
    format!(
        r#"#usda 1.0
(
    defaultPrim = "{root}"
    metersPerUnit = {metres}
    kilogramsPerUnit = 1
    upAxis = "{up}"
{range}    timeCodesPerSecond = 24
)

"#
    )
}
