//! A human as UsdPhysics has one: capsules on joints with limits and drives, Z up.

use super::header;
use crate::made::character::{Bone, Flesh, Plan, Skeleton};
use glam::{DQuat, DVec3};
use std::fmt::Write;

/// Density of flesh, kg/m^3.
const DENSITY: f64 = 1000.0;

/// Where a point is when z is up.
fn up(p: DVec3) -> DVec3 {
    DVec3::new(p.x, -p.z, p.y)
}

fn triple(p: DVec3) -> String {
    format!("({}, {}, {})", p.x as f32, p.y as f32, p.z as f32)
}

/// Real part first.
fn quaternion(q: DQuat) -> String {
    format!("({}, {}, {}, {})", q.w as f32, q.x as f32, q.y as f32, q.z as f32)
}

/// Feet and hands are fixed, elbows and knees hinges, all else turns every way, all of them within limits and driven to where
/// they are.
pub fn doll() -> String {
    let skeleton = Skeleton::new(&Plan::biped());
    let mut text = header("Doll", 1.0, "Z", None);
    text += r#"def PhysicsScene "World"
{
    float physics:gravityMagnitude = 9.81
    vector3f physics:gravityDirection = (0, 0, -1)
}

def Xform "Doll"
{
    def Scope "Limbs"
    {
"#;
    skeleton.bones.iter().for_each(|bone| limb(&mut text, bone));
    text += "    }\n    def Scope \"Joints\"\n    {\n";
    for bone in &skeleton.bones {
        if let Some(parent) = bone.parent {
            joint(&mut text, bone, &skeleton.bones[parent]);
        }
    }
    text += r#"    }
    def PhysicsCollisionGroup "Together"
    {
        rel collection:colliders:includes = [</Doll/Limbs>]
        rel physics:filteredGroups = </Doll/Together>
    }
}
"#;
    text
}

fn limb(text: &mut String, bone: &Bone) {
    let (way, radius) = match bone.flesh {
        Flesh::Capsule(radius) => (bone.tail - bone.head, radius),
        // A foot is a capsule that lies.
        Flesh::Sole { half, .. } => (DVec3::Z * (bone.tail.z - bone.head.z), half),
        Flesh::None => (bone.tail - bone.head, 0.01),
    };
    let long = way.length();
    let mass = DENSITY * std::f64::consts::PI * radius * radius * (long + 4.0 / 3.0 * radius);
    let turn = DQuat::from_rotation_arc(DVec3::Z, up(way).normalize());
    let reach = 0.5 * long + radius;
    let _ = writeln!(
        text,
        r#"        def Xform "{name}" (
            prepend apiSchemas = ["PhysicsRigidBodyAPI", "PhysicsMassAPI"]
        )
        {{
            float physics:mass = {mass:.4}
            double3 xformOp:translate = {at}
            uniform token[] xformOpOrder = ["xformOp:translate"]
            def Capsule "form" (
                prepend apiSchemas = ["PhysicsCollisionAPI"]
            )
            {{
                uniform token axis = "Z"
                double height = {long:.6}
                double radius = {radius:.6}
                float3[] extent = [(-{radius:.6}, -{radius:.6}, -{reach:.6}), ({radius:.6}, {radius:.6}, {reach:.6})]
                double3 xformOp:translate = {middle}
                quatf xformOp:orient = {turn}
                uniform token[] xformOpOrder = ["xformOp:translate", "xformOp:orient"]
            }}
        }}"#,
        name = bone.name,
        at = triple(up(bone.head)),
        middle = triple(up(0.5 * way)),
        turn = quaternion(turn),
    );
}

fn joint(text: &mut String, bone: &Bone, parent: &Bone) {
    let name = bone.name.trim_start_matches("Left").trim_start_matches("Right");
    let between = |frame: DQuat| {
        format!(
            r#"            rel physics:body0 = </Doll/Limbs/{}>
            rel physics:body1 = </Doll/Limbs/{}>
            point3f physics:localPos0 = {}
            point3f physics:localPos1 = (0, 0, 0)
            quatf physics:localRot0 = {q}
            quatf physics:localRot1 = {q}
"#,
            parent.name,
            bone.name,
            triple(up(bone.head - parent.head)),
            q = quaternion(frame),
        )
    };
    let bend = match name {
        "Leg" => Some([-2.0, 140.0]),
        "ForeArm" => Some([-140.0, 2.0]),
        _ => None,
    };
    if let Some([low, high]) = bend {
        let _ = writeln!(
            text,
            r#"        def PhysicsRevoluteJoint "{}" (
            prepend apiSchemas = ["PhysicsDriveAPI:angular"]
        )
        {{
            float drive:angular:physics:stiffness = 1
            float drive:angular:physics:damping = 0.5
            uniform token drive:angular:physics:type = "force"
            uniform token physics:axis = "X"
            float physics:lowerLimit = {low}
            float physics:upperLimit = {high}
{}        }}"#,
            bone.name,
            between(DQuat::IDENTITY)
        );
        return;
    }
    // x goes along the limb: turns about it are twists.
    let frame = DQuat::from_rotation_arc(DVec3::X, up(bone.tail - bone.head).normalize());
    if matches!(name, "Foot" | "Hand") {
        let _ = writeln!(
            text,
            "        def PhysicsFixedJoint \"{}\"\n        {{\n{}        }}",
            bone.name,
            between(frame)
        );
        return;
    }
    let room = match name {
        "UpperArm" | "UpLeg" => [40.0, 70.0, 60.0],
        _ => [25.0, 25.0, 20.0],
    };
    let ways = ["rotX", "rotY", "rotZ"];
    let mut schemas: Vec<String> = ["transX", "transY", "transZ"]
        .iter()
        .chain(&ways)
        .map(|w| format!("\"PhysicsLimitAPI:{w}\""))
        .collect();
    schemas.extend(ways.iter().map(|w| format!("\"PhysicsDriveAPI:{w}\"")));
    let mut lines = String::new();
    for way in ["transX", "transY", "transZ"] {
        let _ = writeln!(
            lines,
            r#"            float limit:{way}:physics:low = 1
            float limit:{way}:physics:high = -1"#
        );
    }
    for (way, most) in ways.iter().zip(room) {
        let _ = writeln!(
            lines,
            r#"            float limit:{way}:physics:low = -{most}
            float limit:{way}:physics:high = {most}
            float drive:{way}:physics:stiffness = 20
            float drive:{way}:physics:damping = 5
            uniform token drive:{way}:physics:type = "force""#
        );
    }
    let _ = writeln!(
        text,
        r#"        def PhysicsJoint "{}" (
            prepend apiSchemas = [{}]
        )
        {{
{lines}{}        }}"#,
        bone.name,
        schemas.join(", "),
        between(frame)
    );
}
