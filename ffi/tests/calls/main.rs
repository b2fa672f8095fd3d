//! The C interface called from Rust: what is easier to compare here than in C.

mod axes;
mod contact;
mod counting;
mod drag;
mod host;
mod outline;
mod scene;
mod session;
mod setup;
mod skin;
mod usd;
