//! What is asked and answered.

use serde::{Deserialize, Serialize};
use std::ffi::c_void;
use std::path::PathBuf;

/// Number of this interface. A library of another one is not used.
pub const INTERFACE: u32 = 1;

/// What is asked.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub enum Request {
    /// Which OpenUSD it is.
    About,
    /// Compose a stage and write it, flattened, as a layer to `into`; splines become time samples.
    Read {
        /// The stage.
        source: Source,
        /// A file ending in `.usdc`.
        into: PathBuf,
    },
    /// Put edits on a stage.
    Write {
        /// The stage.
        source: Source,
        /// A layer with what changes.
        edits: PathBuf,
        /// What becomes of them.
        way: Way,
        /// The file to write, its ending saying the format; unused for [`Way::Live`].
        into: PathBuf,
    },
}

/// A stage.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
pub struct Source {
    /// Its root layer's file, or what the studio's resolver makes one of.
    pub file: String,
    /// The number that a stage of this process has in the stage cache of UsdUtils; it counts instead of `file`.
    pub stage: Option<i64>,
    /// Folders that assets are looked for in, besides beside the asking layer.
    pub search: Vec<PathBuf>,
    /// Prims that a stage may have however small its files, and one more for so many bytes.
    pub most_prims: u64,
    /// See `most_prims`.
    pub bytes_per_prim: u64,
}

/// What becomes of edits.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum Way {
    /// They are the layer to write.
    Layer,
    /// The stage with them on top, flattened.
    Flat,
    /// The stage's root layer with them in it.
    InPlace,
    /// They are a layer that has the stage as a sublayer: a package of both and all that they refer to.
    Package,
    /// A layer of the living stage, below its session layer.
    Live,
}

/// What comes back.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
pub struct Answer {
    /// Why nothing was done.
    pub error: Option<String>,
    /// What OpenUSD warned of.
    pub warnings: Vec<String>,
    /// Bytes of all layers that were composed.
    pub bytes: u64,
    /// Identifier of the root layer, or of the layer that was put on a living stage.
    pub layer: String,
    /// OpenUSD's version.
    pub version: String,
}

/// A file that is about to be opened.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Meeting {
    /// As the asking layer calls it.
    pub asset: String,
    /// Where it is.
    pub path: PathBuf,
}

/// What [`Tell`] is told.
#[repr(u32)]
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Told {
    /// An [`Answer`], once, at the end.
    Answer = 0,
    /// A [`Meeting`]: 0 permits it.
    Meeting = 1,
}

/// How the library speaks while it is asked: context, a [`Told`], JSON and its bytes. On the thread that asked.
pub type Tell = unsafe extern "C" fn(*mut c_void, u32, *const u8, usize) -> u32;
