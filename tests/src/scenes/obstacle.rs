//! The third figure of Lamouret 1995, section 4.2: straight keys lead through something that does not give way.

use super::maker::Maker;
use super::{BLUE, CREAM, GREEN, GREY, RED, solid};
use glam::DVec3;

/// Three balls on the same keys, which do not touch each other, and a round beam across their way.
pub fn obstacle() -> String {
    let mut m = Maker::new("Straight on");
    let mesh = m.of_one_colour(&solid::cylinder(0.5, 1.4, 48), GREY);
    m.node("Beam", Some(mesh), DVec3::ZERO, None);
    // A little above its middle, or no one could say which way round.
    let (from, to) = (DVec3::new(-2.5, 0.2, 0.0), DVec3::new(2.5, 0.2, 0.0));
    for (name, colour) in [("light", BLUE), ("heavy", RED), ("soft", GREEN)] {
        let mesh = m.ball(0.2, &[colour, CREAM]);
        let node = m.node(name, Some(mesh), from, None);
        m.translate(node, &[0.0, 2.5, 4.0], &[from, to, to]);
    }
    m.finish()
}
