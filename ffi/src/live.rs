//! Handles that cannot dangle.
//!
//! A handle is a number that is never given out twice, dressed as a pointer, and looked up in one table on every
//! call. So a freed handle, one of another kind, or any stray pointer is refused, always, not only while the
//! memory happens to be mapped; and freeing a handle that another thread is using merely ends it afterwards.
//! The price is a read lock and a look into a tree per call (some 30 ns), a fraction of a session's smallest step.
//!
//! Behind the number is a lock that is only ever tried: a call that would need to wait for another one on the same
//! handle is a mistake in the host and is told so (`SINEW_BUSY`).

use crate::result::{Fault, SINEW_BAD_HANDLE, SINEW_BUSY, SINEW_POISONED};
use std::any::Any;
use std::collections::BTreeMap;
use std::hash::{BuildHasher, RandomState};
use std::ops::{Deref, DerefMut};
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::{Arc, OnceLock, PoisonError, RwLock, RwLockReadGuard, RwLockWriteGuard, TryLockError};

/// An opaque type of the header, and what is behind it.
pub trait Opaque {
    /// What a handle of this type stands for.
    type Inner: Send + Sync + 'static;
    /// The type's name in messages.
    const NAME: &'static str;
}

/// What is behind one handle.
pub struct Slot<T> {
    poisoned: AtomicBool,
    value: RwLock<T>,
}

struct Entry {
    name: &'static str,
    slot: Arc<dyn Any + Send + Sync>,
}

/// A tree: hosts have few handles, and it needs neither hashing nor anything that runs when the library is loaded.
static TABLE: RwLock<BTreeMap<usize, Entry>> = RwLock::new(BTreeMap::new());

/// Handles differ by this much, and end in these bits: no allocator gives out such an address, so a stray pointer
/// is not taken for a handle.
const STRIDE: usize = 16;
const MARK: usize = 9;

/// Where a copy of the library begins to count: anywhere, so that two copies in one process do not know each other's handles.
fn first() -> AtomicUsize {
    AtomicUsize::new((RandomState::new().hash_one(&raw const TABLE) as usize) >> 8)
}

/// Puts a value into the table and gives its handle.
pub fn insert<H: Opaque>(value: H::Inner) -> *mut H {
    static NEXT: OnceLock<AtomicUsize> = OnceLock::new();
    let number = NEXT.get_or_init(first).fetch_add(1, Ordering::Relaxed).wrapping_mul(STRIDE) | MARK;
    let slot = Arc::new(Slot { poisoned: AtomicBool::new(false), value: RwLock::new(value) });
    TABLE.write().unwrap_or_else(PoisonError::into_inner).insert(number, Entry { name: H::NAME, slot });
    std::ptr::without_provenance_mut(number)
}

/// What a handle stands for.
pub fn get<H: Opaque>(handle: *const H) -> Result<Arc<Slot<H::Inner>>, Fault> {
    if handle.is_null() {
        return Err(Fault::argument(format!("the {} is NULL; pass a live one", H::NAME)));
    }
    let table = TABLE.read().unwrap_or_else(PoisonError::into_inner);
    let Some(entry) = table.get(&handle.addr()) else {
        let text = format!("this {} is not live: it was freed, or is no handle of this library", H::NAME);
        return Err(Fault::new(SINEW_BAD_HANDLE, text));
    };
    entry.slot.clone().downcast().map_err(|_| {
        let text = format!("a {} was passed where a {} is needed", entry.name, H::NAME);
        Fault::new(SINEW_BAD_HANDLE, text)
    })
}

/// Ends a handle. NULL is fine; a value in use by another call is dropped when that ends.
pub fn remove<H: Opaque>(handle: *mut H) -> Result<(), Fault> {
    if handle.is_null() {
        return Ok(());
    }
    let slot = get(handle.cast_const())?;
    let entry = TABLE.write().unwrap_or_else(PoisonError::into_inner).remove(&handle.addr());
    // Outside the lock: what goes may be large.
    drop((entry, slot));
    Ok(())
}

impl<T> Slot<T> {
    fn check<G>(&self, tried: Result<G, TryLockError<G>>) -> Result<G, Fault> {
        if self.poisoned.load(Ordering::Acquire) {
            let text = "an earlier call with this handle met a defect; free it and make a new one";
            return Err(Fault::new(SINEW_POISONED, text));
        }
        tried.or_else(|e| match e {
            TryLockError::Poisoned(e) => Ok(e.into_inner()),
            TryLockError::WouldBlock => Err(Fault::new(
                SINEW_BUSY,
                "another call is using this handle; one call at a time may change it, and none may read it then",
            )),
        })
    }

    /// To look at; others may, too.
    pub fn read(&self) -> Result<RwLockReadGuard<'_, T>, Fault> {
        self.check(self.value.try_read())
    }

    /// To change; nobody else may use it meanwhile.
    pub fn write(&self) -> Result<Held<'_, RwLockWriteGuard<'_, T>>, Fault> {
        let guard = self.check(self.value.try_write())?;
        Ok(Held { guard, poisoned: &self.poisoned, panicking_before: std::thread::panicking() })
    }
}

/// A handle's value that is being changed. Let go by a panic, it poisons the handle; one that is only looked at stays as it is.
pub struct Held<'a, G> {
    guard: G,
    poisoned: &'a AtomicBool,
    /// A host in Rust may call from a destructor while it unwinds; that is no fault of ours.
    panicking_before: bool,
}

impl<G> Drop for Held<'_, G> {
    fn drop(&mut self) {
        if std::thread::panicking() && !self.panicking_before {
            self.poisoned.store(true, Ordering::Release);
        }
    }
}

impl<G: Deref> Deref for Held<'_, G> {
    type Target = G::Target;
    fn deref(&self) -> &G::Target {
        &self.guard
    }
}

impl<G: DerefMut> DerefMut for Held<'_, G> {
    fn deref_mut(&mut self) -> &mut G::Target {
        &mut self.guard
    }
}
