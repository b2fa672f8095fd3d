//! Files by code. Small glTF files with every interpolation on every property, keys of every number type, nodes that share a
//! name and a mesh, clips that begin late or have one key, things to keep, and physics; [`character`]s; USD [`stage`]s.

pub mod character;
mod kept;
mod maker;
mod rope;
pub mod stage;

pub use kept::{UNKNOWN, kept};
pub use rope::rope;

use crate::scatter;
use maker::{Keys, Maker, Number};
use std::path::{Path, PathBuf};

/// Writes the small glTF files into `folder`, but for [`cubic_integers`].
pub fn files(folder: &Path) -> Vec<PathBuf> {
    let write_one = |(name, fill): (&str, fn(&mut Maker))| write(folder, name, fill);
    let plain = [("cubic", cubic as fn(&mut Maker)), ("integers", integers), ("edges", edges)].map(write_one);
    [plain.to_vec(), vec![kept(folder), rope(folder)]].concat()
}

/// Cubic rotations between keys that rounding to integers has left shorter or longer than a unit quaternion.
pub fn cubic_integers(folder: &Path) -> PathBuf {
    let times = [0.0, 0.5, 1.25, 2.0, 2.5];
    write(folder, "cubic_integers", |maker| {
        maker.channel(2, "rotation", Keys::cubic(&times, cubic_rotations(9, 5)).stored_as(Number::I16));
        maker.channel(3, "rotation", Keys::cubic(&times, cubic_rotations(15, 5)).stored_as(Number::I8));
    })
}

/// The file with cubic curves in one piece, as .glb.
pub fn packed(folder: &Path) -> PathBuf {
    let mut maker = Maker::default();
    cubic(&mut maker);
    let (json, bytes) = maker.finish_apart();
    let path = folder.join("cubic.glb");
    let file = character::container(json.to_string().into_bytes(), bytes);
    std::fs::write(&path, file).expect("the scratch folder can be written");
    path
}

fn write(folder: &Path, name: &str, fill: impl FnOnce(&mut Maker)) -> PathBuf {
    let mut maker = Maker::default();
    fill(&mut maker);
    let path = folder.join(name).with_extension("gltf");
    std::fs::write(&path, maker.finish().to_string()).expect("the scratch folder can be written");
    path
}

/// Cubic curves on all four properties, beside straight and stepped weights.
fn cubic(maker: &mut Maker) {
    let times = [0.0, 0.3, 0.7, 2.0];
    let triple = 3 * times.len();
    maker.channel(0, "translation", Keys::cubic(&times, scatter::signed(1, 3 * triple)));
    maker.channel(0, "rotation", Keys::cubic(&times, cubic_rotations(2, times.len())));
    maker.channel(0, "scale", Keys::cubic(&times, scatter::signed(3, 3 * triple)));
    maker.channel(0, "weights", Keys::cubic(&times, scatter::signed(4, 2 * triple)));
    maker.channel(1, "weights", Keys::step(&times, scatter::signed(5, 2 * times.len())));
    maker.channel(1, "rotation", Keys::step(&times, scatter::rotations(6, times.len())));
}

/// Normalised integers: rotations lose their unit length to them, and weights are unsigned.
fn integers(maker: &mut Maker) {
    let times = [0.0, 0.5, 1.25, 2.0, 2.5];
    let n = times.len();
    let weights = |seed| scatter::signed(seed, 2 * n).into_iter().map(f64::abs).collect::<Vec<_>>();
    maker.channel(0, "rotation", Keys::linear(&times, scatter::rotations(7, n)).stored_as(Number::I8));
    maker.channel(1, "rotation", Keys::linear(&times, scatter::rotations(8, n)).stored_as(Number::I16));
    maker.channel(0, "weights", Keys::linear(&times, weights(10)).stored_as(Number::U8));
    maker.channel(1, "weights", Keys::step(&times, weights(11)).stored_as(Number::U16));
}

/// One key; a late beginning; keys of very unequal spacing; turns that are tiny, or named by opposite quaternions.
fn edges(maker: &mut Maker) {
    maker.channel(0, "translation", Keys::linear(&[0.75], vec![1.0, -2.0, 1e-7]));
    maker.channel(0, "rotation", Keys::step(&[0.0], scatter::rotations(12, 1)));
    maker.channel(1, "translation", Keys::linear(&[5.0, 6.0], scatter::signed(13, 6)));
    maker.channel(2, "translation", Keys::linear(&[0.0, 1e-4, 1000.0], scatter::signed(14, 9)));
    maker.channel(2, "scale", Keys::linear(&[0.0, 1.0], vec![0.0, -1.0, 1e6, 0.0, 1.0, -1e6]));

    let small = 0.01f64;
    let (turn, tiny) = ([0.0, 0.6, 0.0, 0.8], [small.sin(), 0.0, 0.0, small.cos()]);
    let turns = [turn, turn.map(|c| -c), tiny, tiny.map(|c| -c), [0.0, 0.0, 0.0, 1.0]].concat();
    maker.channel(3, "rotation", Keys::linear(&[0.0, 1.0, 2.0, 3.0, 4.0], turns));
}

/// In-tangent, key and out-tangent of each key; tangents small enough for an integer to hold.
fn cubic_rotations(seed: u64, count: usize) -> Vec<f64> {
    let (tangents, keys) = (scatter::signed(seed, 8 * count), scatter::rotations(seed + 100, count));
    let triples = tangents.chunks_exact(8).zip(keys.chunks_exact(4));
    triples.flat_map(|(t, key)| [&t[..4], key, &t[4..]].concat()).collect()
}
