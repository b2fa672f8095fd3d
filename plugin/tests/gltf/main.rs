//! glTF and GLB from outside: real files both ways, hostile files, saving in all its places.
// A test may stop at what it did not expect, also in the functions beside it.
#![allow(clippy::unwrap_used)]

mod builder;
mod compressed;
mod escapes;
mod hostile;
mod judge;
mod morphing;
mod mutated;
mod reading;
mod samples;
mod saving;
mod skins;
mod writing;
