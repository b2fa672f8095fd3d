//! Islands: things that hang together, however indirectly.

/// Which things hang together.
#[derive(Clone, Debug, Default)]
pub struct Islands {
    root: Vec<u32>,
}

impl Islands {
    /// Every one of so many things by itself.
    pub fn begin(&mut self, things: usize) {
        self.root.clear();
        self.root.extend(0..things as u32);
    }

    /// These things by themselves; others stay as they were.
    pub fn begin_with(&mut self, things: &[u32]) {
        things.iter().for_each(|t| self.root[*t as usize] = *t);
    }

    /// These things as others hang together.
    pub fn begin_like(&mut self, others: &Islands, things: &[u32]) {
        things.iter().for_each(|t| self.root[*t as usize] = others.root[*t as usize]);
    }

    /// The lowest number of those that hang together with one.
    pub fn of(&mut self, thing: u32) -> u32 {
        let mut root = thing;
        while self.root[root as usize] != root {
            root = self.root[root as usize];
        }
        // Shorter next time.
        let mut at = thing;
        while self.root[at as usize] != root {
            at = std::mem::replace(&mut self.root[at as usize], root);
        }
        root
    }

    /// Two hang together.
    pub fn join(&mut self, a: u32, b: u32) {
        let (a, b) = (self.of(a), self.of(b));
        self.root[a.max(b) as usize] = a.min(b);
    }
}
