//! After Simply Implicit (Lamouret 1995, section 4.3): a soft ball bounces in and knocks soft toys off a shelf.

use super::maker::Maker;
use super::{BLUE, CREAM, GREEN, GREY, PURPLE, RED, solid};
use glam::DVec3;

/// Top of the board, and where it ends.
const HIGH: f64 = 1.0;
const END: f64 = 2.4;

/// The ball's keys are rough: down to the floor, up, on the board, and along it through everything.
pub fn shelf() -> String {
    let mut m = Maker::new("Bounce");
    let floor = m.block(DVec3::new(12.0, 0.2, 4.0), GREY);
    m.node("Floor", Some(floor), DVec3::new(2.5, -0.1, 0.0), None);
    let board = m.block(DVec3::new(END + 0.4, 0.08, 0.8), CREAM);
    m.node("Board", Some(board), DVec3::new(0.5 * END - 0.2, HIGH - 0.04, 0.0), None);
    let skin = m.ball(0.2, &[RED, CREAM]);
    let places = [
        DVec3::new(-2.8, 1.2, 0.0),
        DVec3::new(-2.1, 0.15, 0.0),
        DVec3::new(-1.3, 1.5, 0.0),
        DVec3::new(-0.9, 1.9, 0.0),
        DVec3::new(-0.1, HIGH + 0.15, 0.0),
        DVec3::new(0.3, HIGH + 0.5, 0.0),
        DVec3::new(0.7, HIGH + 0.2, 0.0),
        DVec3::new(END + 0.1, HIGH + 0.2, 0.0),
        DVec3::new(END + 0.1, HIGH + 0.2, 0.0),
    ];
    let ball = m.node("Ball", Some(skin), places[0], None);
    m.translate(ball, &[0.0, 0.4, 0.75, 1.0, 1.35, 1.6, 1.85, 3.0, 4.0], &places);
    let cube = m.block(DVec3::splat(0.3), BLUE);
    m.node("Cube", Some(cube), DVec3::new(1.2, HIGH + 0.15, 0.0), None);
    let marble = m.ball(0.16, &[GREEN, CREAM]);
    m.node("Marble", Some(marble), DVec3::new(1.55, HIGH + 0.16, 0.1), None);
    let brick = m.block(DVec3::new(0.2, 0.4, 0.3), PURPLE);
    m.node("Brick", Some(brick), DVec3::new(1.9, HIGH + 0.2, -0.05), None);
    // A roller, along z.
    let drum = m.of_one_colour(&solid::cylinder(0.13, 0.5, 24), GREEN);
    m.node("Drum", Some(drum), DVec3::new(2.22, HIGH + 0.13, 0.0), None);
    m.finish()
}
