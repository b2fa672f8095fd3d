//! Figures that meet something: a box, a ball, stairs, a rope. Their set-ups are what Sinew makes of the scene, and what is
//! changed in it.

use super::figure::{Figure, Gait, frames};
use super::maker::Maker;
use super::{BLUE, CREAM, GREEN, GREY, PURPLE, RED};
use glam::DVec3;
use sinew_core::rotation;
use sinew_core::setup::{
    Behaviour, Body, Joint, JointFrame, JointKind, Keyable, Preset, Release, Setup, automatic, to_text,
};
use sinew_plugin::gltf::{Document, ReadOptions};

const WALK: Gait = Gait { speed: 0.8, period: 1.0, stands: 0.6, lift: 0.1 };
const TROT: Gait = Gait { speed: 1.2, period: 0.5, stands: 0.5, lift: 0.06 };
const STAND: Gait = Gait { speed: 0.0, ..WALK };

/// What Sinew makes of a scene.
fn made(scene: &str) -> Setup {
    let document = Document::from_bytes(scene.as_bytes(), "scene.gltf", None, &ReadOptions::default());
    let document = document.expect("the scene is one");
    automatic(document.scene(), None).expect("it has a clip")
}

/// Makes a body that was in the way one that physics moves.
fn body<'a>(setup: &'a mut Setup, node: &str) -> &'a mut Body {
    let at = setup.bodies.iter().position(|b| b.node == node).expect("there is such a body");
    &mut setup.bodies[at]
}

fn floor(m: &mut Maker, from: f64, to: f64) {
    let size = DVec3::new(to - from, 0.1, 2.0);
    let ground = m.block(size, GREY);
    m.node("Floor", Some(ground), DVec3::new(0.5 * (from + to), -0.05, 0.0), None);
}

/// A fox trots into a box that stands in its way.
pub fn fox_box() -> String {
    let mut m = Maker::new("Trot");
    Figure::four_legged().add(&mut m, "Fox", RED, DVec3::ZERO, TROT, frames(2.5));
    floor(&mut m, -1.2, 4.8);
    let carton = m.block(DVec3::new(0.4, 0.5, 0.5), CREAM);
    m.node("Box", Some(carton), DVec3::new(1.5, 0.25, 0.06), None);
    m.finish()
}

pub fn fox_box_setup() -> String {
    let mut setup = made(&fox_box());
    let carton = body(&mut setup, "Box");
    (carton.behaviour, carton.mass) = (Behaviour::Free, Some(4.0));
    to_text(&setup)
}

/// A figure walks, is hit by a ball, and walks on.
pub fn figure_ball() -> String {
    let mut m = Maker::new("Walk");
    Figure::upright("").add(&mut m, "Figure", BLUE, DVec3::ZERO, WALK, frames(4.0));
    floor(&mut m, -1.0, 4.4);
    let ball = m.ball(0.13, &[RED, CREAM]);
    let (from, to) = (DVec3::new(4.2, 1.0, 0.1), DVec3::new(1.3, 1.42, 0.1));
    let ball = m.node("Ball", Some(ball), from, None);
    m.translate(ball, &super::seconds(&[0.0, 18.0]), &[from, to]);
    m.finish()
}

pub fn figure_ball_setup() -> String {
    let mut setup = made(&figure_ball());
    let ball = body(&mut setup, "Ball");
    (ball.behaviour, ball.mass) = (Behaviour::Free, Some(12.0));
    ball.contact.rolling = Some(0.05);
    // Thrown: its keys' until then, and with their velocity.
    ball.release = Some(Release { frame: Some(17.0), ..Release::default() });
    // Soft above the hips, so that one sees it.
    for group in &mut setup.groups {
        match group.name.as_str() {
            "spine" => group.strength = 0.12.into(),
            "head" | "left arm" | "right arm" => group.strength = 0.3.into(),
            _ => {}
        }
    }
    to_text(&setup)
}

/// A robot walks with an arm that has no strength.
pub fn robot_arm() -> String {
    let mut m = Maker::new("Walk");
    Figure::upright("").add(
        &mut m,
        "Robot",
        GREEN,
        DVec3::ZERO,
        Gait { speed: 0.9, period: 0.8, ..WALK },
        frames(4.0),
    );
    floor(&mut m, -1.0, 4.6);
    m.finish()
}

pub fn robot_arm_setup() -> String {
    let mut setup = made(&robot_arm());
    let arm = setup.groups.iter_mut().find(|g| g.name == "right arm").expect("it has one");
    arm.strength = Keyable::Constant(0.01);
    to_text(&setup)
}

/// How the three that stand are helped, and what their bones are called after.
const HELPED: [(&str, f64); 3] = [(" alone", 0.0), (" half helped", 0.5), (" helped", 1.0)];

/// Three figures that stand.
pub fn balance() -> String {
    let mut m = Maker::new("Stand");
    for (i, ((mark, _), colour)) in HELPED.iter().zip([RED, GREEN, BLUE]).enumerate() {
        let at = DVec3::X * 2.2 * i as f64;
        Figure::upright(mark).add(&mut m, &format!("Figure{mark}"), colour, at, STAND, frames(1.5));
    }
    floor(&mut m, -1.0, 6.4);
    m.finish()
}

pub fn balance_setup() -> String {
    let mut setup = made(&balance());
    for (mark, share) in HELPED {
        body(&mut setup, &format!("Hips{mark}")).actuator.balance = Some(share.into());
        // A push from behind.
        for part in ["Hips", "Spine", "Chest", "Head"] {
            body(&mut setup, &format!("{part}{mark}")).velocity = Some([1.0, 0.0, 0.0]);
        }
    }
    for group in &mut setup.groups {
        let root = group.name.ends_with("root");
        group.strength = Keyable::Constant(if root { 0.0 } else { 0.05 });
    }
    to_text(&setup)
}

const STEPS: usize = 6;
const STEP: [f64; 2] = [0.3, 0.18];

/// A figure walks over the edge of stairs, and falls down them.
pub fn stairs() -> String {
    let mut m = Maker::new("Walk");
    Figure::upright("").add(&mut m, "Figure", PURPLE, DVec3::new(-0.75, 0.0, 0.0), WALK, frames(4.0));
    let top = m.block(DVec3::new(1.6, 0.1, 2.0), GREY);
    m.node("Landing", Some(top), DVec3::new(-0.8, -0.05, 0.0), None);
    let [deep, high] = STEP;
    let step = m.block(DVec3::new(deep, 0.4, 2.0), GREY);
    for i in 0..STEPS {
        let at = DVec3::new((i as f64 + 0.5) * deep, -(i as f64 + 1.0) * high - 0.2, 0.0);
        m.node(&format!("Step {}", i + 1), Some(step), at, None);
    }
    let ground = m.block(DVec3::new(4.0, 0.1, 3.0), GREY);
    let (end, low) = (STEPS as f64 * deep, -(STEPS as f64 + 1.0) * high);
    m.node("Ground", Some(ground), DVec3::new(end + 2.0, low - 0.05, 0.0), None);
    m.finish()
}

pub fn stairs_setup() -> String {
    let mut setup = made(&stairs());
    setup.use_preset(Preset::Ragdoll);
    for limb in setup.bodies.iter_mut().filter(|b| b.behaviour == Behaviour::Guided) {
        limb.release = Some(Release { frame: Some(24.0), ..Release::default() });
    }
    to_text(&setup)
}

const LINKS: usize = 12;
const LINK: f64 = 0.15;

/// Anna walks off with one end of a rope. Ben, who stands, has the other.
pub fn tug() -> String {
    let mut m = Maker::new("Walk");
    let apart = 1.5;
    Figure::upright(" of Anna").add(&mut m, "Anna", BLUE, DVec3::X * apart, WALK, frames(4.0));
    Figure::upright(" of Ben").add(&mut m, "Ben", RED, DVec3::ZERO, STAND, frames(4.0));
    floor(&mut m, -1.0, 6.0);
    let rope = m.long_block(DVec3::new(LINK, 0.03, 0.03), CREAM);
    // From hand to hand, sagging in the middle.
    let hand = DVec3::new(0.05, 0.84, 0.225);
    let mut at = hand;
    let (half, down) = (0.5 * apart, (LINKS as f64 * LINK * 0.5).powi(2));
    let dip = (down - half * half).max(0.0).sqrt();
    for i in 0..LINKS {
        let way = DVec3::new(half, if i < LINKS / 2 { -dip } else { dip }, 0.0).normalize();
        let node = m.node(&format!("Link {}", i + 1), Some(rope), at, None);
        m.turned(node, rotation::exp(DVec3::Z * way.y.atan2(way.x)));
        at += way * LINK;
    }
    m.node("End", None, at, None);
    m.finish()
}

pub fn tug_setup() -> String {
    let mut setup = made(&tug());
    let mut before = "RightHand of Ben".to_owned();
    for i in 1..=LINKS {
        let name = format!("Link {i}");
        let link = body(&mut setup, &name);
        (link.behaviour, link.mass, link.contact.collide) = (Behaviour::Free, Some(0.15), Some(false));
        setup.joints.push(Joint::new(JointKind::Universal, [&before, &name]));
        before = name;
    }
    let mut end = Joint::new(JointKind::Universal, [&before, "RightHand of Anna"]);
    end.at = Some(sinew_core::setup::At::Node("End".into()));
    setup.joints.push(end);
    // Ben is only held by his feet, and they let go when he is pulled.
    setup.bodies.iter_mut().for_each(|b| b.pins.clear());
    for group in setup.groups.iter_mut().filter(|g| g.name == "Hips of Ben root") {
        group.strength = 0.05.into();
    }
    to_text(&setup)
}

/// How far Ben walks behind Anna, m.
const BEHIND: f64 = 0.5;

/// Where his palm is in his hand, m.
pub const PALM: [f64; 3] = [0.0, -0.12, 0.0];

/// Where he puts it on her chest, m.
pub const SHOULDER: [f64; 3] = [0.0, 0.3, 0.2];

/// Ben walks behind Anna, his arms swinging as hers do.
pub fn shoulder() -> String {
    let mut m = Maker::new("Walk");
    Figure::upright(" of Anna").add(&mut m, "Anna", BLUE, DVec3::X * BEHIND, WALK, frames(3.0));
    Figure::upright(" of Ben").add(&mut m, "Ben", RED, DVec3::ZERO, WALK, frames(3.0));
    floor(&mut m, -1.0, 4.6);
    m.finish()
}

/// His right hand is on her shoulder.
pub fn shoulder_setup() -> String {
    let mut setup = made(&shoulder());
    let at = |position: [f64; 3]| JointFrame { position, rotation: [0.0, 0.0, 0.0, 1.0] };
    setup.joints.push(Joint {
        frames: Some([at(SHOULDER), at(PALM)]),
        ..Joint::new(JointKind::Universal, ["Chest of Anna", "RightHand of Ben"])
    });
    // What an arm does in a walk leaves no room for it.
    let arm = ["RightUpperArm of Ben", "RightForeArm of Ben"];
    for joint in setup.joints.iter_mut().filter(|j| arm.contains(&j.between[1].as_str())) {
        (joint.swing_deg, joint.turn_deg) = (None, None);
    }
    // The arm lets itself be led.
    for group in setup.groups.iter_mut().filter(|g| g.name == "Hips of Ben right arm") {
        group.strength = 0.02.into();
    }
    to_text(&setup)
}
