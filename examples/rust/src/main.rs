//! A host in Rust that loads libsinew when it runs, as a plugin of an animation tool would.
//!
//! ```sh
//! cargo build --release -p sinew-ffi
//! export SINEW_LIBRARY=target/release/libsinew.so
//! cargo run -p sinew-host-example -- examples/scenes/ball.gltf target/rust.gltf
//! ```
//!
//! Without `SINEW_LIBRARY` the library is looked for beside the program.

use libloading::{Library, Symbol, library_filename};
use std::error::Error;
use std::ffi::{CStr, c_char};
use std::path::PathBuf;
use std::process::ExitCode;
use std::ptr::{null, null_mut};

/// An opaque handle; a real host would have a type per noun.
type Handle = *mut Opaque;

#[repr(C)]
struct Opaque {
    _private: [u8; 0],
}

/// Version 1.0 of the interface.
const ABI_VERSION: u32 = 0x0001_0000;

/// The loaded library.
struct Sinew(Library);

impl Sinew {
    fn load() -> Result<Sinew, Box<dyn Error>> {
        let beside =
            || Ok::<_, std::io::Error>(std::env::current_exe()?.with_file_name(library_filename("sinew")));
        let path = std::env::var_os("SINEW_LIBRARY").map(PathBuf::from).map_or_else(beside, Ok)?;
        // SAFETY: libsinew does nothing when it is loaded.
        let sinew = Sinew(unsafe { Library::new(path) }?);
        // SAFETY: the type that the header gives.
        let abi_check: Symbol<unsafe extern "C" fn(u32) -> i32> = unsafe { sinew.0.get("sinew_abi_check") }?;
        // SAFETY: it takes a number and returns one.
        sinew.check(unsafe { abi_check(ABI_VERSION) })?;
        Ok(sinew)
    }

    /// An error in the library's own words.
    fn check(&self, result: i32) -> Result<(), Box<dyn Error>> {
        if result == 0 {
            return Ok(());
        }
        let mut why: [c_char; 1024] = [0; 1024];
        // SAFETY: the type that the header gives, and a buffer of the size that it is told.
        unsafe {
            let last_error: Symbol<unsafe extern "C" fn(*mut c_char, usize) -> usize> =
                self.0.get("sinew_last_error")?;
            last_error(why.as_mut_ptr(), why.len());
            Err(CStr::from_ptr(why.as_ptr()).to_string_lossy().into())
        }
    }

    fn bake(&self, scene: &str, out: &str) -> Result<(), Box<dyn Error>> {
        // SAFETY: the types that the header gives.
        let (open, run, add_job, save, free_scene, free_job) = unsafe {
            let open: Symbol<unsafe extern "C" fn(*const c_char, usize, *const Opaque, *mut Handle) -> i32> =
                self.0.get("sinew_scene_open")?;
            let run: Symbol<
                unsafe extern "C" fn(Handle, Handle, *const Opaque, *const Opaque, *mut Handle) -> i32,
            > = self.0.get("sinew_job_run")?;
            let add_job: Symbol<
                unsafe extern "C" fn(Handle, Handle, *const c_char, usize, i32, *mut u32) -> i32,
            > = self.0.get("sinew_scene_add_job")?;
            let save: Symbol<unsafe extern "C" fn(Handle, *const c_char, usize) -> i32> =
                self.0.get("sinew_scene_save")?;
            let free_scene: Symbol<unsafe extern "C" fn(Handle) -> i32> = self.0.get("sinew_scene_free")?;
            let free_job: Symbol<unsafe extern "C" fn(Handle) -> i32> = self.0.get("sinew_job_free")?;
            (open, run, add_job, save, free_scene, free_job)
        };
        let (mut handle, mut job) = (null_mut(), null_mut());
        // SAFETY: texts with their lengths, places for the handles, NULL where the header allows it.
        let done = unsafe {
            self.check(open(scene.as_ptr().cast(), scene.len(), null(), &raw mut handle))
                .and_then(|()| self.check(run(handle, null_mut(), null(), null(), &raw mut job)))
                .and_then(|()| self.check(add_job(handle, job, null(), 0, 0, null_mut())))
                .and_then(|()| self.check(save(handle, out.as_ptr().cast(), out.len())))
        };
        // SAFETY: freeing NULL is fine.
        unsafe { (free_job(job), free_scene(handle)) };
        done
    }
}

fn main() -> ExitCode {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let [scene, out] = arguments.as_slice() else {
        eprintln!("use: sinew-host-example SCENE OUT");
        return ExitCode::from(2);
    };
    match Sinew::load().and_then(|sinew| sinew.bake(scene, out)) {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("{error}");
            ExitCode::FAILURE
        }
    }
}
