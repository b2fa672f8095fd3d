//! A scene that carries its own physics: a rope of three pieces under a ceiling, as OMI's extensions have it.

use serde_json::{Value, json};
use std::path::{Path, PathBuf};

/// Half of a piece, m.
const HALF: f64 = 0.2;

/// Writes it into `folder`. The pieces are called `Piece 1` to `Piece 3`, and begin level: so the rope falls and swings.
pub fn rope(folder: &Path) -> PathBuf {
    let body = |kind: &str| json!({"OMI_physics_body": {"motion": {"type": kind}}});
    let form = |shape: usize| json!({"OMI_physics_body": {"collider": {"shape": shape}}});
    let mut nodes: Vec<Value> = vec![
        json!({"name": "Ceiling", "translation": [0.0, 2.0, 0.0], "extensions": body("static"), "children": [1, 2]}),
        json!({"name": "Block", "extensions": form(0)}),
        json!({"name": "Hook", "translation": [0.0, -0.25, 0.0]}),
    ];
    let mut roots = vec![0];
    let mut above = 2;
    for i in 0..3 {
        let first = nodes.len();
        roots.push(first);
        let along = HALF * f64::from(2 * i + 1);
        nodes.push(json!({
            "name": format!("Piece {}", i + 1), "translation": [along, 1.75, 0.0],
            "extensions": body("dynamic"), "children": [first + 1, first + 2, first + 3],
        }));
        let half = std::f64::consts::FRAC_1_SQRT_2;
        nodes.push(json!({"name": format!("Form {}", i + 1), "rotation": [0.0, 0.0, half, half], "extensions": form(1)}));
        let joint = json!({"OMI_physics_joint": {"connectedNode": above, "joint": 0}});
        nodes.push(
            json!({"name": format!("Pin {}", i + 1), "translation": [-HALF, 0.0, 0.0], "extensions": joint}),
        );
        nodes.push(json!({"name": format!("End {}", i + 1), "translation": [HALF, 0.0, 0.0]}));
        above = first + 3;
    }
    let limit = json!({"linearAxes": [0, 1, 2], "min": 0.0, "max": 0.0, "stiffness": 0.3, "damping": 1.0});
    let json = json!({
        "asset": {"version": "2.0"},
        "scene": 0,
        "scenes": [{"nodes": roots}],
        "nodes": nodes,
        "extensionsUsed": ["OMI_physics_body", "OMI_physics_joint", "OMI_physics_shape"],
        "extensions": {
            "OMI_physics_joint": {"physicsJoints": [{"limits": [limit]}]},
            "OMI_physics_shape": {"shapes": [
                {"type": "box", "box": {"size": [0.5, 0.5, 0.5]}},
                {"type": "capsule", "capsule": {"height": 0.4, "radius": 0.04}},
            ]},
        },
    });
    let path = folder.join("rope.gltf");
    std::fs::write(&path, json.to_string()).expect("the scratch folder can be written");
    path
}
