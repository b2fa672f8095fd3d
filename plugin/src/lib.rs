//! Where Sinew meets the world: file formats ([`gltf`], [`usd`]; either is a [`document`]), whole jobs with their set-up files ([`job`]), pictures of
//! what they did ([`plot`]), and the `sinew` command.
#![forbid(unsafe_code)]

pub mod document;
mod error;
pub mod files;
pub mod gltf;
pub mod job;
pub mod plot;
pub mod usd;
