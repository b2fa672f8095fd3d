//! The same work on many things, on all cores.

use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

/// Fewer channels than this are fitted sooner than a thread starts.
const WORTH_A_THREAD: usize = 16;
/// How often is asked whether to go on.
const ASK: Duration = Duration::from_millis(20);

/// `work` on every item, results in order: which core did what makes no difference. `None` when `go_on`, which is asked now and
/// then on this thread, says no. Where no thread can be had, this one does it.
pub(super) fn in_parallel<T: Sync, R: Send>(
    items: &[T],
    work: impl Fn(&T) -> R + Sync,
    go_on: &mut dyn FnMut() -> bool,
) -> Option<Vec<R>> {
    let cores = std::thread::available_parallelism().map_or(1, usize::from);
    let threads = cores.min(items.len() / WORTH_A_THREAD).max(1);
    if threads == 1 {
        return items.iter().map(|item| go_on().then(|| work(item))).collect();
    }
    let (work, stop, caller) = (&work, &AtomicBool::new(false), &std::thread::current());
    let lot = items.len().div_ceil(threads);
    std::thread::scope(|scope| {
        let each = |lot: &[T]| -> Option<Vec<R>> {
            lot.iter().map(|item| (!stop.load(Ordering::Relaxed)).then(|| work(item))).collect()
        };
        let mut running = Vec::new();
        for lot in items.chunks(lot) {
            let thread = std::thread::Builder::new().spawn_scoped(scope, move || {
                let done = each(lot);
                caller.unpark();
                done
            });
            running.push(thread.map_err(|_| lot));
        }
        let mut done = Vec::with_capacity(items.len());
        for thread in running {
            let lot = match thread {
                Ok(thread) => {
                    while !thread.is_finished() {
                        if !go_on() {
                            stop.store(true, Ordering::Relaxed);
                        }
                        std::thread::park_timeout(ASK);
                    }
                    thread.join().unwrap_or_else(|panic| std::panic::resume_unwind(panic))
                }
                Err(lot) => lot.iter().map(|item| go_on().then(|| work(item))).collect(),
            };
            done.extend(lot?);
        }
        Some(done)
    })
}
