//! libsinew: the stable C interface of Sinew. `include/sinew.h` is made from this crate and says the same.
//!
//! First what every function leans on: [`result`] (codes and the last error), [`guard`] (nothing unwinds into the
//! host), [`live`] (handles that cannot dangle), `input`, `output` and [`options`] (what crosses the border),
//! [`axes`] (Y up or Z up) and [`callback`] (progress, log). Then one file per noun of the interface: [`version`],
//! [`scene`] (open and save), [`build`] (a scene from memory), [`look`] (what is in a scene), [`curve`],
//! [`setup`] and `edit`, [`job`], [`bake`] (file to file), [`session`] (live), [`drag`] (by hand), [`contact`] (what
//! touches), [`outline`] (with which shapes), [`deformation`] (what that does
//! to soft skins).
//!
//! # What callers promise
//!
//! Every `unsafe` here rests on these promises, which the header makes for C:
//!
//! - A pointer with a length or a count leads to that many readable (for outputs: writable) items for the
//!   duration of the call. NULL is always refused or means "none"; it is never followed.
//! - A text of length `SINEW_NUL_TERMINATED` ends in a zero byte.
//! - A struct that begins with `struct_size` is readable (for outputs: writable) over that many bytes.
//! - Outputs do not overlap inputs or each other.
//! - A callback returns by itself: no exception, no `longjmp`.
//!
//! Handles need no promise: they are numbers looked up in a table, so a freed, foreign or mistyped one is refused.
#![allow(non_camel_case_types, reason = "types are named as the header names them")]
#![allow(clippy::missing_safety_doc, reason = "the promises are the same for all, and stated once above")]
#![warn(clippy::undocumented_unsafe_blocks)]

pub mod axes;
pub mod bake;
pub mod build;
pub mod callback;
pub mod contact;
pub mod curve;
pub mod deformation;
pub mod drag;
mod edit;
pub mod guard;
mod input;
pub mod job;
#[cfg(test)]
mod layout;
pub mod limits;
pub mod live;
pub mod look;
pub mod options;
pub mod outline;
mod output;
pub mod result;
pub mod scene;
pub mod session;
pub mod setup;
pub mod skin;
pub mod version;
