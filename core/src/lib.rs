//! The simulation behind Sinew, in the order that data flows through it:
//!
//! [`scene`] (what the host gave) and [`setup`] (what the animator wants of physics) are compiled into an
//! immutable [`rig`]; [`simulate`] advances its state step by step and records a [`motion`], or one turn of a
//! [`cycle`]; [`bake`] turns that into curves for the host's channels. [`refine`] finds a motion for the whole of a shot at once.
//!
//! Underneath: [`character`] (skeletons as bodies, for the automatic set-up), [`curve`] (animator splines), [`rotation`] (unit quaternions), [`shape`] (mass and inertia),
//! [`guide`] (targets on paths), [`actuator`] (limited strength towards them), [`dynamics`] (motion of one solid),
//! [`joint`] (what holds two together), [`articulation`] (trees of them in reduced coordinates), [`assemble`] (putting all of them together), [`solve`] (sparse systems).
//!
//! Inside this crate: seconds, kilograms, radians, lengths in scene units (so forces are kg unit/s^2), right-handed, Y up,
//! quaternions xyzw, f64. A set-up is in metres where it says so; [`rig`] turns gravity, densities, velocities and newtons into
//! scene units when compiling, by `world.metres_per_unit`. Axes are turned once, where files and hosts are read.
#![forbid(unsafe_code)]

pub mod actuator;
pub mod articulation;
pub mod assemble;
pub mod bake;
pub mod character;
pub mod coating;
pub mod contact;
pub mod curve;
pub mod cycle;
pub mod dynamics;
pub mod guide;
pub mod joint;
pub mod motion;
mod pool;
pub mod quiet;
pub mod refine;
pub mod rig;
pub mod rotation;
pub mod scene;
pub mod setup;
pub mod shape;
pub mod simulate;
pub mod solve;
