//! Whether the threads that figures and islands are shared out to are there. A process that may start no more of them, and the
//! child of a `fork`, in which none of its parent's threads go on, do everything on the thread that asks: the numbers are the same.

use std::sync::OnceLock;

/// Whether the pool's threads run, and of which process they are.
static POOL: OnceLock<(bool, u32)> = OnceLock::new();

/// Whether work can be shared out. Starts the threads when it is first asked.
pub(crate) fn is_there() -> bool {
    let (made, process) = POOL.get_or_init(|| (start(), std::process::id()));
    *made && *process == std::process::id()
}

fn start() -> bool {
    match rayon::ThreadPoolBuilder::new().build_global() {
        Ok(()) => true,
        // A host that uses the same pool may have started it.
        Err(e) => e.to_string().contains("already been initialized"),
    }
}
