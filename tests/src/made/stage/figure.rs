//! A character as UsdSkel has one: a skeleton, an animation of it, and a skin that is bound to both.

use super::header;
use crate::made::character::Character;
use glam::{DAffine3, DMat4, DQuat, DVec3};
use std::fmt::Write;

/// The character with its take of that index, in its own units, at 24 time codes per second.
pub fn figure(character: &Character, take: usize) -> String {
    let skeleton = character.skeleton();
    let units = character.units_per_metre;
    let keys = character.keys(&character.takes[take]);
    let plain: Vec<String> = skeleton.bones.iter().map(|b| b.name.replace('.', "_")).collect();
    let mut paths: Vec<String> = Vec::new();
    for (i, bone) in skeleton.bones.iter().enumerate() {
        paths.push(bone.parent.map_or(plain[i].clone(), |p| format!("{}/{}", paths[p], plain[i])));
    }
    let joints = paths.iter().map(|p| format!("\"{p}\"")).collect::<Vec<_>>().join(", ");
    let bind = skeleton
        .bones
        .iter()
        .map(|b| matrix(DAffine3::from_rotation_translation(b.rest_turn(), b.head * units)));
    let bind = bind.collect::<Vec<_>>().join(", ");
    let rest =
        character.rest().into_iter().map(|(at, turn)| matrix(DAffine3::from_rotation_translation(turn, at)));
    let rest = rest.collect::<Vec<_>>().join(", ");
    let mut text = header("Figure", 1.0 / units, "Y", Some(keys.len() - 1));
    text += "def SkelRoot \"Figure\"\n{\n";
    skin(&mut text, character);
    let _ = writeln!(
        text,
        r#"    def Skeleton "Rig" (
        prepend apiSchemas = ["SkelBindingAPI"]
    )
    {{
        uniform token[] joints = [{joints}]
        uniform matrix4d[] bindTransforms = [{bind}]
        uniform matrix4d[] restTransforms = [{rest}]
        rel skel:animationSource = </Figure/Rig/Motion>
        def SkelAnimation "Motion"
        {{
            uniform token[] joints = [{joints}]"#
    );
    let scales = vec!["(1, 1, 1)"; plain.len()].join(", ");
    let _ = writeln!(text, "            half3[] scales = [{scales}]");
    let mut samples = |name: &str, one: &dyn Fn(&(DVec3, DQuat)) -> String| {
        let _ = writeln!(text, "            {name}.timeSamples = {{");
        for (frame, pose) in keys.iter().enumerate() {
            let all: Vec<String> = pose.iter().map(one).collect();
            let _ = writeln!(text, "                {frame}: [{}],", all.join(", "));
        }
        text += "            }\n";
    };
    samples("float3[] translations", &|(at, _)| triple(*at));
    samples("quatf[] rotations", &|(_, q)| {
        format!("({}, {}, {}, {})", q.w as f32, q.x as f32, q.y as f32, q.z as f32)
    });
    text + "        }\n    }\n}\n"
}

fn skin(text: &mut String, character: &Character) {
    let skin = character.skin();
    let list = |all: Vec<String>| all.join(", ");
    let units = character.units_per_metre;
    let (low, high) = skin
        .positions
        .iter()
        .fold((DVec3::INFINITY, DVec3::NEG_INFINITY), |(l, h), p| (l.min(*p), h.max(*p)));
    let _ = writeln!(
        text,
        r#"    def Mesh "Skin" (
        prepend apiSchemas = ["SkelBindingAPI"]
    )
    {{
        uniform token subdivisionScheme = "none"
        float3[] extent = [{}, {}]
        point3f[] points = [{}]
        int[] faceVertexCounts = [{}]
        int[] faceVertexIndices = [{}]
        int[] primvars:skel:jointIndices = [{}] (
            elementSize = 2
            interpolation = "vertex"
        )
        float[] primvars:skel:jointWeights = [{}] (
            elementSize = 2
            interpolation = "vertex"
        )
        matrix4d primvars:skel:geomBindTransform = ( (1, 0, 0, 0), (0, 1, 0, 0), (0, 0, 1, 0), (0, 0, 0, 1) )
        rel skel:skeleton = </Figure/Rig>
    }}"#,
        triple(low * units),
        triple(high * units),
        list(skin.positions.iter().map(|p| triple(*p * units)).collect()),
        list(skin.triangles.iter().map(|_| "3".to_owned()).collect()),
        list(skin.triangles.iter().flatten().map(usize::to_string).collect()),
        list(skin.held.iter().flat_map(|h| h.0).map(|b| b.to_string()).collect()),
        list(skin.held.iter().flat_map(|h| h.1).map(|w| (w as f32).to_string()).collect()),
    );
}

fn triple(p: DVec3) -> String {
    format!("({}, {}, {})", p.x as f32, p.y as f32, p.z as f32)
}

/// In rows, as USD has them: the columns of ours.
fn matrix(m: DAffine3) -> String {
    let row = |r: [f64; 4]| format!("({}, {}, {}, {})", r[0], r[1], r[2], r[3]);
    let rows = DMat4::from(m).to_cols_array_2d().map(row);
    format!("( {} )", rows.join(", "))
}
