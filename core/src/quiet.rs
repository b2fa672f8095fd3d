//! Panics of libraries that are expected, and answered: nobody is to read of them.

use std::cell::Cell;
use std::panic::{UnwindSafe, catch_unwind, set_hook, take_hook};
use std::sync::Once;

thread_local! {
    static QUIET: Cell<bool> = const { Cell::new(false) };
}

/// What `work` gives; `None` where it panics, of which nothing is printed.
pub fn attempt<T>(work: impl FnOnce() -> T + UnwindSafe) -> Option<T> {
    static HOOK: Once = Once::new();
    HOOK.call_once(|| {
        let before = take_hook();
        set_hook(Box::new(move |panic| {
            if !QUIET.with(Cell::get) {
                before(panic);
            }
        }));
    });
    let outer = QUIET.with(|q| q.replace(true));
    let done = catch_unwind(work).ok();
    QUIET.with(|q| q.set(outer));
    done
}
