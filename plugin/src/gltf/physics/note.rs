//! What a file's physics says and a set-up cannot, or the other way round: a line for each kind, however many things
//! it concerns.

/// Notes in the order in which their kinds were met.
#[derive(Default)]
pub(crate) struct Notes(Vec<Note>);

struct Note {
    what: &'static str,
    labels: Vec<String>,
}

impl Notes {
    /// Adds one for the thing of that label.
    pub fn add(&mut self, what: &'static str, label: String) {
        match self.0.iter_mut().find(|n| n.what == what) {
            Some(note) if note.labels.contains(&label) => {}
            Some(note) => note.labels.push(label),
            None => self.0.push(Note { what, labels: vec![label] }),
        }
    }

    /// As warnings.
    pub fn finish(self) -> Vec<String> {
        let line = |n: Note| match n.labels.len() {
            1 => format!("physics of {}: {}", n.labels[0], n.what),
            many => format!("physics of {} and {} more: {}", n.labels[0], many - 1, n.what),
        };
        self.0.into_iter().map(line).collect()
    }
}
