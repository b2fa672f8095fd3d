//! The door of the library: JSON in, JSON out, no panic and no C++ exception through it. What is asked is in
//! `sinew-bridge`; what is done is C++ (`*.cpp` beside this file), over `bridge`.

mod bridge;

use bridge::ffi;
use serde_json::to_string;
use sinew_bridge::{Answer, INTERFACE, Meeting, Request, Source, Tell, Told, Way};
use std::ffi::c_void;
use std::panic::{AssertUnwindSafe, catch_unwind};

/// The number of the interface.
#[unsafe(no_mangle)]
pub extern "C" fn sinew_openusd_interface() -> u32 {
    INTERFACE
}

/// Answers a [`Request`]: `tell` gets the [`Answer`], and a [`Meeting`] for every file before it is opened. Always 0.
///
/// # Safety
///
/// `request` is readable over `length` bytes; `tell` may be called with `context` during the call, on its thread.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn sinew_openusd_ask(
    request: *const u8,
    length: usize,
    tell: Tell,
    context: *mut c_void,
) -> u32 {
    let asker = Asker { tell, context };
    // SAFETY: the promise above.
    let text = unsafe { std::slice::from_raw_parts(request, length) };
    let answer = catch_unwind(AssertUnwindSafe(|| match serde_json::from_slice(text) {
        Ok(request) => answer(&request, &asker),
        Err(e) => Err(format!("the bridge to OpenUSD does not understand what it is asked: {e}")),
    }));
    let answer = answer.unwrap_or_else(|_| Err("the bridge to OpenUSD failed".into()));
    let answer = answer.unwrap_or_else(|error| Answer { error: Some(error), ..Answer::default() });
    asker.say(Told::Answer, &to_string(&answer).unwrap_or_default());
    0
}

/// Who asked.
pub(crate) struct Asker {
    tell: Tell,
    context: *mut c_void,
}

impl Asker {
    fn say(&self, told: Told, text: &str) -> u32 {
        // SAFETY: the promise of `sinew_openusd_ask`, inside which this is.
        unsafe { (self.tell)(self.context, told as u32, text.as_ptr(), text.len()) }
    }

    /// Whether a file may be opened.
    pub(crate) fn permits(&self, asset: &str, path: &str) -> bool {
        let meeting = Meeting { asset: asset.to_owned(), path: path.into() };
        to_string(&meeting).is_ok_and(|text| self.say(Told::Meeting, &text) == 0)
    }
}

fn answer(request: &Request, asker: &Asker) -> Result<Answer, String> {
    let said = |e: cxx::Exception| e.what().to_owned();
    let answer = |reply: ffi::Reply| Answer {
        warnings: reply.warnings,
        bytes: reply.bytes,
        layer: reply.layer,
        version: ffi::version(),
        error: None,
    };
    match request {
        Request::About => Ok(Answer { version: ffi::version(), ..Answer::default() }),
        Request::Read { source, into } => {
            ffi::read(&stage(source), asker, &into.to_string_lossy()).map(answer).map_err(said)
        }
        Request::Write { source, edits, way, into } => {
            let (edits, into) = (edits.to_string_lossy(), into.to_string_lossy());
            let way = match way {
                Way::Layer => ffi::Way::Layer,
                Way::Flat => ffi::Way::Flat,
                Way::InPlace => ffi::Way::InPlace,
                Way::Package => ffi::Way::Package,
                Way::Live => ffi::Way::Live,
            };
            ffi::write(&stage(source), asker, &edits, way, &into).map(answer).map_err(said)
        }
    }
}

fn stage(source: &Source) -> ffi::Source {
    ffi::Source {
        file: source.file.clone(),
        is_live: source.stage.is_some(),
        stage: source.stage.unwrap_or_default(),
        search: source.search.iter().map(|p| p.to_string_lossy().into_owned()).collect(),
        most_prims: source.most_prims,
        bytes_per_prim: source.bytes_per_prim,
    }
}
