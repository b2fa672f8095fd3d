//! What a file held when it was read, so that somebody else's change to it is noticed before it is lost.

use super::Unread;
use std::path::Path;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use twox_hash::XxHash3_128;

/// A number that tells contents apart. The same on every machine and in every version; not proof against forgery.
pub fn digest(bytes: &[u8]) -> u128 {
    XxHash3_128::oneshot(bytes)
}

/// What a document's file held when it was read, or when the document was last saved over it. A clone goes its own way.
#[derive(Debug)]
pub(crate) struct Witness(Arc<Mutex<u128>>);

impl Clone for Witness {
    fn clone(&self) -> Self {
        Witness(Arc::new(Mutex::new(*self.lock())))
    }
}

impl Witness {
    /// Of what was read.
    pub fn new(bytes: &[u8]) -> Witness {
        Witness(Arc::new(Mutex::new(digest(bytes))))
    }

    /// Of a file that somebody else is about to read.
    pub fn of_file(path: &Path) -> Result<Witness, Unread> {
        Ok(Witness::new(&super::read_regular(path, u64::MAX)?))
    }

    /// The same one, to be renewed later.
    pub fn shared(&self) -> Witness {
        Witness(self.0.clone())
    }

    /// Whether the file still holds it.
    pub fn holds(&self, path: &Path) -> bool {
        super::read_regular(path, u64::MAX).is_ok_and(|bytes| digest(&bytes) == *self.lock())
    }

    /// The document was saved as `content`.
    pub fn renew(&self, content: u128) {
        *self.lock() = content;
    }

    fn lock(&self) -> MutexGuard<'_, u128> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

#[cfg(test)]
mod tests {
    #[test]
    fn digests_are_the_same_on_every_machine() {
        // The reference implementation's answer for no bytes.
        assert_eq!(super::digest(b""), 0x99aa_06d3_0147_98d8_6001_c324_468d_497f);
    }
}
