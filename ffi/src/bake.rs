//! File to file in one call: what `sinew bake` does, with the same bits.

use crate::callback::{Listener, sinew_callbacks};
use crate::guard::guard;
use crate::job::{self, SINEW_EVERY_FRAME, SINEW_FRAMES, SINEW_HOLD, SINEW_LOOP, SINEW_LOOSENESS};
use crate::live::{self, Opaque};
use crate::output::{self, Out};
use crate::result::{Fault, sinew_result};
use crate::{input, options, versioned};
use sinew_core::setup::Wish;
use sinew_plugin::gltf::ReadOptions;
use sinew_plugin::job::{BakeRequest, Report, SetupSource, bake_file};
use sinew_plugin::usd::Backend;
use std::ffi::c_char;

/// What a bake from file to file did. Never changes: all functions may run on several threads at once.
pub struct sinew_report {
    _private: [u8; 0],
}

impl Opaque for sinew_report {
    type Inner = Report;
    const NAME: &'static str = "report";
}

/// Put the new clip in the place of the one of its name, or of the guiding one.
pub const SINEW_REPLACE: u32 = 8;
/// Allow the output to be the scene's own file.
pub const SINEW_IN_PLACE: u32 = 16;
/// Make the set-up from the keys, even if `NAME.sinew.json` lies beside the scene.
pub const SINEW_AUTOMATIC: u32 = 32;

/// Simulate a second time with the other kind of substeps, and report how far apart the two are.
pub const SINEW_COMPARE_STEPS: u32 = 64;

/// USD: write everything into one layer, instead of a new layer over the scene.
pub const SINEW_FLATTEN: u32 = 1024;

/// USD: composed and written by the studio's own OpenUSD, whose bridge the environment's `SINEW_OPENUSD_BRIDGE` names,
/// instead of by Sinew itself. Where it is not there, Sinew does it, with a warning.
pub const SINEW_OPENUSD: u32 = 2048;

/// USD: write few keys as splines, instead of a sample at every frame.
pub const SINEW_SPLINES: u32 = 4096;

/// What to bake, and how. All zeros but `struct_size` and `scene` bakes like `sinew bake SCENE`.
#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub struct sinew_bake_request {
    /// `sizeof(sinew_bake_request)`.
    pub struct_size: u32,
    /// `SINEW_EVERY_FRAME`, `SINEW_FRAMES`, `SINEW_REPLACE`, `SINEW_IN_PLACE`, `SINEW_AUTOMATIC`,
    /// `SINEW_COMPARE_STEPS`, `SINEW_LOOP`, `SINEW_HOLD`, `SINEW_FLATTEN`, `SINEW_OPENUSD`, `SINEW_SPLINES`,
    /// `SINEW_LOOSENESS`, added up.
    pub flags: u32,
    /// `SINEW_PRESET_...` for every actuator.
    pub preset: i32,
    /// 0.
    pub reserved: u32,
    /// First frame, when `flags` has `SINEW_FRAMES`. Frame 0 is time 0.
    pub first_frame: f64,
    /// Last frame, likewise.
    pub last_frame: f64,
    /// Largest distance of the keys from the simulation, scene units; 0 as the set-up says.
    pub tolerance: f64,
    /// The scene's file.
    pub scene: *const c_char,
    /// Bytes of `scene`.
    pub scene_length: usize,
    /// Where the result goes. NULL: beside the scene, as `NAME.sinew.glb`, or for USD as the layer `NAME.sinew.usda`.
    pub output: *const c_char,
    /// Bytes of `output`.
    pub output_length: usize,
    /// The set-up file. NULL: `NAME.sinew.json` beside the scene if it is there, else the
    /// physics in the scene, else automatic.
    pub setup: *const c_char,
    /// Bytes of `setup`.
    pub setup_length: usize,
    /// The guiding clip, by name or `#index`. NULL as the set-up says.
    pub clip: *const c_char,
    /// Bytes of `clip`.
    pub clip_length: usize,
    /// Name for the new clip. NULL as the set-up says.
    pub name: *const c_char,
    /// Bytes of `name`.
    pub name_length: usize,
    /// A folder that buffers and images may come from besides the scene's own. NULL for none.
    pub asset_root: *const c_char,
    /// Bytes of `asset_root`.
    pub asset_root_length: usize,
    /// Where a picture of the bake goes, as SVG. NULL for nowhere.
    pub plot: *const c_char,
    /// Bytes of `plot`.
    pub plot_length: usize,
    /// Where every point of contact goes, frame by frame, as JSON. NULL for nowhere.
    pub contacts: *const c_char,
    /// Bytes of `contacts`.
    pub contacts_length: usize,
    /// The largest angle of the keys from the simulation, degrees; 0 as the set-up says.
    pub tolerance_deg: f64,
    /// Frame from which on all stays as it is, when `flags` has `SINEW_HOLD`.
    pub hold_frame: f64,
    /// Frames that every pose is held; 0 as the set-up says.
    pub every: u32,
    /// `SINEW_LAYER_...`.
    pub layer: i32,
    /// Nodes and groups that get new curves, one per line, `*` for any letters. NULL as the set-up says.
    pub only: *const c_char,
    /// Bytes of `only`.
    pub only_length: usize,
    /// What each figure weighs, without what it holds, kg; 0 for what it is taken for. For a set-up made from the keys.
    pub mass: f64,
    /// How tall the tallest figure is, m; 0 for what it is taken for. Likewise.
    pub height: f64,
    /// How loose everything is, from 0, the keys, to 1, a ragdoll, when `flags` has `SINEW_LOOSENESS`.
    pub looseness: f64,
}

versioned!(sinew_bake_request {
    struct_size,
    flags: u32,
    preset: i32,
    reserved: u32,
    first_frame: f64,
    last_frame: f64,
    tolerance: f64,
    scene: *const c_char,
    scene_length: usize,
    output: *const c_char,
    output_length: usize,
    setup: *const c_char,
    setup_length: usize,
    clip: *const c_char,
    clip_length: usize,
    name: *const c_char,
    name_length: usize,
    asset_root: *const c_char,
    asset_root_length: usize,
    plot: *const c_char,
    plot_length: usize,
    contacts: *const c_char,
    contacts_length: usize,
    tolerance_deg: f64,
    hold_frame: f64,
    every: u32,
    layer: i32,
    only: *const c_char,
    only_length: usize,
    mass: f64,
    height: f64,
    looseness: f64,
});

/// Fills in the defaults. `struct_size` is `sizeof(sinew_bake_request)`.
///
/// Thread: any. Errors: `SINEW_INVALID_ARGUMENT`.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn sinew_bake_request_init(
    request: *mut sinew_bake_request,
    struct_size: usize,
) -> sinew_result {
    // SAFETY: writable over `struct_size` bytes (promises of the crate).
    guard(|| unsafe { options::init(request, struct_size) })
}

/// Opens a scene, simulates, bakes and saves; a call that fails or is cancelled writes nothing. `callbacks` may be
/// NULL. The report goes to `out`, which may be NULL, and is the caller's, to be freed with `sinew_report_free`.
///
/// Thread: any; callbacks run on the calling thread. Errors: `SINEW_INVALID_ARGUMENT`, `SINEW_OUT_OF_RANGE`,
/// `SINEW_BAD_INPUT`, `SINEW_BAD_SETUP`, `SINEW_IO`, `SINEW_CANCELLED`.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn sinew_bake_file(
    request: *const sinew_bake_request,
    callbacks: *const sinew_callbacks,
    out: *mut *mut sinew_report,
) -> sinew_result {
    guard(|| {
        if request.is_null() {
            return Err(Fault::argument("the request is NULL; it names at least the scene"));
        }
        // SAFETY: the promises of the crate.
        let (out, r, listener) =
            unsafe { (Out::maybe(out, "out")?, options::read(request)?, Listener::new(callbacks)?) };
        // SAFETY: the promises of the crate, for texts inside the request.
        let request = unsafe { plain(&r) }?;
        let report = bake_file(&request, &mut |p| listener.progress(p))?;
        listener.warn(&report.warnings);
        if out.is_wanted() {
            out.set(live::insert(report));
        }
        Ok(())
    })
}

/// Who composes USD.
pub(crate) fn backend(flags: u32) -> Backend {
    if flags & SINEW_OPENUSD != 0 { Backend::OpenUsd } else { Backend::BuiltIn }
}

/// # Safety
/// The promises of the crate for texts.
unsafe fn plain(r: &sinew_bake_request) -> Result<BakeRequest, Fault> {
    let known = SINEW_EVERY_FRAME
        | SINEW_FRAMES
        | SINEW_REPLACE
        | SINEW_IN_PLACE
        | SINEW_AUTOMATIC
        | SINEW_COMPARE_STEPS
        | SINEW_LOOP
        | SINEW_HOLD
        | SINEW_FLATTEN
        | SINEW_OPENUSD
        | SINEW_SPLINES
        | SINEW_LOOSENESS;
    job::known_flags(r.flags, known)?;
    // SAFETY: the same promises.
    let (scene, output, setup, clip, name, root, plot, contacts, only) = unsafe {
        (
            input::path(r.scene, r.scene_length, "scene")?,
            input::maybe(r.output, r.output_length, "output")?,
            input::maybe(r.setup, r.setup_length, "setup")?,
            input::maybe(r.clip, r.clip_length, "clip")?,
            input::maybe(r.name, r.name_length, "name")?,
            input::maybe(r.asset_root, r.asset_root_length, "asset_root")?,
            input::maybe(r.plot, r.plot_length, "plot")?,
            input::maybe(r.contacts, r.contacts_length, "contacts")?,
            input::maybe(r.only, r.only_length, "only")?,
        )
    };
    let has = |flag: u32| r.flags & flag != 0;
    let setup = match (setup, has(SINEW_AUTOMATIC)) {
        (Some(_), true) => {
            return Err(Fault::argument("a set-up file was given together with SINEW_AUTOMATIC; choose one"));
        }
        (Some(file), false) => SetupSource::File(file.into()),
        (None, true) => SetupSource::Automatic,
        (None, false) => SetupSource::Beside,
    };
    Ok(BakeRequest {
        scene: scene.into(),
        output: output.map(Into::into),
        setup,
        clip: clip.map(str::to_owned),
        name: name.map(str::to_owned),
        replace: has(SINEW_REPLACE),
        in_place: has(SINEW_IN_PLACE),
        flatten: has(SINEW_FLATTEN),
        splines: has(SINEW_SPLINES),
        wish: Wish {
            mass: Some(r.mass).filter(|m| *m != 0.0),
            height: Some(r.height).filter(|h| *h != 0.0),
            unit: None,
        },
        preset: job::preset(r.preset)?,
        looseness: job::looseness(r.flags, r.looseness)?,
        hits: Vec::new(),
        hard_keys: Vec::new(),
        root: None,
        detail: None,
        threads: None,
        frames: job::frames(r.flags, r.first_frame, r.last_frame)?,
        keys: has(SINEW_EVERY_FRAME).then_some(sinew_core::setup::BakedKeys::EveryFrame),
        tolerance: job::tolerance(r.tolerance, "tolerance")?,
        tolerance_deg: job::tolerance(r.tolerance_deg, "tolerance_deg")?,
        looped: has(SINEW_LOOP),
        only: job::lines(only),
        layer: job::layer(r.layer)?,
        every: Some(r.every).filter(|n| *n > 0),
        hold: job::hold(r.flags, r.hold_frame)?,
        plot: plot.map(Into::into),
        playblast: None,
        contacts: contacts.map(Into::into),
        compare_steps: has(SINEW_COMPARE_STEPS),
        read: ReadOptions { asset_root: root.map(Into::into), usd_backend: backend(r.flags) },
    })
}

/// How a bake ended: `SINEW_STATUS_DONE` or `SINEW_STATUS_FELL_SHORT`.
///
/// Thread: any, `const`. Errors: `SINEW_INVALID_ARGUMENT`, handle errors.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn sinew_report_status(report: *const sinew_report, out: *mut i32) -> sinew_result {
    guard(|| {
        let report = live::get(report)?;
        // SAFETY: the promises of the crate.
        let out = unsafe { Out::new(out, "out") }?;
        out.set(job::status(&*report.read()?));
        Ok(())
    })
}

/// Copies the report as JSON (see "Texts"), as `sinew bake --json` prints it.
///
/// Thread: any, `const`. Errors: `SINEW_INVALID_ARGUMENT`, `SINEW_TOO_SMALL`, handle errors.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn sinew_report_json(
    report: *const sinew_report,
    buffer: *mut c_char,
    capacity: usize,
    length: *mut usize,
) -> sinew_result {
    guard(|| {
        let report = live::get(report)?;
        let text = job::json(&*report.read()?)?;
        // SAFETY: the promises of the crate.
        unsafe { output::text(&text, buffer, capacity, length) }
    })
}

/// Frees a report. NULL is fine.
///
/// Thread: any. Errors: `SINEW_BAD_HANDLE`.
#[unsafe(no_mangle)]
pub extern "C" fn sinew_report_free(report: *mut sinew_report) -> sinew_result {
    guard(|| live::remove(report))
}
