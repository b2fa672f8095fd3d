//! What the whole-system suites share.
//!
//! [`sample`] names the files to try: those that [`made`] writes, partly from numbers that [`scatter`] gives, and real ones,
//! [`scenes`] makes the examples, [`touching`] measures how deep their things are in each other, [`soft`] draws
//! coatings, and [`repository`] says where the sources are; [`built`] finds what was compiled, [`host`] compiles programs
//! in C and C++ against it, and [`program`] runs them; [`scratch`] is where results go; [`document`] opens a glTF file
//! without the product's own reader; [`oracle`] asks outside judges; [`backend`] says who reads USD; [`skip`] decides what a machine may lack.
#![forbid(unsafe_code)]

pub mod backend;
pub mod built;
pub mod document;
pub mod host;
pub mod made;
pub mod oracle;
pub mod program;
pub mod repository;
pub mod sample;
pub mod scatter;
pub mod scenes;
pub mod scratch;
pub mod skip;
pub mod soft;
pub mod touching;
