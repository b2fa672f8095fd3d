//! USD through the C interface: opened, simulated, saved as a layer, and baked from file to file.

use crate::host::ok;
use sinew::bake::*;
use sinew::job::*;
use sinew::look::*;
use sinew::result::{SINEW_BAD_INPUT, SINEW_INVALID_ARGUMENT, SINEW_NOT_SUPPORTED};
use sinew::scene::*;
use sinew::setup::*;
use std::ffi::{CString, c_char};
use std::path::Path;
use std::ptr::{null, null_mut};

const SHOT: &str = r#"#usda 1.0
(
    metersPerUnit = 0.01
    upAxis = "Z"
    startTimeCode = 1
    endTimeCode = 30
)
def Xform "World"
{
    def Cube "Box"
    {
        double size = 50
        double3 xformOp:translate.timeSamples = { 1: (0, 0, 0), 15: (200, 0, 100), 30: (400, 0, 0) }
        uniform token[] xformOpOrder = ["xformOp:translate"]
    }
}
"#;

fn text(path: &Path) -> CString {
    CString::new(path.to_str().expect("a plain path")).expect("no zero in it")
}

fn open(path: &Path) -> *mut sinew_scene {
    let (name, mut scene) = (text(path), null_mut());
    // SAFETY: a text of that length, a place for the scene.
    ok(unsafe { sinew_scene_open(name.as_ptr(), name.as_bytes().len(), null(), &raw mut scene) });
    scene
}

fn save(scene: *const sinew_scene, path: &Path) {
    let name = text(path);
    // SAFETY: as above.
    ok(unsafe { sinew_scene_save(scene, name.as_ptr(), name.as_bytes().len()) });
}

#[test]
fn a_stage_is_opened_simulated_and_saved_as_a_layer() {
    let folder = tempfile::tempdir().expect("a folder");
    let file = folder.path().join("shot.usda");
    std::fs::write(&file, SHOT).expect("written");
    let scene = open(&file);
    // By path, as set-ups may.
    let json = br#"{"sinew": 1, "bodies": [{"node": "/World/Box"}]}"#;
    let (mut setup, mut job, mut index) = (null_mut(), null_mut(), 0);
    let out = folder.path().join("out.usda");
    // SAFETY: handles that live, texts of the lengths told, places for what comes out.
    unsafe {
        ok(sinew_setup_from_json(json.as_ptr().cast::<c_char>(), json.len(), &raw mut setup));
        ok(sinew_job_run(scene, setup, null(), null(), &raw mut job));
        ok(sinew_scene_add_job(scene, job, null(), 0, 0, &raw mut index));
        let mut options: sinew_job_options = std::mem::zeroed();
        options.struct_size = size_of::<sinew_job_options>() as u32;
        options.layer = SINEW_LAYER_BOTH;
        let mut layered = null_mut();
        ok(sinew_job_run(scene, setup, &raw const options, null(), &raw mut layered));
        assert_eq!(sinew_scene_add_job(scene, layered, null(), 0, 0, &raw mut index), SINEW_NOT_SUPPORTED);
        ok(sinew_job_free(layered));
    }
    save(scene, &out);
    let written = std::fs::read_to_string(&out).expect("there");
    assert!(written.contains("@./shot.usda@") && written.contains("over \"Box\""), "{written}");
    // Cubic keys of a job are sampled at every frame.
    assert!(written.matches(".0: (").count() >= 30, "{written}");
    for other in ["whole.usdz", "as.glb"] {
        save(scene, &folder.path().join(other));
        ok(sinew_scene_free(open(&folder.path().join(other))));
    }
    ok(sinew_job_free(job));
    ok(sinew_setup_free(setup));
    ok(sinew_scene_free(scene));
}

#[test]
fn a_stage_is_baked_from_file_to_file() {
    let folder = tempfile::tempdir().expect("a folder");
    let file = folder.path().join("shot.usda");
    std::fs::write(&file, SHOT).expect("written");
    let (scene, flat) = (text(&file), text(&folder.path().join("flat.usdc")));
    // SAFETY: a struct of the size told, texts that live as long as it.
    unsafe {
        let mut request: sinew_bake_request = std::mem::zeroed();
        request.struct_size = size_of::<sinew_bake_request>() as u32;
        (request.scene, request.scene_length) = (scene.as_ptr(), scene.as_bytes().len());
        ok(sinew_bake_file(&raw const request, null(), null_mut()));
        assert!(folder.path().join("shot.sinew.usda").is_file());
        (request.output, request.output_length) = (flat.as_ptr(), flat.as_bytes().len());
        request.flags = SINEW_FLATTEN;
        ok(sinew_bake_file(&raw const request, null(), null_mut()));
        let bytes = std::fs::read(folder.path().join("flat.usdc")).expect("there");
        assert!(bytes.starts_with(b"PXR-USDC"));
        request.layer = SINEW_LAYER_ADDITIVE;
        assert_eq!(sinew_bake_file(&raw const request, null(), null_mut()), SINEW_INVALID_ARGUMENT);
    }
    std::fs::write(&file, SHOT.replace("(0, 0, 0), 15", "(nan, 0, 0), 15")).expect("written");
    let mut out = null_mut();
    // SAFETY: as above.
    let done = unsafe { sinew_scene_open(scene.as_ptr(), scene.as_bytes().len(), null(), &raw mut out) };
    assert_eq!(done, SINEW_BAD_INPUT);
}

/// Two boxes of which one falls.
const FALLS: &[u8] = br#"#usda 1.0
(
    metersPerUnit = 1
    startTimeCode = 0
    endTimeCode = 24
)
def Xform "World"
{
    def Cube "Box" (
        prepend apiSchemas = ["PhysicsRigidBodyAPI", "PhysicsCollisionAPI"]
    )
    {
        double3 xformOp:translate = (0, 5, 0)
        uniform token[] xformOpOrder = ["xformOp:translate"]
    }
}
"#;

#[test]
fn usd_is_opened_from_memory_baked_and_is_on_no_stage() {
    let (mut scene, mut job, mut count) = (null_mut(), null_mut(), 0);
    // SAFETY: bytes and texts of the lengths that are told, NULL where it is allowed, places for the answers.
    unsafe {
        ok(sinew_scene_open_memory(FALLS.as_ptr(), FALLS.len(), c"falls".as_ptr(), 5, &raw mut scene));
        ok(sinew_scene_node_count(scene, &raw mut count));
        assert_eq!(count, 2);
        ok(sinew_job_run(scene, null(), null(), null(), &raw mut job));
        ok(sinew_scene_add_job(scene, job, null(), 0, 0, null_mut()));
        assert_eq!(sinew_scene_put_on_stage(scene), SINEW_NOT_SUPPORTED);
        let broken = &FALLS[..FALLS.len() - 3];
        let mut none = null_mut();
        let result = sinew_scene_open_memory(broken.as_ptr(), broken.len(), null(), 0, &raw mut none);
        assert_eq!(result, SINEW_BAD_INPUT);
        // Nobody has a stage of that number, and where there is no OpenUSD nobody has any.
        assert_eq!(sinew_scene_open_stage(i64::MAX, null(), &raw mut none), SINEW_BAD_INPUT);
        assert!(none.is_null());
    }
    ok(sinew_job_free(job));
    ok(sinew_scene_free(scene));
}
