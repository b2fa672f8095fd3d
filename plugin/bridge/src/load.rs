//! Loading the library, and asking it.

use crate::request::{Answer, INTERFACE, Meeting, Request, Tell, Told};
use libloading::Library;
use std::ffi::c_void;
use std::fmt;
use std::path::PathBuf;
use std::sync::OnceLock;

/// Names the library's file, where it is not beside the program and not where the system looks.
pub const VARIABLE: &str = "SINEW_OPENUSD_BRIDGE";

/// A studio's OpenUSD. It stays loaded: C++ libraries with threads and registries do not survive being unloaded.
#[derive(Debug)]
pub struct Bridge {
    ask: Ask,
    /// OpenUSD's version.
    pub version: String,
}

type Ask = unsafe extern "C" fn(*const u8, usize, Tell, *mut c_void) -> u32;

/// Why there is no OpenUSD to ask.
#[derive(Clone, Debug)]
pub struct LoadError {
    what: String,
}

impl fmt::Display for LoadError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.what)
    }
}

impl std::error::Error for LoadError {}

impl Bridge {
    /// The library, loaded once.
    pub fn get() -> Result<&'static Bridge, LoadError> {
        static LOADED: OnceLock<Result<Bridge, LoadError>> = OnceLock::new();
        LOADED.get_or_init(load).as_ref().map_err(Clone::clone)
    }

    /// Asks it. `permits` says whether a file may be opened; where it says no, the answer is an error.
    pub fn ask(&self, request: &Request, permits: &mut dyn FnMut(&Meeting) -> bool) -> Answer {
        ask(self.ask, request, permits)
    }
}

/// What a request is answered with, and who permits.
struct Hearing<'a> {
    answer: Option<Answer>,
    permits: &'a mut dyn FnMut(&Meeting) -> bool,
}

fn ask(function: Ask, request: &Request, permits: &mut dyn FnMut(&Meeting) -> bool) -> Answer {
    let fault = |what: String| Answer { error: Some(what), ..Answer::default() };
    let text = match serde_json::to_string(request) {
        Ok(text) => text,
        Err(e) => return fault(format!("OpenUSD cannot be asked: {e}")),
    };
    let mut hearing = Hearing { answer: None, permits };
    // SAFETY: the library has the interface of this number (checked when it was loaded): it reads the text during the
    // call, and calls `hear` with the context during the call and on this thread, as `hear` needs it.
    unsafe { function(text.as_ptr(), text.len(), hear, (&raw mut hearing).cast()) };
    hearing
        .answer
        .unwrap_or_else(|| fault("OpenUSD did not answer; its bridge is broken, build it again".into()))
}

unsafe extern "C" fn hear(context: *mut c_void, told: u32, text: *const u8, length: usize) -> u32 {
    // SAFETY: the context is the hearing of the call that this one is inside of, and the text is readable over its length.
    let (hearing, text) =
        unsafe { (&mut *context.cast::<Hearing<'_>>(), std::slice::from_raw_parts(text, length)) };
    if told == Told::Meeting as u32 {
        let Ok(meeting) = serde_json::from_slice::<Meeting>(text) else { return 1 };
        // A panic must not go through C++.
        let permits = std::panic::AssertUnwindSafe(|| (hearing.permits)(&meeting));
        return u32::from(!std::panic::catch_unwind(permits).unwrap_or(false));
    }
    hearing.answer = serde_json::from_slice(text).ok();
    0
}

/// Where the library may be, the likeliest place first.
fn places() -> Vec<PathBuf> {
    if let Some(file) = std::env::var_os(VARIABLE) {
        return vec![file.into()];
    }
    let name = libloading::library_filename("sinew_openusd");
    let beside = std::env::current_exe().ok().and_then(|e| Some(e.parent()?.join(&name)));
    beside.into_iter().filter(|p| p.is_file()).chain([PathBuf::from(name)]).collect()
}

/// What went wrong, and what the system said of it.
fn with_cause(e: &dyn std::error::Error) -> String {
    e.source().map_or_else(|| e.to_string(), |cause| format!("{e}: {cause}"))
}

fn load() -> Result<Bridge, LoadError> {
    let mut why = String::new();
    for place in places() {
        // SAFETY: loading runs the library's initialisers. It is one that was put there for this, by its full path,
        // beside the program, or on the system's own path.
        match unsafe { Library::new(&place) } {
            Ok(library) => return start(library, &place.display().to_string()),
            Err(e) => why = format!("{}: {}", place.display(), with_cause(&e)),
        }
    }
    Err(LoadError {
        what: format!(
            "the bridge to OpenUSD is not there ({why}); build plugin/openusd (`cargo build --release -p sinew-openusd`) with OPENUSD_ROOT naming an OpenUSD SDK, \
             and put the library beside the program or name it in {VARIABLE}"
        ),
    })
}

fn start(library: Library, place: &str) -> Result<Bridge, LoadError> {
    let library: &'static Library = Box::leak(Box::new(library));
    let broken = |e: libloading::Error| LoadError {
        what: format!("{place} is no bridge to OpenUSD: {}", with_cause(&e)),
    };
    // SAFETY: the types are those that the library declares under these names, whatever its number.
    let number = unsafe { library.get::<unsafe extern "C" fn() -> u32>(b"sinew_openusd_interface") };
    // SAFETY: it takes nothing and touches nothing.
    let number = unsafe { number.map_err(broken)?() };
    if number != INTERFACE {
        let what = format!(
            "the bridge to OpenUSD at {place} is of another version of Sinew (its interface is {number}, here {INTERFACE}); build plugin/openusd again"
        );
        return Err(LoadError { what });
    }
    // SAFETY: the interface has this number, so this is its type.
    let function = unsafe { *library.get::<Ask>(b"sinew_openusd_ask").map_err(broken)? };
    let about = ask(function, &Request::About, &mut |_| true);
    match about.error {
        Some(what) => Err(LoadError { what: format!("{place}: {what}") }),
        None => Ok(Bridge { ask: function, version: about.version }),
    }
}
