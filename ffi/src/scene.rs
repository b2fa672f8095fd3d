//! Scenes: opened from files or memory, given a job's curves, saved.

use crate::axes::Axes;
use crate::bake::{SINEW_OPENUSD, backend};
use crate::callback::{Listener, sinew_callbacks};
use crate::guard::guard;
use crate::job::{known_flags, sinew_job};
use crate::live::{self, Opaque};
use crate::output::{self, Out};
use crate::result::{
    Fault, SINEW_BAD_INPUT, SINEW_INVALID_ARGUMENT, SINEW_NOT_SUPPORTED, SINEW_OUT_OF_RANGE, sinew_result,
};
use crate::setup::sinew_setup;
use crate::{input, options, versioned};
use sinew_core::setup::{self, Setup, Wish};
use sinew_plugin::document::Document;
use sinew_plugin::gltf::{PhysicsDialect, ReadOptions};
use sinew_plugin::job::{ClipNames, save_physics};
use sinew_plugin::usd::{self, Destination};
use std::ffi::c_char;
use std::path::PathBuf;

/// Nodes, meshes and clips, from a file or from the host. Functions that take it as `const` may run on several
/// threads at once; the others need it for themselves.
pub struct sinew_scene {
    _private: [u8; 0],
}

impl Opaque for sinew_scene {
    type Inner = Scene;
    const NAME: &'static str = "scene";
}

/// A scene and where it came from.
pub struct Scene {
    pub(crate) source: Source,
    /// The host's axes; Y up for files.
    pub(crate) axes: Axes,
    /// What the host said of its units; else automatic set-ups guess.
    pub(crate) metres_per_unit: Option<f64>,
    /// Whether the host said how many frames per second; else automatic set-ups guess.
    pub(crate) frame_rate_is_known: bool,
}

/// Where a scene came from.
pub(crate) enum Source {
    /// A file, which can be saved.
    Document(Box<Document>),
    /// The host's memory.
    Host(sinew_core::scene::Scene),
}

impl Scene {
    fn document(document: Document) -> Scene {
        Scene {
            source: Source::Document(Box::new(document)),
            axes: Axes::Y,
            metres_per_unit: None,
            frame_rate_is_known: false,
        }
    }

    /// The plain data.
    pub(crate) fn data(&self) -> &sinew_core::scene::Scene {
        match &self.source {
            Source::Document(document) => document.scene(),
            Source::Host(scene) => scene,
        }
    }

    /// Whether curves will be stored as 32-bit floats.
    pub(crate) fn is_single(&self) -> bool {
        matches!(&self.source, Source::Document(document) if document.is_single())
    }

    /// A set-up of the host's, as it counts for this scene: paths of prims become names of nodes.
    pub(crate) fn adapt(&self, setup: Setup) -> Result<Setup, Fault> {
        match &self.source {
            Source::Document(document) => Ok(document.adapt(setup)?),
            Source::Host(_) => Ok(setup),
        }
    }

    /// A set-up from the physics in the file, or from the keys and what the host said of its units; and what the
    /// file's physics says that a set-up cannot.
    pub(crate) fn automatic(&self, clip: Option<&str>) -> Result<(Setup, Vec<String>), Fault> {
        if let Source::Document(document) = &self.source {
            return Ok(match document.physics(clip)? {
                Some(physics) => (physics.setup, physics.warnings),
                None => (document.automatic(clip)?, Vec::new()),
            });
        }
        let wish = Wish { unit: self.metres_per_unit, ..Wish::default() };
        let mut setup = setup::automatic_with(self.data(), clip, &wish)?;
        if self.frame_rate_is_known {
            setup.world.frames_per_second = Some(self.data().frames_per_second);
        }
        Ok((setup, Vec::new()))
    }
}

/// How to open a file. All zeros for the defaults.
#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub struct sinew_open_options {
    /// `sizeof(sinew_open_options)`.
    pub struct_size: u32,
    /// 0.
    pub reserved: u32,
    /// A folder that buffers, images and layers may come from besides the scene's own. NULL for none.
    pub asset_root: *const c_char,
    /// Bytes of `asset_root`.
    pub asset_root_length: usize,
    /// `SINEW_OPENUSD`, or 0.
    pub flags: u32,
    /// 0.
    pub reserved_2: u32,
}

versioned!(sinew_open_options {
    struct_size,
    reserved: u32,
    asset_root: *const c_char,
    asset_root_length: usize,
    flags: u32,
    reserved_2: u32,
});

impl sinew_open_options {
    /// # Safety
    /// The promises of the crate for texts.
    unsafe fn plain(&self) -> Result<ReadOptions, Fault> {
        known_flags(self.flags, SINEW_OPENUSD)?;
        // SAFETY: the same promises.
        let root = unsafe { input::maybe(self.asset_root, self.asset_root_length, "asset_root") }?;
        Ok(ReadOptions { asset_root: root.map(PathBuf::from), usd_backend: backend(self.flags) })
    }
}

/// Fills in the defaults. `struct_size` is `sizeof(sinew_open_options)`.
///
/// Thread: any. Errors: `SINEW_INVALID_ARGUMENT`.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn sinew_open_options_init(
    options: *mut sinew_open_options,
    struct_size: usize,
) -> sinew_result {
    // SAFETY: writable over `struct_size` bytes (promises of the crate).
    guard(|| unsafe { options::init(options, struct_size) })
}

/// Opens a `.gltf`, `.glb`, `.usda`, `.usdc`, `.usd` or `.usdz` file. `options` may be NULL. The new scene goes to `out` and is the caller's, to be
/// freed with `sinew_scene_free`.
///
/// Thread: any. Errors: `SINEW_INVALID_ARGUMENT`, `SINEW_BAD_INPUT`, `SINEW_IO`.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn sinew_scene_open(
    path: *const c_char,
    path_length: usize,
    options: *const sinew_open_options,
    out: *mut *mut sinew_scene,
) -> sinew_result {
    guard(|| {
        // SAFETY: the promises of the crate.
        let (out, path, options) = unsafe {
            (Out::new(out, "out")?, input::path(path, path_length, "path")?, options::read(options)?)
        };
        // SAFETY: the promises of the crate, for a text inside the options.
        let read = unsafe { options.plain() }?;
        out.set(live::insert(Scene::document(Document::open(path, &read)?)));
        Ok(())
    })
}

/// Opens GLB, glTF or USD (`.usda`, `.usdc`, `.usdz`) from memory; the bytes say which. Only data inside the document can
/// be used: buffers and layers in other files are refused.
/// `name` is what messages call it; it may be empty. The bytes are copied. The new scene goes to `out` and is the
/// caller's, to be freed with `sinew_scene_free`.
///
/// Thread: any. Errors: `SINEW_INVALID_ARGUMENT`, `SINEW_BAD_INPUT`.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn sinew_scene_open_memory(
    bytes: *const u8,
    length: usize,
    name: *const c_char,
    name_length: usize,
    out: *mut *mut sinew_scene,
) -> sinew_result {
    guard(|| {
        // SAFETY: the promises of the crate.
        let (out, bytes, name) = unsafe {
            (
                Out::new(out, "out")?,
                input::array(bytes, length, "bytes")?,
                input::maybe(name, name_length, "name")?,
            )
        };
        let name = name.unwrap_or("scene in memory");
        out.set(live::insert(Scene::document(Document::from_bytes(bytes, name)?)));
        Ok(())
    })
}

/// Opens a USD stage that this process has in memory: `id` is its number in the stage cache of OpenUSD's UsdUtils
/// (`UsdUtilsStageCache::Get().Insert(stage).ToLongInt()`). Needs the bridge to that very OpenUSD (`SINEW_OPENUSD_BRIDGE` in the
/// environment). What `sinew_scene_put_on_stage` put on the stage before does not count. `options` may be NULL. The new
/// scene goes to `out` and is the caller's, to be freed with `sinew_scene_free`.
///
/// Thread: any, as long as nobody changes the stage. Errors: `SINEW_INVALID_ARGUMENT`, `SINEW_BAD_INPUT` (no bridge, no
/// such stage), `SINEW_IO`.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn sinew_scene_open_stage(
    id: i64,
    options: *const sinew_open_options,
    out: *mut *mut sinew_scene,
) -> sinew_result {
    guard(|| {
        // SAFETY: the promises of the crate, for the text inside the options too.
        let (out, read) = unsafe { (Out::new(out, "out")?, options::read(options)?.plain()?) };
        let document = usd::Document::open_stage(id, &read)?;
        out.set(live::insert(Scene::document(Document::Usd(Box::new(document)))));
        Ok(())
    })
}

/// Puts what was added to a scene from `sinew_scene_open_stage` on that stage: as a layer of its own below the session layer,
/// in place of what this put there before. Nothing else of the stage changes.
///
/// Thread: the one that may change the stage. Errors: `SINEW_BAD_INPUT` (the stage is gone), `SINEW_NOT_SUPPORTED` (the
/// scene is not from a stage), handle errors.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn sinew_scene_put_on_stage(scene: *const sinew_scene) -> sinew_result {
    guard(|| {
        let scene = live::get(scene)?;
        let scene = scene.read()?;
        if let Source::Document(document) = &scene.source
            && let Document::Usd(document) = &**document
            && document.is_of_host()
        {
            return Ok(document.put_on_stage().map(drop)?);
        }
        let text = "the scene is not from sinew_scene_open_stage, so there is no stage to put it on; save it to a file";
        Err(Fault::new(SINEW_NOT_SUPPORTED, text))
    })
}

/// Frees a scene. NULL is fine. Jobs and sessions made from it live on.
///
/// Thread: any. Errors: `SINEW_BAD_HANDLE`.
#[unsafe(no_mangle)]
pub extern "C" fn sinew_scene_free(scene: *mut sinew_scene) -> sinew_result {
    guard(|| live::remove(scene))
}

/// Copies what was amiss in the file, one line each (see "Texts").
///
/// Thread: any, `const`. Errors: `SINEW_INVALID_ARGUMENT`, `SINEW_TOO_SMALL`, handle errors.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn sinew_scene_warnings(
    scene: *const sinew_scene,
    buffer: *mut c_char,
    capacity: usize,
    length: *mut usize,
) -> sinew_result {
    guard(|| {
        let scene = live::get(scene)?;
        let scene = scene.read()?;
        let lines = match &scene.source {
            Source::Document(document) => document.warnings().join("\n"),
            Source::Host(_) => String::new(),
        };
        // SAFETY: the promises of the crate.
        unsafe { output::text(&lines, buffer, capacity, length) }
    })
}

/// Puts the curves of a job on this scene into it as a clip, with the guiding clip's other curves. `name` may be
/// empty: then it is the job's, numbered if there is one of that name. `replace` other than 0 puts the clip in
/// place of the one of its name, or else of the guiding one. The clip's index goes to `out`, which may be NULL.
///
/// Thread: one at a time. Errors: `SINEW_INVALID_ARGUMENT` (the name is taken), `SINEW_BAD_INPUT` (the job is of
/// another scene), `SINEW_NOT_SUPPORTED` (the scene is not from a file, or a layer of differences is for USD), handle
/// errors. The scene is then as before.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn sinew_scene_add_job(
    scene: *mut sinew_scene,
    job: *const sinew_job,
    name: *const c_char,
    name_length: usize,
    replace: i32,
    out: *mut u32,
) -> sinew_result {
    guard(|| {
        let (scene, job) = (live::get(scene.cast_const())?, live::get(job)?);
        let (mut scene, job) = (scene.write()?, job.read()?);
        // SAFETY: the promises of the crate.
        let (out, name) = unsafe { (Out::maybe(out, "out")?, input::maybe(name, name_length, "name")?) };
        let Source::Document(document) = &mut scene.source else {
            return Err(not_a_file("be given clips by a job; read the job's curves instead"));
        };
        let outcome = &job.outcome;
        if job.nodes != document.scene().nodes.len() {
            let text = "the job was run on another scene: it has another number of nodes; run it on this one";
            return Err(Fault::new(SINEW_BAD_INPUT, text));
        }
        if matches!(**document, Document::Usd(_)) && !outcome.baked.additive.is_empty() {
            let text = "USD has no clips to be added to keys; run the job with SINEW_LAYER_FULL";
            return Err(Fault::new(SINEW_NOT_SUPPORTED, text));
        }
        let replace = replace != 0;
        let chosen = name.is_some() || job.name_is_chosen;
        let wish = name.unwrap_or(&outcome.name);
        let names = ClipNames::choose(document.scene(), outcome, wish, chosen, replace).map_err(|taken| {
            let text = format!("the scene already has a clip \"{taken}\"; give another name, or replace it");
            Fault::new(SINEW_INVALID_ARGUMENT, text)
        })?;
        // Shapes are added before clips, which may yet be refused.
        let mut changed = document.clone();
        let index = names.add(&mut changed, outcome, replace)?;
        *document = changed;
        out.set(index as u32);
        Ok(())
    })
}

/// Saves to a file, whole or not at all, in the format that the ending of its name says: `.gltf`, `.glb`, `.usda`, `.usdc`,
/// `.usd`, `.usdz`. A scene from USD saved as USD is a new layer over its file; as `.usdz` it is whole.
///
/// Thread: any, `const`. Errors: `SINEW_INVALID_ARGUMENT`, `SINEW_BAD_INPUT`, `SINEW_IO`, `SINEW_NOT_SUPPORTED`
/// (the scene is not from a file), handle errors.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn sinew_scene_save(
    scene: *const sinew_scene,
    path: *const c_char,
    path_length: usize,
) -> sinew_result {
    guard(|| {
        let scene = live::get(scene)?;
        let scene = scene.read()?;
        // SAFETY: the promises of the crate.
        let path = unsafe { input::path(path, path_length, "path") }?;
        match &scene.source {
            Source::Document(document) => Ok(document.save(path, Destination::Layer, None).map(|_| ())?),
            Source::Host(_) => Err(not_a_file("be saved; read the job's curves and save with the host")),
        }
    })
}

/// In glTF, as `KHR_physics_rigid_bodies` with `KHR_implicit_shapes`.
pub const SINEW_PHYSICS_KHR: i32 = 0;
/// In glTF, as `OMI_physics_body`, `OMI_physics_shape`, `OMI_physics_joint` and `OMI_physics_gravity`.
pub const SINEW_PHYSICS_OMI: i32 = 1;

/// Saves as `sinew_scene_save` does, with a set-up in the file as its physics: in USD as UsdPhysics, in glTF as
/// `physics` says (`SINEW_PHYSICS_...`). What the format cannot express is told by the callbacks, which may be NULL.
///
/// Thread: any, scene and set-up `const`. Errors: those of `sinew_scene_save`, `SINEW_BAD_SETUP` (a body that is not in
/// the scene, or nothing that is simulated), `SINEW_OUT_OF_RANGE` (no such `physics`).
#[unsafe(no_mangle)]
pub unsafe extern "C" fn sinew_scene_save_physics(
    scene: *const sinew_scene,
    setup: *const sinew_setup,
    physics: i32,
    path: *const c_char,
    path_length: usize,
    callbacks: *const sinew_callbacks,
) -> sinew_result {
    guard(|| {
        let (scene, setup) = (live::get(scene)?, live::get(setup)?);
        let (scene, setup) = (scene.read()?, setup.read()?);
        // SAFETY: the promises of the crate.
        let (path, listener) =
            unsafe { (input::path(path, path_length, "path")?, Listener::new(callbacks)?) };
        let dialect = match physics {
            SINEW_PHYSICS_KHR => PhysicsDialect::Khronos,
            SINEW_PHYSICS_OMI => PhysicsDialect::Omi,
            other => {
                let text =
                    format!("physics is {other}, which this library does not know; see SINEW_PHYSICS_...");
                return Err(Fault::new(SINEW_OUT_OF_RANGE, text));
            }
        };
        let Source::Document(document) = &scene.source else {
            return Err(not_a_file("be saved; save with the host, open that file, and save it with physics"));
        };
        let setup = scene.adapt(setup.clone())?;
        listener.warn(&save_physics(document, &setup, "the set-up", dialect, path)?);
        Ok(())
    })
}

fn not_a_file(what: &str) -> Fault {
    Fault::new(
        SINEW_NOT_SUPPORTED,
        format!("a scene made by sinew_scene_create has no file behind it, so it cannot {what}"),
    )
}
