//! USD, with OpenUSD itself as the judge: what is read, simulated and written.
#![forbid(unsafe_code)]
#![allow(clippy::unwrap_used)] // helpers of tests are tests

#[path = "usd/constructs.rs"]
mod constructs;
#[path = "usd/formats.rs"]
mod formats;
#[path = "usd/hostile.rs"]
mod hostile;
#[path = "usd/physics.rs"]
mod physics;
#[path = "usd/random.rs"]
mod random;
#[path = "usd/worlds.rs"]
mod worlds;
#[path = "usd/written.rs"]
mod written;
