//! A bar on a terminal, plain lines off it.

use crate::{say, stop};
use indicatif::{ProgressBar, ProgressStyle};
use sinew_plugin::job::{Progress, Stage};
use std::io::IsTerminal;
use std::time::{Duration, Instant};

/// Off a terminal, a line at most this often.
const LINE_EVERY: Duration = Duration::from_secs(2);

/// Shows how far a job is.
pub struct Bar {
    bar: Option<ProgressBar>,
    lines: bool,
    last_line: Instant,
}

impl Bar {
    /// `quiet`: neither bar nor lines.
    pub fn new(quiet: bool) -> Bar {
        let terminal = std::io::stderr().is_terminal();
        let style = ProgressStyle::with_template("{msg:9} [{bar:40}] frame {pos}/{len}  {eta} left")
            .unwrap_or_else(|_| ProgressStyle::default_bar())
            .progress_chars("=> ");
        Bar {
            bar: (!quiet && terminal).then(|| ProgressBar::new(0).with_style(style)),
            lines: !quiet && !terminal,
            last_line: Instant::now(),
        }
    }

    /// Shows `p`; whether the job may go on.
    pub fn show(&mut self, p: Progress) -> bool {
        let word = match p.stage {
            Stage::Open => "opening",
            Stage::Compile => "preparing",
            Stage::Simulate => "simulating",
            Stage::Bake => "baking",
            Stage::Save => "saving",
        };
        if let Some(bar) = &self.bar {
            bar.set_message(word);
            if p.stage == Stage::Simulate {
                bar.set_length(p.of as u64);
                bar.set_position(p.done as u64);
            }
        } else if self.lines && self.last_line.elapsed() >= LINE_EVERY {
            say::tell(&format!("{word} {}/{}", p.done, p.of));
            self.last_line = Instant::now();
        }
        !stop::is_asked()
    }

    /// Takes the bar away.
    pub fn clear(&self) {
        if let Some(bar) = &self.bar {
            bar.finish_and_clear();
        }
    }
}
