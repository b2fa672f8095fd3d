//! What makes no sense is refused, by place and with a cure.

use crate::Stage;
use glam::DVec3;
use sinew_core::setup::{At, Direction, Give, Joint, JointFrame, JointKind, Swing};

fn stage() -> Stage {
    let mut stage = Stage::new();
    stage.body("A", DVec3::ZERO, [1.0; 3]);
    stage.body("B", DVec3::X, [1.0; 3]);
    stage
}

type Change = fn(&mut Joint);

#[test]
fn nonsense_is_refused_with_its_place() {
    let cases: &[(JointKind, Change, &str)] = &[
        (JointKind::Pin, |j| j.pitch = Some(1.0), "pitch"),
        (JointKind::Pin, |j| j.length = Some(1.0), "length"),
        (JointKind::Pin, |j| j.closed = true, "closed"),
        (JointKind::Pin, |j| j.size = Some([1.0; 3]), "size"),
        (JointKind::Pin, |j| j.points = vec![[0.0; 3]], "points"),
        (JointKind::Pin, |j| j.mesh = Some("A".into()), "mesh"),
        (JointKind::Pin, |j| j.slide = Some(Direction::default()), "slide"),
        (JointKind::Pin, |j| j.swing_deg = Some(Swing::default()), "swing_deg"),
        (JointKind::Fixed, |j| j.turn_deg = Some(Direction::default()), "turn_deg"),
        (JointKind::Prismatic, |j| j.turn_deg = Some(Direction::default()), "turn_deg"),
        (JointKind::Screw, |j| j.pitch = Some(0.0), "pitch"),
        (
            JointKind::Screw,
            |j| j.slide = Some(Direction { rest: Some(0.0.into()), ..Direction::default() }),
            "slide",
        ),
        (JointKind::Segment, |_| (), "points"),
        (JointKind::Segment, |j| j.points = vec![[1.0; 3], [1.0; 3]], "points"),
        (JointKind::Curve, |j| j.points = vec![[1.0; 3], [1.0; 3]], "points"),
        (JointKind::Curve, |j| j.points = vec![[f64::NAN; 3], [1.0; 3]], "points"),
        (JointKind::Surface, |_| (), "mesh"),
        (JointKind::Surface, |j| j.mesh = Some("A".into()), "mesh"),
        (JointKind::Surface, |j| j.mesh = Some("C".into()), "mesh"),
        (JointKind::InsideBox, |_| (), "size"),
        (JointKind::InsideBox, |j| j.size = Some([1.0, -1.0, 1.0]), "size"),
        (JointKind::InsideSphere, |j| j.length = Some(-1.0), "length"),
        (JointKind::Rope, |j| j.grab = true, "grab"),
        (
            JointKind::Pin,
            |j| j.turn_deg = Some(Direction { limits: Some([1.0, -1.0]), ..Direction::default() }),
            "turn_deg.limits",
        ),
        (
            JointKind::Pin,
            |j| j.turn_deg = Some(Direction { limits: Some([-200.0, 200.0]), ..Direction::default() }),
            "turn_deg.limits",
        ),
        (
            JointKind::Pin,
            |j| j.turn_deg = Some(Direction { stiffness: Some((-1.0).into()), ..Direction::default() }),
            "turn_deg.stiffness",
        ),
        (
            JointKind::Pin,
            |j| j.turn_deg = Some(Direction { damping: Some(f64::NAN.into()), ..Direction::default() }),
            "turn_deg.damping",
        ),
        (
            JointKind::Pin,
            |j| j.turn_deg = Some(Direction { strength: Some(1.0), ..Direction::default() }),
            "turn_deg.strength",
        ),
        (
            JointKind::Pin,
            |j| {
                j.turn_deg =
                    Some(Direction { rest: Some(0.0.into()), strength: Some(0.0), ..Direction::default() })
            },
            "turn_deg.strength",
        ),
        (
            JointKind::Pin,
            |j| {
                j.turn_deg = Some(Direction {
                    rest: Some(50.0.into()),
                    limits: Some([0.0, 40.0]),
                    ..Direction::default()
                })
            },
            "turn_deg.rest",
        ),
        (
            JointKind::Universal,
            |j| j.swing_deg = Some(Swing { cone: Some([180.0, 20.0]), ..Swing::default() }),
            "swing_deg.cone",
        ),
        (
            JointKind::Universal,
            |j| j.swing_deg = Some(Swing { cone: Some([0.0, 20.0]), ..Swing::default() }),
            "swing_deg.cone",
        ),
        (
            JointKind::Universal,
            |j| {
                j.give = Some(Give {
                    stiffness: None,
                    damping: None,
                    turn_stiffness: Some(1.0.into()),
                    turn_damping: None,
                })
            },
            "give.turn_stiffness",
        ),
        (
            JointKind::Pin,
            |j| {
                j.give = Some(Give {
                    stiffness: None,
                    damping: Some(1.0.into()),
                    turn_stiffness: None,
                    turn_damping: None,
                })
            },
            "give.damping",
        ),
        (JointKind::Pin, |j| j.break_force = Some(-1.0), "break_force"),
        (JointKind::Pin, |j| j.break_torque = Some(0.0), "break_torque"),
        (JointKind::Pin, |j| j.on = Some(2.0.into()), "on"),
        (
            JointKind::Pin,
            |j| {
                j.frames = Some([JointFrame { position: [0.0; 3], rotation: [0.0, 0.0, 0.0, 1.0] }; 2]);
                j.at = Some(At::Node("A".into()));
            },
            "frames",
        ),
        (
            JointKind::Pin,
            |j| j.frames = Some([JointFrame { position: [0.0; 3], rotation: [0.0; 4] }; 2]),
            "frames",
        ),
    ];
    for (kind, change, field) in cases {
        let mut stage = stage();
        let mut joint = Joint::new(*kind, ["A", "B"]);
        change(&mut joint);
        stage.join(joint);
        let said = stage.refusal();
        let at = format!("joints[0] \"A - B\".{field}");
        assert!(said.starts_with(&at) && said.len() > at.len() + 10, "{kind:?} {field}: {said}");
    }
}
