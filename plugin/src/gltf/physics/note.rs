//! What a file's physics says and a set-up cannot, or the other way round: a line for each kind, however many things
//! it concerns.

/// Notes in the order in which their kinds were met.
#[derive(Default)]
pub(super) struct Notes(Vec<Note>);

struct Note {
    what: &'static str,
    first: String,
    more: usize,
}

impl Notes {
    /// Adds one for the thing of that label.
    pub fn add(&mut self, what: &'static str, label: String) {
        match self.0.iter_mut().find(|n| n.what == what) {
            Some(note) if note.first == label => {}
            Some(note) => note.more += 1,
            None => self.0.push(Note { what, first: label, more: 0 }),
        }
    }

    /// As warnings.
    pub fn finish(self) -> Vec<String> {
        let line = |n: Note| match n.more {
            0 => format!("physics of {}: {}", n.first, n.what),
            more => format!("physics of {} and {more} more: {}", n.first, n.what),
        };
        self.0.into_iter().map(line).collect()
    }
}
