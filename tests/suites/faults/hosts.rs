//! Hosts, by the Python package: forks, two copies of the library, soft skins, limits.

use super::*;
use sinew_tests::scratch;

/// Runs a script with the package and the library.
fn python(script: &str, arguments: &[&Path], folder: &Path) -> Finished {
    let run = Program::new("python3")
        .arg("-c")
        .arg(script)
        .args(arguments)
        .env("PYTHONPATH", repository::root().join("plugin/python"))
        .env("SINEW_LIBRARY", built::library().unwrap())
        .folder(folder)
        .limit(ENDLESS)
        .run();
    run.unwrap()
}

#[test]
fn a_child_of_fork_bakes_as_its_parent_does() {
    let folder = scratch::folder("fork");
    let script = r#"
import sys, os, sinew, multiprocessing
scene = sys.argv[1]
def bake(name):
    sinew.bake(scene, name)
    return open(name, "rb").read()
first = bake("a.glb")
with multiprocessing.get_context("fork").Pool(2) as pool:
    # A child that hangs is a failure.
    for other in pool.map_async(bake, ["b.glb", "c.glb"]).get(timeout=600):
        assert other == first
"#;
    python(script, &[&example("dominoes.gltf")], folder.path()).success().unwrap();
}

#[test]
fn a_handle_of_another_copy_of_the_library_is_refused() {
    let folder = scratch::folder("copies");
    hop(folder.path());
    let script = r#"
import ctypes, os, shutil, sys, pathlib
from sinew import library
copies = []
for name in ["a.so", "b.so"]:
    shutil.copy(os.environ["SINEW_LIBRARY"], name)
    copies.append(library._open(pathlib.Path(name).resolve()))
a, b = copies
mine, theirs, count = ctypes.c_void_p(), ctypes.c_void_p(), ctypes.c_uint32()
for lib, out in [(a, mine), (b, theirs)]:
    take = lib.sinew_scene_open
    take.argtypes = [ctypes.c_char_p, ctypes.c_size_t, ctypes.c_void_p, ctypes.c_void_p]
    assert take(b"hop.gltf", 8, None, ctypes.byref(out)) == 0
for f in ["sinew_scene_node_count", "sinew_scene_free"]:
    for lib in copies:
        getattr(lib, f).argtypes = None
assert a.sinew_scene_node_count(mine, ctypes.byref(count)) == 0 and count.value == 1
bad = b.sinew_scene_node_count(mine, ctypes.byref(count))
assert bad != 0, "the handle of another copy was taken"
assert b.sinew_scene_free(mine) == bad
assert b.sinew_scene_node_count(theirs, ctypes.byref(count)) == 0
assert a.sinew_scene_free(mine) == 0 and b.sinew_scene_free(theirs) == 0
"#;
    python(script, &[], folder.path()).success().unwrap();
}

#[test]
fn open_run_add_save_is_what_the_command_writes() {
    let folder = scratch::folder("soft");
    let scene = example("soft_snake.gltf");
    sinew(&["bake", scene.to_str().unwrap(), "-o", "command.glb"], folder.path());
    let script = r#"
import sys, sinew
path = sys.argv[1]
scene = sinew.Scene.open(path)
setup = sinew.Setup.open(path.replace(".gltf", ".sinew.json"))
job = sinew.Job.run(scene, setup)
scene.add_job(job)
scene.save("host.glb")
assert open("host.glb", "rb").read() == open("command.glb", "rb").read()
"#;
    python(script, &[&scene], folder.path()).success().unwrap();
}

#[test]
fn absurd_counts_steps_and_limits_are_codes_and_not_the_end() {
    let folder = scratch::folder("absurd");
    hop(folder.path());
    let script = r#"
import ctypes, sinew
from sinew import library
scene = sinew.Scene.open("hop.gltf")
with sinew.Session(scene) as session:
    for dt in [1e-308, 1e-200, 5e-324, 0.0, float("nan"), -1.0, float("inf")]:
        try:
            session.step(dt)
            raise SystemExit(f"a step of {dt} was taken")
        except sinew.SinewError:
            pass
    session.step(1e-9)
lib = library.load()
made = sinew.Scene.create("made", frames_per_second=24)
node = made.add_node("Ball")
mesh = lib.sinew_scene_set_mesh
numbers = (ctypes.c_double * 3)()
for count in [2**60 - 1, 2**58, 2**45]:
    mesh.argtypes = None
    code = mesh(made._as_parameter_, ctypes.c_uint32(node), numbers, ctypes.c_size_t(count), None, ctypes.c_size_t(0))
    assert code != 0, count
library.call("sinew_set_limits", 0.0, 5)
try:
    sinew.Job.run(scene)
    raise SystemExit("more samples than the limit")
except sinew.SinewError as e:
    assert "limit of 5" in str(e), e
library.call("sinew_set_limits", 1e-9, 0)
try:
    sinew.Job.run(scene)
    raise SystemExit("more time than the limit")
except sinew.SinewError as e:
    assert "limit" in str(e), e
library.call("sinew_set_limits", 0.0, 0)
sinew.Job.run(scene)
for seconds in [-1.0, float("nan")]:
    try:
        library.call("sinew_set_limits", seconds, 0)
        raise SystemExit("a limit of nonsense")
    except sinew.SinewError:
        pass
"#;
    python(script, &[], folder.path()).success().unwrap();
}
