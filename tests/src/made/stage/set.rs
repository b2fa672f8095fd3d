//! Things that move by every kind of operation, two of them by reference and one by the variant that is chosen.

use super::header;

/// Y is up, in centimetres.
pub fn set() -> String {
    header("Set", 0.01, "Y", Some(48))
        + r#"def Xform "Set"
{
    def Xform "Truck"
    {
        double3 xformOp:translate.timeSamples = { 0: (0, 40, 0), 20: (150, 60, -30), 48: (300, 40, 80) }
        float3 xformOp:rotateXYZ.timeSamples = { 0: (0, 0, 0), 20: (5, 80, 0), 48: (0, 170, -10) }
        uniform token[] xformOpOrder = ["xformOp:translate", "xformOp:rotateXYZ"]

        def Cube "Bed"
        {
            double size = 60
            float3[] extent = [(-30, -30, -30), (30, 30, 30)]
            float3 xformOp:scale = (2, 0.5, 1)
            uniform token[] xformOpOrder = ["xformOp:scale"]
        }

        def "Crane" (
            references = </Set/_Parts/Arm>
        )
        {
            double3 xformOp:translate = (0, 30, 0)
        }
    }

    def "Other" (
        references = </Set/_Parts/Arm>
    )
    {
        double3 xformOp:translate.timeSamples = { 0: (-200, 50, 0), 48: (-120, 90, 60) }
    }

    def Xform "Ball" (
        variants = {
            string path = "bounce"
        }
        prepend variantSets = "path"
    )
    {
        def Sphere "Skin"
        {
            double radius = 25
            float3[] extent = [(-25, -25, -25), (25, 25, 25)]
        }
        variantSet "path" = {
            "bounce" {
                double3 xformOp:translate.timeSamples = { 0: (0, 200, 200), 16: (60, 25, 200), 32: (120, 150, 200), 48: (180, 25, 200) }
                uniform token[] xformOpOrder = ["xformOp:translate"]
            }
            "rest" {
                double3 xformOp:translate = (0, 25, 200)
                uniform token[] xformOpOrder = ["xformOp:translate"]
            }
        }
    }

    over "_Parts"
    {
        def Xform "Arm"
        {
            double3 xformOp:translate = (0, 0, 0)
            float3 xformOp:translate:pivot = (0, 10, 0)
            quatd xformOp:orient.timeSamples = { 0: (1, 0, 0, 0), 24: (0.9238795325112867, 0, 0.3826834323650898, 0), 48: (0.7071067811865476, 0, 0.7071067811865476, 0) }
            uniform token[] xformOpOrder = ["xformOp:translate", "xformOp:translate:pivot", "xformOp:orient", "!invert!xformOp:translate:pivot"]

            def Cylinder "Beam"
            {
                double height = 90
                double radius = 8
                token axis = "X"
                float3[] extent = [(-45, -8, -8), (45, 8, 8)]
                double3 xformOp:translate = (45, 0, 0)
                uniform token[] xformOpOrder = ["xformOp:translate"]
            }
        }
    }
}
"#
}
