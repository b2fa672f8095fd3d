//! Set-ups: automatic, from text, or built by calls.

use crate::edit::{self, Step};
use crate::guard::guard;
use crate::live::{self, Opaque};
use crate::output::{self, Out};
use crate::result::{Fault, SINEW_BAD_SETUP, sinew_result};
use crate::scene::sinew_scene;
use crate::{input, job};
use serde_json::{Value, json};
use sinew_core::setup::{self, Body, Setup};
use std::ffi::c_char;

/// The animator's physics: what is simulated, how it is guided, how strong. Functions that take it as `const` may
/// run on several threads at once; the others need it for themselves.
pub struct sinew_setup {
    _private: [u8; 0],
}

impl Opaque for sinew_setup {
    type Inner = Setup;
    const NAME: &'static str = "set-up";
}

/// Makes an empty set-up. It goes to `out` and is the caller's, to be freed with `sinew_setup_free`.
///
/// Thread: any. Errors: `SINEW_INVALID_ARGUMENT`.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn sinew_setup_create(out: *mut *mut sinew_setup) -> sinew_result {
    guard(|| {
        // SAFETY: the promises of the crate.
        unsafe { Out::new(out, "out") }?.set(live::insert(Setup::default()));
        Ok(())
    })
}

/// Reads a set-up from the text of a set-up file. It goes to `out` and is the caller's, to be freed with
/// `sinew_setup_free`.
///
/// Thread: any. Errors: `SINEW_INVALID_ARGUMENT`, `SINEW_BAD_SETUP` (the text says where and what was meant).
#[unsafe(no_mangle)]
pub unsafe extern "C" fn sinew_setup_from_json(
    json: *const c_char,
    json_length: usize,
    out: *mut *mut sinew_setup,
) -> sinew_result {
    guard(|| {
        // SAFETY: the promises of the crate.
        let (out, text) = unsafe { (Out::new(out, "out")?, input::name(json, json_length, "json")?) };
        out.set(live::insert(setup::from_json(text)?));
        Ok(())
    })
}

/// Reads a set-up file. The set-up goes to `out` and is the caller's, to be freed with `sinew_setup_free`.
///
/// Thread: any. Errors: `SINEW_INVALID_ARGUMENT`, `SINEW_BAD_SETUP`, `SINEW_IO`.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn sinew_setup_open(
    path: *const c_char,
    path_length: usize,
    out: *mut *mut sinew_setup,
) -> sinew_result {
    guard(|| {
        // SAFETY: the promises of the crate.
        let (out, path) = unsafe { (Out::new(out, "out")?, input::path(path, path_length, "path")?) };
        let named = |text: String| format!("{}: {text}", path.display());
        let text = sinew_plugin::job::read_setup(path)?;
        let read = setup::from_json(&text).map_err(|e| Fault::new(SINEW_BAD_SETUP, named(e.to_string())))?;
        out.set(live::insert(read));
        Ok(())
    })
}

/// Makes a set-up from the physics in a scene's file, or else from its keys, guided by the clip of that name or
/// `#index`; empty for the first that moves something. It goes to `out` and is the caller's, to be freed with
/// `sinew_setup_free`.
///
/// Thread: any, the scene `const`. Errors: `SINEW_INVALID_ARGUMENT`, `SINEW_BAD_SETUP` (no such clip), handle
/// errors.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn sinew_setup_automatic(
    scene: *const sinew_scene,
    clip: *const c_char,
    clip_length: usize,
    out: *mut *mut sinew_setup,
) -> sinew_result {
    guard(|| {
        let scene = live::get(scene)?;
        let scene = scene.read()?;
        // SAFETY: the promises of the crate.
        let (out, clip) = unsafe { (Out::new(out, "out")?, input::maybe(clip, clip_length, "clip")?) };
        out.set(live::insert(scene.automatic(clip)?.0));
        Ok(())
    })
}

/// Frees a set-up. NULL is fine. Jobs and sessions made with it live on.
///
/// Thread: any. Errors: `SINEW_BAD_HANDLE`.
#[unsafe(no_mangle)]
pub extern "C" fn sinew_setup_free(setup: *mut sinew_setup) -> sinew_result {
    guard(|| live::remove(setup))
}

/// Copies the set-up as the text of a set-up file (see "Texts").
///
/// Thread: any, `const`. Errors: `SINEW_INVALID_ARGUMENT`, `SINEW_TOO_SMALL`, handle errors.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn sinew_setup_to_json(
    setup: *const sinew_setup,
    buffer: *mut c_char,
    capacity: usize,
    length: *mut usize,
) -> sinew_result {
    guard(|| {
        let setup = live::get(setup)?;
        let text = setup::to_json(&*setup.read()?);
        // SAFETY: the promises of the crate.
        unsafe { output::text(&text, buffer, capacity, length) }
    })
}

/// Adds a guided body on the node of that name (or `#index`), everything else by default. Whether the scene has
/// such a node is checked when a job or session begins.
///
/// Thread: one at a time. Errors: `SINEW_INVALID_ARGUMENT` (empty, or there is one already), handle errors.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn sinew_setup_add_body(
    setup: *mut sinew_setup,
    node: *const c_char,
    node_length: usize,
) -> sinew_result {
    guard(|| {
        let setup = live::get(setup.cast_const())?;
        let mut setup = setup.write()?;
        // SAFETY: the promises of the crate.
        let node = unsafe { input::name(node, node_length, "node") }?;
        if setup.bodies.iter().any(|b| b.node == node) {
            return Err(Fault::argument(format!("the set-up already has a body on \"{node}\"")));
        }
        setup.bodies.push(Body::new(node));
        Ok(())
    })
}

/// Sets a number at a place (see "Places in a set-up").
///
/// Thread: one at a time. Errors: `SINEW_INVALID_ARGUMENT`, `SINEW_BAD_SETUP` (no such place, or not a number
/// there), handle errors. The set-up is then as before.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn sinew_setup_set_number(
    setup: *mut sinew_setup,
    place: *const c_char,
    place_length: usize,
    value: f64,
) -> sinew_result {
    // SAFETY: the promises of the crate.
    unsafe { set(setup, place, place_length, || number(input::finite(value, "value")?)) }
}

/// Sets numbers, such as a vector, at a place (see "Places in a set-up").
///
/// Thread: one at a time. Errors: as `sinew_setup_set_number`.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn sinew_setup_set_numbers(
    setup: *mut sinew_setup,
    place: *const c_char,
    place_length: usize,
    values: *const f64,
    count: usize,
) -> sinew_result {
    let numbers = || {
        // SAFETY: the promises of the crate.
        let values = unsafe { input::array(values, count, "values") }?;
        values
            .iter()
            .map(|v| number(input::finite(*v, "a value")?))
            .collect::<Result<Vec<_>, _>>()
            .map(Value::Array)
    };
    // SAFETY: the promises of the crate.
    unsafe { set(setup, place, place_length, numbers) }
}

/// Sets keys at a place that is keyable (see "Places in a set-up"): `count` times in seconds, increasing, and as
/// many values. `interpolation` is `SINEW_STEP` or `SINEW_LINEAR`.
///
/// Thread: one at a time. Errors: as `sinew_setup_set_number`.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn sinew_setup_set_keys(
    setup: *mut sinew_setup,
    place: *const c_char,
    place_length: usize,
    interpolation: i32,
    times: *const f64,
    values: *const f64,
    count: usize,
) -> sinew_result {
    let keys = || {
        let between = match interpolation {
            crate::curve::SINEW_STEP => "step",
            crate::curve::SINEW_LINEAR => "linear",
            other => {
                return Err(Fault::argument(format!(
                    "interpolation is {other}; keys of a set-up are SINEW_STEP or SINEW_LINEAR"
                )));
            }
        };
        // SAFETY: the promises of the crate.
        let (times, values) =
            unsafe { (input::array(times, count, "times")?, input::array(values, count, "values")?) };
        if count == 0 {
            return Err(Fault::argument("there are no keys; pass at least one, or set a number"));
        }
        let key =
            |(t, v): (&f64, &f64)| Ok(json!([input::finite(*t, "a time")?, input::finite(*v, "a value")?]));
        let keys = times.iter().zip(values).map(key).collect::<Result<Vec<_>, Fault>>()?;
        Ok(json!({ "keys": keys, "between": between }))
    };
    // SAFETY: the promises of the crate.
    unsafe { set(setup, place, place_length, keys) }
}

/// Sets a word, such as a behaviour or a preset, at a place (see "Places in a set-up").
///
/// Thread: one at a time. Errors: as `sinew_setup_set_number`.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn sinew_setup_set_text(
    setup: *mut sinew_setup,
    place: *const c_char,
    place_length: usize,
    text: *const c_char,
    text_length: usize,
) -> sinew_result {
    // SAFETY: the promises of the crate.
    let text = || Ok(Value::from(unsafe { input::text(text, text_length, "text") }?));
    // SAFETY: the promises of the crate.
    unsafe { set(setup, place, place_length, text) }
}

/// Sets anything, as JSON, at a place (see "Places in a set-up").
///
/// Thread: one at a time. Errors: as `sinew_setup_set_number`.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn sinew_setup_set_json(
    setup: *mut sinew_setup,
    place: *const c_char,
    place_length: usize,
    json: *const c_char,
    json_length: usize,
) -> sinew_result {
    let parse = || {
        // SAFETY: the promises of the crate.
        let text = unsafe { input::name(json, json_length, "json") }?;
        serde_json::from_str(text).map_err(|e| Fault::argument(format!("json cannot be read: {e}")))
    };
    // SAFETY: the promises of the crate.
    unsafe { set(setup, place, place_length, parse) }
}

/// Removes what is at a place (see "Places in a set-up"): a body, or a value, which then has its default.
///
/// Thread: one at a time. Errors: as `sinew_setup_set_number`.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn sinew_setup_remove(
    setup: *mut sinew_setup,
    place: *const c_char,
    place_length: usize,
) -> sinew_result {
    guard(|| {
        let setup = live::get(setup.cast_const())?;
        let mut setup = setup.write()?;
        // SAFETY: the promises of the crate.
        let place = unsafe { input::name(place, place_length, "place") }?;
        *setup = edit::changed(&setup, place, Step::Remove)?;
        Ok(())
    })
}

/// Makes every body chase its keys as a preset (`SINEW_PRESET_...`) has it, as a job with that preset does.
///
/// Thread: one at a time. Errors: `SINEW_OUT_OF_RANGE`, handle errors.
#[unsafe(no_mangle)]
pub extern "C" fn sinew_setup_use_preset(setup: *mut sinew_setup, preset: i32) -> sinew_result {
    guard(|| {
        let setup = live::get(setup.cast_const())?;
        if let Some(preset) = job::preset(preset)? {
            setup.write()?.use_preset(preset);
        }
        Ok(())
    })
}

/// Copies what is at a place as JSON (see "Places in a set-up" and "Texts").
///
/// Thread: any, `const`. Errors: `SINEW_INVALID_ARGUMENT`, `SINEW_BAD_SETUP` (nothing is there), `SINEW_TOO_SMALL`,
/// handle errors.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn sinew_setup_get_json(
    setup: *const sinew_setup,
    place: *const c_char,
    place_length: usize,
    buffer: *mut c_char,
    capacity: usize,
    length: *mut usize,
) -> sinew_result {
    guard(|| {
        let setup = live::get(setup)?;
        let setup = setup.read()?;
        // SAFETY: the promises of the crate.
        let place = unsafe { input::name(place, place_length, "place") }?;
        let found = edit::found(&setup, place)?.to_string();
        // SAFETY: the promises of the crate.
        unsafe { output::text(&found, buffer, capacity, length) }
    })
}

/// # Safety
/// The promises of the crate for texts.
unsafe fn set(
    setup: *mut sinew_setup,
    place: *const c_char,
    place_length: usize,
    value: impl FnOnce() -> Result<Value, Fault>,
) -> sinew_result {
    guard(|| {
        let setup = live::get(setup.cast_const())?;
        let mut setup = setup.write()?;
        // SAFETY: the same promises.
        let place = unsafe { input::name(place, place_length, "place") }?;
        *setup = edit::changed(&setup, place, Step::Set(value()?))?;
        Ok(())
    })
}

/// Whole numbers as such: some places take nothing else.
fn number(value: f64) -> Result<Value, Fault> {
    /// Up to here a double holds every whole number.
    const EXACT: f64 = 9_007_199_254_740_992.0;
    Ok(match value.fract() == 0.0 && value.abs() < EXACT {
        true => json!(value as i64),
        false => json!(value),
    })
}
