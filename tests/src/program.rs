//! Runs a program to its end and keeps what it said. One that computes for ever is ended, with its children; a machine that is
//! slow or busy ends nothing, because only the processor's time counts.

use std::ffi::OsStr;
use std::io::{Read, Write};
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::sync::mpsc::{Receiver, channel};
use std::time::{Duration, Instant};

/// Processor time of one step of a test, its children's included: a hundred times what the longest needs.
const DEFAULT_LIMIT: Duration = Duration::from_secs(3600);

/// How often the processor time is asked for.
const WATCH_INTERVAL: Duration = Duration::from_millis(250);

/// Ticks per second in which Linux counts processor time for programs, on all of its platforms.
const TICKS: f64 = 100.0;

/// How long the pipes of a finished program may stay open: a grandchild that inherited them could hold them.
const DRAIN_LIMIT: Duration = Duration::from_secs(5);

const POLL_INTERVAL: Duration = Duration::from_millis(5);

/// A program about to be run.
pub struct Program {
    command: Command,
    input: Vec<u8>,
    limit: Duration,
}

/// A program that came to its end by itself.
#[derive(Debug)]
pub struct Finished {
    /// Exit code; `None` when a signal ended it.
    pub code: Option<i32>,
    /// Standard output; bytes that are not UTF-8 are replaced.
    pub stdout: String,
    /// Standard error, likewise.
    pub stderr: String,
    label: String,
}

impl Program {
    /// The program of that name or path, with nothing on standard input.
    pub fn new(program: impl AsRef<OsStr>) -> Program {
        Program { command: Command::new(program), input: Vec::new(), limit: DEFAULT_LIMIT }
    }

    /// Adds one argument.
    pub fn arg(mut self, argument: impl AsRef<OsStr>) -> Program {
        self.command.arg(argument);
        self
    }

    /// Adds arguments.
    pub fn args<A: AsRef<OsStr>>(mut self, arguments: impl IntoIterator<Item = A>) -> Program {
        self.command.args(arguments);
        self
    }

    /// Sets an environment variable.
    pub fn env(mut self, key: &str, value: impl AsRef<OsStr>) -> Program {
        self.command.env(key, value);
        self
    }

    /// Removes an environment variable.
    pub fn without_env(mut self, key: &str) -> Program {
        self.command.env_remove(key);
        self
    }

    /// Runs in that folder.
    pub fn folder(mut self, folder: &Path) -> Program {
        self.command.current_dir(folder);
        self
    }

    /// Gives it these bytes on standard input.
    pub fn input(mut self, bytes: impl Into<Vec<u8>>) -> Program {
        self.input = bytes.into();
        self
    }

    /// Ends it after so much time of the processor, its children's included, instead of an hour.
    pub fn limit(mut self, limit: Duration) -> Program {
        self.limit = limit;
        self
    }

    /// Runs it. An error when it cannot be started or computes for longer than its limit; any exit code is fine here.
    pub fn run(mut self) -> Result<Finished, String> {
        let label = format!("{:?}", self.command);
        self.command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
        own_group(&mut self.command);
        let mut child = self.command.spawn().map_err(|e| format!("{label} cannot be started: {e}"))?;
        feed(child.stdin.take(), self.input);
        let stdout = drain(child.stdout.take());
        let stderr = drain(child.stderr.take());

        let mut watched = Instant::now();
        let status = loop {
            if let Some(status) = child.try_wait().map_err(|e| format!("{label}: {e}"))? {
                break Some(status);
            }
            if watched.elapsed() > WATCH_INTERVAL {
                watched = Instant::now();
                if processor_time(child.id()) > self.limit {
                    break None;
                }
            }
            std::thread::sleep(POLL_INTERVAL);
        };
        if status.is_none() {
            kill_group(&mut child);
        }
        let text = |pipe: Receiver<Vec<u8>>| {
            let bytes = pipe.recv_timeout(DRAIN_LIMIT).unwrap_or_default();
            String::from_utf8_lossy(&bytes).into_owned()
        };
        let (stdout, stderr) = (text(stdout), text(stderr));
        match status {
            Some(status) => Ok(Finished { code: status.code(), stdout, stderr, label }),
            None => {
                Err(format!("{label} did not end in {:?} of the processor\n{stdout}{stderr}", self.limit))
            }
        }
    }
}

impl Finished {
    /// Itself when the exit code is 0, else a message with all that the program said.
    pub fn success(self) -> Result<Finished, String> {
        self.code_is(0)
    }

    /// Itself when the exit code is `code`, else a message with all that the program said.
    pub fn code_is(self, code: i32) -> Result<Finished, String> {
        if self.code == Some(code) {
            return Ok(self);
        }
        let ended = self.code.map_or("was ended by a signal".to_owned(), |c| format!("exited with {c}"));
        Err(format!("{} {ended}, not {code}\n{}{}", self.label, self.stdout, self.stderr))
    }
}

/// Writing on a thread of its own: a program that answers while it reads would otherwise block both sides.
fn feed(pipe: Option<impl Write + Send + 'static>, bytes: Vec<u8>) {
    let Some(mut pipe) = pipe else { return };
    // A program that ends without reading its input is judged by its exit code, not by the broken pipe.
    std::thread::spawn(move || pipe.write_all(&bytes));
}

fn drain(pipe: Option<impl Read + Send + 'static>) -> Receiver<Vec<u8>> {
    let (send, receive) = channel();
    if let Some(mut pipe) = pipe {
        std::thread::spawn(move || {
            let mut bytes = Vec::new();
            let _ = pipe.read_to_end(&mut bytes);
            let _ = send.send(bytes);
        });
    }
    receive
}

/// What a group of processes has used of the processor, with those of its children that have ended. Nothing where there is no
/// `/proc`: there nobody watches.
fn processor_time(group: u32) -> Duration {
    let Ok(processes) = std::fs::read_dir("/proc") else { return Duration::ZERO };
    let used = |entry: std::fs::DirEntry| -> Option<f64> {
        let stat = std::fs::read_to_string(entry.path().join("stat")).ok()?;
        // The name, in brackets, may hold anything; the state follows it, then numbers.
        let fields: Vec<&str> = stat.rsplit_once(')')?.1.split_whitespace().collect();
        let number = |k: usize| fields.get(k)?.parse::<f64>().ok();
        (number(2)? == f64::from(group)).then(|| (11..15).filter_map(number).sum())
    };
    let ticks: f64 = processes.flatten().filter_map(used).sum();
    Duration::from_secs_f64(ticks / TICKS)
}

/// A group of its own, so that a limit ends its children too.
#[cfg(unix)]
fn own_group(command: &mut Command) {
    std::os::unix::process::CommandExt::process_group(command, 0);
}

#[cfg(not(unix))]
fn own_group(_command: &mut Command) {}

fn kill_group(child: &mut Child) {
    #[cfg(unix)]
    let _ = Command::new("kill").args(["-KILL", "--", &format!("-{}", child.id())]).status();
    let _ = child.kill();
    let _ = child.wait();
}
