//! What ends a job early: Ctrl-C, TERM, and limits of time and memory.
//!
//! A job hears of it at its next frame. Where that takes long, in the middle of a frame, of a file, or of a curve, the process is
//! ended from here: nothing is in its place before everything is, so nothing half is left.

use crate::say;
use peak_alloc::PeakAlloc;
use sinew_plugin::files;
use std::process::exit;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::time::{Duration, Instant};

/// How long a job has to hear of it by itself.
const GRACE: Duration = Duration::from_millis(120);
/// How often limits are looked at.
const LOOK: Duration = Duration::from_millis(10);
/// "File too large", where the system bounds them; the write then fails and says so.
#[cfg(unix)]
const SIGXFSZ: i32 = if cfg!(any(target_arch = "mips", target_arch = "mips64")) { 31 } else { 25 };

#[global_allocator]
static MEMORY: PeakAlloc = PeakAlloc;

static ASKED: AtomicBool = AtomicBool::new(false);
static TIMES: AtomicUsize = AtomicUsize::new(0);
static ENDING: AtomicBool = AtomicBool::new(false);

/// What a job may use.
#[derive(Clone, Copy, Default)]
pub struct Limits {
    pub seconds: Option<f64>,
    pub memory: Option<usize>,
}

/// Whether the job is to stop.
pub fn is_asked() -> bool {
    ASKED.load(Ordering::Relaxed)
}

/// Whether the caller is the one who ends the process; whoever is not, waits for its end.
pub fn claim() {
    if ENDING.swap(true, Ordering::SeqCst) {
        loop {
            std::thread::park();
        }
    }
}

/// Listens to signals, and watches limits. `json`: the end is told as JSON, too.
pub fn listen(limits: Limits, json: bool) {
    #[cfg(unix)]
    {
        let unused = std::sync::Arc::new(AtomicBool::new(false));
        let _ = signal_hook::flag::register(SIGXFSZ, unused);
    }
    // Without the handler a signal just ends the process, which leaves no half file either.
    let _ = ctrlc::set_handler(move || {
        if TIMES.fetch_add(1, Ordering::SeqCst) > 0 {
            files::abandon();
            exit(130);
        }
        let later = move || {
            ASKED.store(true, Ordering::Relaxed);
            std::thread::sleep(GRACE);
            end("cancelled; nothing was written", json);
        };
        // The handler goes on listening; where there is no thread for it, the job's next frame hears.
        if std::thread::Builder::new().spawn(later).is_err() {
            ASKED.store(true, Ordering::Relaxed);
        }
    });
    if limits.seconds.is_none() && limits.memory.is_none() {
        return;
    }
    let watch = move || {
        let began = Instant::now();
        loop {
            if let Some(most) = limits.seconds.filter(|s| began.elapsed().as_secs_f64() > *s) {
                return end(&format!("stopped after {most} s (--max-seconds); nothing was written"), json);
            }
            if let Some(most) = limits.memory.filter(|m| MEMORY.current_usage() > *m) {
                let text = format!("stopped at {most} bytes of memory (--max-memory); nothing was written");
                return end(&text, json);
            }
            std::thread::sleep(LOOK);
        }
    };
    if let Err(e) = std::thread::Builder::new().spawn(watch) {
        say::tell(&format!("warning: nothing watches the limits: {e}"));
    }
}

/// Ends the process as cancelled, unless its files are in their places: then it ends by itself.
fn end(text: &str, json: bool) {
    if !files::abandon() {
        return;
    }
    claim();
    if json {
        let said = serde_json::json!({ "status": "error", "exit_code": 5, "error": text });
        // The code says it, too.
        let _ = say::print_data(&say::json(&said));
    }
    say::tell(&format!("sinew: {text}"));
    exit(5);
}
