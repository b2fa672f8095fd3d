//! A bat that swings as keyed, and a ball on a tee.

use super::maker::Maker;
use super::{CREAM, GREEN, GREY, RED, seconds};
use glam::DVec3;
use sinew_core::rotation;

/// The bat turns about the vertical through its grip: back, through the ball, and on.
pub fn bat() -> String {
    let mut m = Maker::new("Swing");
    let ground = m.block(DVec3::new(28.0, 0.4, 6.0), GREEN);
    m.node("Ground", Some(ground), DVec3::new(11.0, -0.2, 0.0), None);
    let wood = m.long_block(DVec3::new(0.9, 0.12, 0.06), CREAM);
    let bat = m.node("Bat", Some(wood), DVec3::new(-0.07, 1.0, 0.8), None);
    let turns = [1.2, 1.9, 1.9, -0.6, -0.9, -0.9].map(|a| rotation::exp(DVec3::Y * (a + 1.6)));
    m.rotate(bat, &seconds(&[0.0, 6.0, 9.0, 15.0, 20.0, 48.0]), &turns);
    let post = m.block(DVec3::new(0.03, 0.96, 0.03), GREY);
    m.node("Tee", Some(post), DVec3::new(0.0, 0.48, 0.0), None);
    let leather = m.ball(0.04, &[RED, CREAM]);
    m.node("Ball", Some(leather), DVec3::new(0.0, 1.0, 0.0), None);
    m.finish()
}
