//! Islands: bodies that touch each other, however indirectly. They are solved apart, so that what happens on one has no
//! effect on the digits of another, and several at a time.

/// Which bodies hang together.
#[derive(Clone, Debug, Default)]
pub struct Islands {
    root: Vec<u32>,
}

impl Islands {
    /// Room for so many bodies.
    pub fn with_capacity(bodies: usize) -> Islands {
        Islands { root: Vec::with_capacity(bodies) }
    }

    /// Every body by itself.
    pub fn begin(&mut self, bodies: usize) {
        self.root.clear();
        self.root.extend(0..bodies as u32);
    }

    /// The lowest number of those that hang together with a body.
    pub fn of(&mut self, body: u32) -> u32 {
        let mut root = body;
        while self.root[root as usize] != root {
            root = self.root[root as usize];
        }
        // Shorter next time.
        let mut at = body;
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
