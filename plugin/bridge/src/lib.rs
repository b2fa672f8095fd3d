//! What Sinew and a studio's own OpenUSD say to each other.
//!
//! OpenUSD is C++ whose symbols carry its version, so what calls it must be built against the very library that the
//! studio uses. That is the library of `plugin/openusd`, loaded only when it is asked for. It has one door: a
//! [`Request`] goes in as JSON, an [`Answer`] comes out, and layers pass as files in a folder that the asker made.
//! Between the two, the library asks whether a file may be opened.

mod load;
mod request;

pub use load::{Bridge, LoadError, VARIABLE};
pub use request::{Answer, INTERFACE, Meeting, Request, Source, Tell, Told, Way};
