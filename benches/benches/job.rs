//! A whole job after start-up: open, bake 250 frames, write, for a scene of 100 nodes.

fn main() {}
