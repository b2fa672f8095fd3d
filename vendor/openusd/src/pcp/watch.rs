//! Stopping a composition that takes too long.
//!
//! Arcs that repeat arcs multiply: a few kilobytes can ask for more nodes than
//! anybody waits for. A host says on its thread what it allows, and composing
//! there fails with [`QueryError::Stopped`](super::QueryError::Stopped) where
//! that is used up.

use std::cell::RefCell;
use std::rc::Rc;

use super::QueryError;

/// Asked as composing goes on, with what was done since it was asked last: nodes
/// that were seeded and tasks on them. An error stops it.
pub type Watch = dyn Fn(u64) -> Result<(), String>;

thread_local! {
    static WATCH: RefCell<Option<Rc<Watch>>> = const { RefCell::new(None) };
}

/// Runs `work` with `watch` asked whenever this thread composes.
pub fn watched<T>(watch: Rc<Watch>, work: impl FnOnce() -> T) -> T {
    struct Restore(Option<Rc<Watch>>);
    impl Drop for Restore {
        fn drop(&mut self) {
            WATCH.with(|w| *w.borrow_mut() = self.0.take());
        }
    }
    let before = WATCH.with(|w| w.borrow_mut().replace(watch));
    let _restore = Restore(before);
    work()
}

/// Asks whether composing may go on.
pub(crate) fn step(done: u64) -> Result<(), QueryError> {
    let watch = WATCH.with(|w| w.borrow().clone());
    match watch {
        Some(watch) => watch(done).map_err(|why| QueryError::Stopped(Box::new(why))),
        None => Ok(()),
    }
}
