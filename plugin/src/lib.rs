//! Where Sinew meets the world: file formats, the set-up file, jobs, and the `sinew` command.
#![forbid(unsafe_code)]

pub mod gltf;
