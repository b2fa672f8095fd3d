//! Where steps were too long and taken in halves, and why.

use super::Motion;
use crate::rig::Rig;
use crate::simulate::Cause;
use serde::Serialize;

/// Steps of one body that were too long for one reason.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Halving {
    /// The node, as a set-up calls it.
    pub node: String,
    /// Why, in words.
    pub because: &'static str,
    /// How often.
    pub times: usize,
    /// Frames of the first and of the last; frame 0 is time 0.
    pub frames: [f64; 2],
    /// The shortest step that was still too long, s.
    pub shortest_s: f64,
}

/// All of a motion, in the order of time.
pub fn halvings(rig: &Rig, motion: &Motion) -> Vec<Halving> {
    let mut all: Vec<Halving> = Vec::new();
    for h in &motion.halved {
        let because = match h.cause {
            Cause::Joints(_) => "its joints could not be closed",
            Cause::Overlap(_) => "it was deep inside something",
            Cause::Bounces(_) => "it bounced more than once",
            Cause::Coating(_) => "it was pressed in too fast",
            Cause::Astray(_) => "what it hit sent it into something else",
            Cause::Wakes(_) | Cause::Struck(_) | Cause::Saturates(_) => continue,
        };
        let node = &rig.solids[h.cause.solid() as usize].name;
        let frame = h.time * rig.range.frames_per_second;
        match all.iter_mut().find(|a| a.because == because && a.node == *node) {
            Some(a) => {
                (a.times, a.frames[1]) = (a.times + 1, frame);
                a.shortest_s = a.shortest_s.min(h.length);
            }
            None => all.push(Halving {
                node: node.clone(),
                because,
                times: 1,
                frames: [frame; 2],
                shortest_s: h.length,
            }),
        }
    }
    all
}
