//! Four bars that four hinges close to a loop, above a floor.

use super::header;
use std::fmt::Write;

/// Half of a bar, m.
const HALF: f64 = 0.1;

/// Z is up; the bars stand on edge in the plane of x and z. The first and third hinge have drives, which are off.
pub fn linkage() -> String {
    let mut text = header("Linkage", 1.0, "Z", None);
    text += r#"def PhysicsScene "World"
{
    float physics:gravityMagnitude = 9.81
    vector3f physics:gravityDirection = (0, 0, -1)
}

"#;
    text += "def Xform \"Linkage\"\n{\n    def Scope \"Bars\"\n    {\n";
    let (thick, thin) = (HALF - 0.01, 0.01);
    let level = [thick, thin, thin];
    let upright = [thin, thin, thick];
    let bars = [
        ([0.0, 0.0, 0.01], level),
        ([HALF, 0.0, HALF + 0.01], upright),
        ([0.0, 0.0, 2.0 * HALF + 0.01], level),
        ([-HALF, 0.0, HALF + 0.01], upright),
    ];
    for (i, ([x, y, z], [sx, sy, sz])) in bars.into_iter().enumerate() {
        let _ = writeln!(
            text,
            r#"        def Xform "bar_{n}" (
            prepend apiSchemas = ["PhysicsRigidBodyAPI", "PhysicsMassAPI"]
        )
        {{
            float physics:mass = 0.5
            double3 xformOp:translate = ({x}, {y}, {z})
            uniform token[] xformOpOrder = ["xformOp:translate"]
            def Cube "form_{n}" (
                prepend apiSchemas = ["PhysicsCollisionAPI"]
            )
            {{
                double size = 2
                float3[] extent = [(-1, -1, -1), (1, 1, 1)]
                float3 xformOp:scale = ({sx}, {sy}, {sz})
                uniform token[] xformOpOrder = ["xformOp:scale"]
            }}
        }}"#,
            n = i + 1,
        );
    }
    text += "    }\n    def Scope \"Joints\"\n    {\n";
    // From which bar to which, and where on either.
    let hinges = [
        ([1, 2], [HALF, 0.0], [0.0, -HALF]),
        ([2, 3], [0.0, HALF], [HALF, 0.0]),
        ([3, 4], [-HALF, 0.0], [0.0, HALF]),
        ([4, 1], [0.0, -HALF], [-HALF, 0.0]),
    ];
    for (i, ([a, b], [ax, az], [bx, bz])) in hinges.into_iter().enumerate() {
        let drive = if i % 2 == 0 {
            " (\n            prepend apiSchemas = [\"PhysicsDriveAPI:angular\"]\n        )"
        } else {
            ""
        };
        let _ = writeln!(
            text,
            r#"        def PhysicsRevoluteJoint "joint_{n}"{drive}
        {{
            uniform token physics:axis = "Y"
            rel physics:body0 = </Linkage/Bars/bar_{a}>
            rel physics:body1 = </Linkage/Bars/bar_{b}>
            point3f physics:localPos0 = ({ax}, 0, {az})
            point3f physics:localPos1 = ({bx}, 0, {bz})
            quatf physics:localRot0 = (1, 0, 0, 0)
            quatf physics:localRot1 = (1, 0, 0, 0)
            float physics:lowerLimit = -50
            float physics:upperLimit = 50
        }}"#,
            n = i + 1,
        );
    }
    text += r#"    }
    def Cube "Ground" (
        prepend apiSchemas = ["PhysicsCollisionAPI"]
    )
    {
        double size = 2
        float3[] extent = [(-1, -1, -1), (1, 1, 1)]
        float3 xformOp:scale = (1, 1, 0.05)
        double3 xformOp:translate = (0, 0, -0.05)
        uniform token[] xformOpOrder = ["xformOp:translate", "xformOp:scale"]
    }
"#;
    text += r#"    def PhysicsCollisionGroup "Together"
    {
        rel collection:colliders:includes = [</Linkage/Bars>]
        rel physics:filteredGroups = </Linkage/Together>
    }
}
"#;
    text
}
