//! "Guide A waits at key k until guide B has passed key j": the links, and the circles that would never end.

/// One link, in times on the paths (s).
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct WaitLink {
    /// Tracker that waits.
    pub waiting: usize,
    /// Parameter at which it waits.
    pub at: f64,
    /// Tracker it waits for.
    pub awaited: usize,
    /// Parameter that one has to reach.
    pub passes: f64,
}

/// The links that can never be released, because they wait for each other in a circle.
///
/// Every tracker is let run as far as its links allow, again and again until nothing moves; what still holds
/// somebody then, holds for ever.
pub fn deadlock(links: &[WaitLink], trackers: usize) -> Vec<WaitLink> {
    let mut reached = vec![f64::NEG_INFINITY; trackers];
    loop {
        let before = reached.clone();
        for (i, reached_by_i) in reached.iter_mut().enumerate() {
            *reached_by_i = links
                .iter()
                .filter(|l| l.waiting == i && before[l.awaited] < l.passes)
                .fold(f64::INFINITY, |m, l| m.min(l.at));
        }
        if reached == before {
            break;
        }
    }
    links.iter().filter(|l| reached[l.awaited] < l.passes).copied().collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn link(waiting: usize, at: f64, awaited: usize, passes: f64) -> WaitLink {
        WaitLink { waiting, at, awaited, passes }
    }

    #[test]
    fn a_relay_runs() {
        assert!(deadlock(&[link(0, 1.0, 1, 2.0), link(1, 3.0, 0, 4.0)], 2).is_empty());
    }

    #[test]
    fn a_circle_is_found() {
        let circle = [link(0, 1.0, 1, 2.0), link(1, 1.0, 0, 2.0)];
        assert_eq!(deadlock(&circle, 2), circle);
    }

    #[test]
    fn meeting_at_the_same_key_is_no_circle() {
        // Each waits at its key until the other has come to its own: both come, both go.
        assert!(deadlock(&[link(0, 1.0, 1, 1.0), link(1, 1.0, 0, 1.0)], 2).is_empty());
    }
}
