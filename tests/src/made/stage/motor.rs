//! A box that a drive turns about a box that stands: one joint with five limits and a speed, in centimetres.

use super::header;

/// Z is up.
pub fn motor() -> String {
    let mut text = header("World", 0.01, "Z", Some(100));
    text += r#"def Xform "World"
{
    def PhysicsScene "physics"
    {
        vector3f physics:gravityDirection = (0, 0, -1)
        float physics:gravityMagnitude = 981
    }
"#;
    for (name, schemas, y) in [
        ("Stand", "\"PhysicsCollisionAPI\"", 0.0),
        ("Arm", "\"PhysicsCollisionAPI\", \"PhysicsRigidBodyAPI\"", 90.0),
    ] {
        text += &format!(
            r#"    def Cube "{name}" (
        prepend apiSchemas = [{schemas}]
    )
    {{
        double size = 80
        float3[] extent = [(-40, -40, -40), (40, 40, 40)]
        quatf xformOp:orient = (1, 0, 0, 0)
        float3 xformOp:scale = (0.2, 1, 0.2)
        double3 xformOp:translate = (0, {y}, 300)
        uniform token[] xformOpOrder = ["xformOp:translate", "xformOp:orient", "xformOp:scale"]
    }}
"#
        );
    }
    let locked = ["transX", "transY", "transZ", "rotX", "rotY"];
    let schemas: Vec<String> = locked.iter().map(|w| format!("\"PhysicsLimitAPI:{w}\"")).collect();
    text += &format!(
        r#"    def PhysicsJoint "Spindle" (
        prepend apiSchemas = [{}, "PhysicsDriveAPI:rotZ"]
    )
    {{
        rel physics:body0 = </World/Stand>
        rel physics:body1 = </World/Arm>
"#,
        schemas.join(", ")
    );
    for way in locked {
        text += &format!(
            r#"        float limit:{way}:physics:low = 1
        float limit:{way}:physics:high = -1
"#
        );
    }
    text += r#"        float drive:rotZ:physics:targetVelocity = 20
        float drive:rotZ:physics:damping = 5000
        point3f physics:localPos0 = (0, 45, 0)
        point3f physics:localPos1 = (0, -45, 0)
        quatf physics:localRot0 = (1, 0, 0, 0)
        quatf physics:localRot1 = (1, 0, 0, 0)
    }
}
"#;
    text
}
