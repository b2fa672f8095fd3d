//! A box that a drive turns about a box that stands: one joint with five limits and a speed, in centimetres.

use super::header;

/// Z is up.
pub fn motor() -> String {
    let mut text = header("World", 0.01, "Z", Some(100));
    text += "def Xform \"World\"\n{\n    def PhysicsScene \"physics\"\n    {\n        vector3f physics:gravityDirection = (0, 0, -1)\n        float physics:gravityMagnitude = 981\n    }\n";
    for (name, schemas, y) in [
        ("Stand", "\"PhysicsCollisionAPI\"", 0.0),
        ("Arm", "\"PhysicsCollisionAPI\", \"PhysicsRigidBodyAPI\"", 90.0),
    ] {
        text += &format!(
            "    def Cube \"{name}\" (\n        prepend apiSchemas = [{schemas}]\n    )\n    {{\n        double size = 80\n        float3[] extent = [(-40, -40, -40), (40, 40, 40)]\n        quatf xformOp:orient = (1, 0, 0, 0)\n        float3 xformOp:scale = (0.2, 1, 0.2)\n        double3 xformOp:translate = (0, {y}, 300)\n        uniform token[] xformOpOrder = [\"xformOp:translate\", \"xformOp:orient\", \"xformOp:scale\"]\n    }}\n"
        );
    }
    let locked = ["transX", "transY", "transZ", "rotX", "rotY"];
    let schemas: Vec<String> = locked.iter().map(|w| format!("\"PhysicsLimitAPI:{w}\"")).collect();
    text += &format!(
        "    def PhysicsJoint \"Spindle\" (\n        prepend apiSchemas = [{}, \"PhysicsDriveAPI:rotZ\"]\n    )\n    {{\n        rel physics:body0 = </World/Stand>\n        rel physics:body1 = </World/Arm>\n",
        schemas.join(", ")
    );
    for way in locked {
        text += &format!(
            "        float limit:{way}:physics:low = 1\n        float limit:{way}:physics:high = -1\n"
        );
    }
    text += "        float drive:rotZ:physics:targetVelocity = 20\n        float drive:rotZ:physics:damping = 5000\n        point3f physics:localPos0 = (0, 45, 0)\n        point3f physics:localPos1 = (0, -45, 0)\n        quatf physics:localRot0 = (1, 0, 0, 0)\n        quatf physics:localRot1 = (1, 0, 0, 0)\n    }\n}\n";
    text
}
