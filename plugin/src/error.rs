//! Why a file could not be read or written: what, where in it, and what to do.

use std::io;

/// Longest part of a name shown in a message. Names are the file's, so they may be of any length, and a clip's
/// name stands in front of each of its channels.
const NAME_SHOWN: usize = 60;

/// A refusal. Its text begins with the file and names the object in it, as `walk.glb: animation 2 "Walk",
/// channel 3, node "Tail": …`.
#[derive(Debug, thiserror::Error)]
#[error("{}", self.text())]
pub struct Error {
    kind: ErrorKind,
    file: String,
    what: String,
    source: Option<io::Error>,
}

/// A name as messages show it: quoted, control characters escaped, not too long.
pub(crate) fn quote(name: &str) -> String {
    let mut shown: String = name.chars().take(NAME_SHOWN).flat_map(char::escape_debug).collect();
    if name.chars().nth(NAME_SHOWN).is_some() {
        shown.push('…');
    }
    format!("\"{shown}\"")
}

/// Who can mend it: the one who made the file, or the one who keeps the disk.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ErrorKind {
    /// The document, or the clip to add, is not what it must be.
    Input,
    /// The system would not read or write.
    Io,
}

impl Error {
    /// Bad input or the system.
    pub fn kind(&self) -> ErrorKind {
        self.kind
    }

    pub(crate) fn input(what: impl Into<String>) -> Error {
        Error { kind: ErrorKind::Input, file: String::new(), what: what.into(), source: None }
    }

    pub(crate) fn io(what: impl Into<String>, source: io::Error) -> Error {
        Error { kind: ErrorKind::Io, file: String::new(), what: what.into(), source: Some(source) }
    }

    /// Says which file; functions inside this module know only the object.
    pub(crate) fn in_file(mut self, file: &str) -> Error {
        if self.file.is_empty() {
            self.file = file.to_owned();
        }
        self
    }

    /// Puts the object's name before the text.
    pub(crate) fn at(mut self, place: &str) -> Error {
        self.what = format!("{place}: {}", self.what);
        self
    }

    fn text(&self) -> String {
        let file = if self.file.is_empty() { String::new() } else { format!("{}: ", self.file) };
        let cause = self.source.as_ref().map_or_else(String::new, |cause| format!(": {cause}"));
        format!("{file}{}{cause}", self.what)
    }
}

impl From<crate::files::WriteError> for Error {
    fn from(e: crate::files::WriteError) -> Error {
        // What we say ourselves is said; what the system says is seldom enough.
        let hint = if e.error.get_ref().is_some() { "" } else { " (is there space, and permission?)" };
        Error::io(format!("cannot write {}{hint}", e.path.display()), e.error)
    }
}
