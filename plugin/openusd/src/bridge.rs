//! What Rust and C++ know of each other.

use crate::Asker;

#[cxx::bridge(namespace = "sinew")]
pub mod ffi {
    /// A stage, as `sinew_bridge::Source`.
    struct Source {
        file: String,
        is_live: bool,
        stage: i64,
        search: Vec<String>,
        most_prims: u64,
        bytes_per_prim: u64,
    }

    /// What becomes of edits, as `sinew_bridge::Way`.
    enum Way {
        Layer,
        Flat,
        InPlace,
        Package,
        Live,
    }

    /// What was done, as `sinew_bridge::Answer`.
    struct Reply {
        warnings: Vec<String>,
        bytes: u64,
        layer: String,
    }

    extern "Rust" {
        type Asker;
        fn permits(self: &Asker, asset: &str, path: &str) -> bool;
    }

    unsafe extern "C++" {
        include!("stage.h");

        fn version() -> String;
        fn read(source: &Source, asker: &Asker, into: &str) -> Result<Reply>;
        fn write(source: &Source, asker: &Asker, edits: &str, way: Way, into: &str) -> Result<Reply>;
    }
}
