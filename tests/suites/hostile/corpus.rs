//! Files that are wrong in one place each. Whatever is wrong is refused, or warned of; never passed over.

use super::*;
use sinew_tests::scratch;

/// One wrong value: where, and what.
struct Wrong {
    at: String,
    value: Value,
}

/// Places of indices; each has a value that is out of range, one that is negative, one that is no number.
const INDICES: [&str; 22] = [
    "/scene",
    "/scenes/0/nodes/0",
    "/nodes/0/mesh",
    "/nodes/1/skin",
    "/nodes/1/children/0",
    "/nodes/4/camera",
    "/meshes/0/primitives/0/attributes/POSITION",
    "/meshes/0/primitives/0/indices",
    "/meshes/1/primitives/0/attributes/JOINTS_0",
    "/skins/0/joints/0",
    "/skins/0/inverseBindMatrices",
    "/accessors/0/bufferView",
    "/accessors/3/bufferView",
    "/bufferViews/0/buffer",
    "/animations/0/channels/0/sampler",
    "/animations/0/channels/0/target/node",
    "/animations/0/samplers/0/input",
    "/animations/0/samplers/0/output",
    "/nodes/0/extensions/KHR_physics_rigid_bodies/collider/geometry/shape",
    "/nodes/4/extensions/KHR_physics_rigid_bodies/joint/connectedNode",
    "/nodes/4/extensions/KHR_physics_rigid_bodies/joint/joint",
    "/bufferViews/2/buffer",
];

/// Other places, and values that they must not have.
fn others() -> Vec<(&'static str, Vec<Value>)> {
    let wrong_sizes = || vec![json!(-1), json!(1e18), json!("x"), json!(0.5)];
    vec![
        ("/asset/version", vec![json!("1.0"), json!("3.0"), json!(2), Value::Null]),
        ("/accessors/0/count", wrong_sizes()),
        ("/accessors/2/count", [wrong_sizes(), vec![json!(0), json!(5)]].concat()),
        ("/accessors/3/count", vec![json!(3), json!(5)]),
        ("/accessors/0/componentType", vec![json!(5), json!("x"), json!(5130)]),
        ("/accessors/0/type", vec![json!("VEC9"), json!(3)]),
        ("/accessors/3/byteOffset", vec![json!(-4), json!(1e15), json!(2), json!("x")]),
        ("/bufferViews/0/byteLength", wrong_sizes()),
        ("/bufferViews/0/byteOffset", wrong_sizes()),
        ("/buffers/0/byteLength", wrong_sizes()),
        (
            "/buffers/0/uri",
            vec![json!("data:;base64,####"), json!("../x.bin"), json!("http://x/y"), json!(7)],
        ),
        ("/nodes/0/translation", vec![json!([0, "x", 0]), json!([0, 1]), json!("x")]),
        ("/nodes/0/children", vec![json!([0]), json!("x"), json!([4, 4])]),
        ("/nodes/0/matrix", vec![json!([1, 2, 3]), json!("x")]),
        ("/animations/0/channels/0/target/path", vec![json!("colour"), json!(3)]),
        ("/animations/0/samplers/0/interpolation", vec![json!("CURLY"), json!("CUBICSPLINE")]),
        ("/skins/0/joints", vec![json!([]), json!("x")]),
        (
            "/nodes/0/extensions/KHR_physics_rigid_bodies/motion/mass",
            vec![json!(-1), json!(-1e300), json!("heavy"), json!(0)],
        ),
        (
            "/nodes/0/extensions/KHR_physics_rigid_bodies/motion/inertiaDiagonal",
            vec![json!([-1, 1, 1]), json!("x"), json!([1, 1])],
        ),
        ("/nodes/0/extensions/KHR_physics_rigid_bodies/motion/gravityFactor", vec![json!("x")]),
        (
            "/extensions/KHR_implicit_shapes/shapes/0/box/size",
            vec![json!([-1, 1, 1]), json!("x"), json!([0, 0, 0])],
        ),
        ("/extensions/KHR_implicit_shapes/shapes/0/type", vec![json!("blob"), json!(1)]),
    ]
}

fn wrongs() -> Vec<Wrong> {
    let mut all = Vec::new();
    for at in INDICES {
        for value in [json!(4_000_000_000_u32), json!(-1), json!("x")] {
            all.push(Wrong { at: at.to_owned(), value });
        }
    }
    for (at, values) in others() {
        all.extend(values.into_iter().map(|value| Wrong { at: at.to_owned(), value }));
    }
    all
}

/// Puts a value where a pointer leads, making the last step if it is not there.
fn set(json: &mut Value, at: &str, value: Value) {
    let (above, last) = at.rsplit_once('/').unwrap();
    let above = json.pointer_mut(above).unwrap_or_else(|| panic!("the scene has no {at}"));
    match above {
        Value::Array(items) => items[last.parse::<usize>().unwrap()] = value,
        other => other[last] = value,
    }
}

#[test]
fn what_is_wrong_in_a_scene_is_refused_or_named() {
    let folder = scratch::folder("corpus");
    let sound = put(folder.path(), "sound.gltf", scene().to_string());
    let Outcome::Done(usual) = bake(&sound, None, few()) else { panic!("the sound scene is refused") };
    let wrongs = wrongs();
    assert!(wrongs.len() >= 105, "{}", wrongs.len());
    let mut silent = Vec::new();
    for (i, wrong) in wrongs.iter().enumerate() {
        let mut json = scene();
        set(&mut json, &wrong.at, wrong.value.clone());
        let path = put(folder.path(), &format!("wrong-{i}.gltf"), json.to_string());
        match bake(&path, None, few()) {
            Outcome::Refused(_) => {}
            Outcome::Done(said) if said.iter().any(|w| !usual.contains(w)) => {}
            Outcome::Done(_) => silent.push(format!("{} = {}", wrong.at, wrong.value)),
        }
    }
    assert!(silent.is_empty(), "passed over: {silent:#?}");
}

#[test]
fn numbers_that_are_none_are_refused_or_named() {
    let folder = scratch::folder("nan");
    let json = scene();
    let uri = json["buffers"][0]["uri"].as_str().unwrap().split_once(',').unwrap().1.to_owned();
    let data = base64::engine::general_purpose::STANDARD.decode(uri).unwrap();
    // Of positions, times, values, inverse binds, weights.
    for (view, what) in [(0, "positions"), (2, "times"), (3, "values"), (4, "inverse binds"), (6, "weights")]
    {
        let at = json["bufferViews"][view]["byteOffset"].as_u64().unwrap() as usize;
        for bad in [f32::NAN, f32::INFINITY, f32::NEG_INFINITY] {
            let mut json = json.clone();
            let mut data = data.clone();
            data[at + 4..at + 8].copy_from_slice(&bad.to_le_bytes());
            json["buffers"][0].as_object_mut().unwrap().remove("uri");
            let path = put(folder.path(), "nan.glb", glb(&json, &data));
            match bake(&path, None, few()) {
                Outcome::Refused(_) => {}
                Outcome::Done(said) => assert!(!said.is_empty(), "{bad} in {what} passed over"),
            }
        }
    }
    // In a channel that is only carried along.
    let mut json = json.clone();
    json["extensionsUsed"] = json!(["KHR_animation_pointer"]);
    json["animations"][0]["samplers"].as_array_mut().unwrap().push(json!({ "input": 2, "output": 7 }));
    json["animations"][0]["channels"]
        .as_array_mut()
        .unwrap()
        .push(json!({ "sampler": 1, "target": { "path": "pointer",
        "extensions": { "KHR_animation_pointer": { "pointer": "/cameras/0/perspective/yfov" } } } }));
    json["accessors"]
        .as_array_mut()
        .unwrap()
        .push(json!({ "bufferView": 7, "componentType": 5126, "count": 4, "type": "SCALAR" }));
    for (bytes, sound) in [([1.0_f32, 2.0, 3.0, 4.0], true), ([1.0, f32::NAN, 3.0, 4.0], false)] {
        let mut json = json.clone();
        let mut data = data.clone();
        json["bufferViews"]
            .as_array_mut()
            .unwrap()
            .push(json!({ "buffer": 0, "byteOffset": data.len(), "byteLength": 16 }));
        data.extend(bytes.iter().flat_map(|v| v.to_le_bytes()));
        json["buffers"][0] = json!({ "byteLength": data.len() });
        let path = put(folder.path(), "carried.glb", glb(&json, &data));
        match bake(&path, None, few()) {
            Outcome::Refused(why) => assert!(!sound, "{why}"),
            Outcome::Done(said) => {
                let named = said.iter().any(|w| w.contains("finite"));
                assert!(sound || named, "{said:?}");
            }
        }
    }
    json["animations"][0]["samplers"][1]["output"] = json!(99);
    let mut whole = json.clone();
    whole["accessors"].as_array_mut().unwrap().pop();
    let path = put(folder.path(), "range.gltf", whole.to_string());
    match bake(&path, None, few()) {
        Outcome::Refused(_) => {}
        Outcome::Done(said) => assert!(said.iter().any(|w| w.contains("99")), "{said:?}"),
    }
}

#[test]
fn a_container_that_lies_is_refused() {
    let folder = scratch::folder("container");
    let sound = glb(&scene(), &[0; 16]);
    for cut in [0, 1, 4, 8, 11, 12, 15, 19, 20, 100, sound.len() - 1] {
        let path = put(folder.path(), "cut.glb", &sound[..cut]);
        assert!(matches!(bake(&path, None, few()), Outcome::Refused(_)), "cut at {cut}");
    }
    for (at, name) in [(4, "version"), (8, "length"), (12, "length of the JSON")] {
        for value in [0_u32, 1, 0x7fff_ffff, u32::MAX] {
            let mut bytes = sound.clone();
            bytes[at..at + 4].copy_from_slice(&value.to_le_bytes());
            let path = put(folder.path(), "lie.glb", &bytes);
            assert!(matches!(bake(&path, None, few()), Outcome::Refused(_)), "{name} {value}");
        }
    }
}

#[test]
fn what_is_wrong_in_a_set_up_is_refused() {
    let folder = scratch::folder("setups");
    let path = put(folder.path(), "scene.gltf", scene().to_string());
    let sound = json!({ "sinew": 1, "world": { "gravity": [0, -9.81, 0] },
        "bodies": [{ "node": "Cube", "behaviour": "free", "mass": 2.0 }],
        "joints": [{ "kind": "pin", "between": ["Cube", "Hook"] }] });
    let file = put(folder.path(), "s.json", sound.to_string());
    assert!(matches!(bake(&path, Some(&file), few()), Outcome::Done(_)));
    let wrong: Vec<(&str, Value)> = vec![
        ("/sinew", json!(99)),
        ("/world/gravity", json!([0, "x", 0])),
        ("/world/gravity", json!([0, 1])),
        ("/world/metres_per_unit", json!(0)),
        ("/world/metres_per_unit", json!(-1)),
        ("/world/substeps", json!(0)),
        ("/world/substeps", json!(1_000_000)),
        ("/world/steps_per_second", json!(-1)),
        ("/bodies/0/mass", json!(-1)),
        ("/bodies/0/mass", json!(0)),
        ("/bodies/0/mass", json!("x")),
        ("/bodies/0/node", json!("Nobody")),
        ("/bodies/0/behaviour", json!("lazy")),
        ("/bodies/0/shape", json!({ "kind": "sphere", "radius": -1 })),
        ("/bodies/0/shape", json!({ "kind": "capsule", "radius": 0.5, "length": -1 })),
        ("/bodies/0/inertia", json!([-1, 1, 1])),
        ("/joints/0/between", json!(["Cube", "Cube"])),
        ("/joints/0/between", json!(["Cube", "Nobody"])),
        ("/joints/0/between", json!(["Cube"])),
        ("/joints/0/kind", json!("glue")),
        ("/bake", json!({ "frames": [10, 0] })),
        ("/bake", json!({ "frames": [0, 1e12] })),
        ("/bake", json!({ "tolerance": -1 })),
    ];
    for (at, value) in wrong {
        let mut json = sound.clone();
        set(&mut json, at, value.clone());
        let file = put(folder.path(), "s.json", json.to_string());
        let request = if at == "/bake" { BakeRequest::default() } else { few() };
        let done = bake(&path, Some(&file), request);
        assert!(matches!(done, Outcome::Refused(_)), "{at} = {value}: {done:?}");
    }
    for text in [
        "",
        "{",
        "[]",
        "null",
        "{\"sinew\": 1, \"sinew\": 1}x",
        "{\"sinew\": 1, \"world\": {\"gravity\": [0, NaN, 0]}}",
        "{\"sinew\": 1, \"world\": {\"gravity\": [0, 1e999, 0]}}",
        "{\"sinew\": 1, \"bodies\": [{\"node\": \"Cube\", \"mass\": -Infinity}]}",
    ] {
        let file = put(folder.path(), "s.json", text);
        assert!(matches!(bake(&path, Some(&file), few()), Outcome::Refused(_)), "{text}");
    }
}
