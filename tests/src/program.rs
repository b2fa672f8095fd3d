//! Runs a program to its end or to a deadline, whichever is first, and keeps what it said.

use std::ffi::OsStr;
use std::io::{Read, Write};
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::sync::mpsc::{Receiver, channel};
use std::time::{Duration, Instant};

/// Generous for one step of a test on a busy machine, and short enough that a hang fails instead of stalling.
const DEFAULT_LIMIT: Duration = Duration::from_secs(120);

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
    /// Wall-clock time it took.
    pub took: Duration,
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

    /// Ends it after `limit` instead of two minutes.
    pub fn limit(mut self, limit: Duration) -> Program {
        self.limit = limit;
        self
    }

    /// Runs it. An error when it cannot be started or does not end in time; any exit code is fine here.
    pub fn run(mut self) -> Result<Finished, String> {
        let label = format!("{:?}", self.command);
        let start = Instant::now();
        self.command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
        own_group(&mut self.command);
        let mut child = self.command.spawn().map_err(|e| format!("{label} cannot be started: {e}"))?;
        feed(child.stdin.take(), self.input);
        let stdout = drain(child.stdout.take());
        let stderr = drain(child.stderr.take());

        let status = loop {
            match child.try_wait().map_err(|e| format!("{label}: {e}"))? {
                Some(status) => break Some(status),
                None if start.elapsed() > self.limit => break None,
                None => std::thread::sleep(POLL_INTERVAL),
            }
        };
        let took = start.elapsed();
        if status.is_none() {
            kill_group(&mut child);
        }
        let text = |pipe: Receiver<Vec<u8>>| {
            let bytes = pipe.recv_timeout(DRAIN_LIMIT).unwrap_or_default();
            String::from_utf8_lossy(&bytes).into_owned()
        };
        let (stdout, stderr) = (text(stdout), text(stderr));
        match status {
            Some(status) => Ok(Finished { code: status.code(), stdout, stderr, took, label }),
            None => Err(format!("{label} did not end in {:?}\n{stdout}{stderr}", self.limit)),
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

/// A group of its own, so that a deadline ends its children too.
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
