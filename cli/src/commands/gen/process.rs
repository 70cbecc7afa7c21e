//! Runs the program of a plugin: its input, its answer, and the limits that keep it from hanging or filling memory.

use crate::terminal::harmless;
use duologue_project::{Failure, needs_native};
use std::ffi::OsString;
use std::io::{self, Read, Write};
use std::process::{Child, Command, ExitStatus, Stdio};
use std::sync::mpsc::{Receiver, RecvTimeoutError, channel};
use std::thread;
use std::time::{Duration, Instant};

/// The most bytes of an answer.
const ANSWER: u64 = 64 << 20;
/// The most bytes of standard error that are shown.
const ERRORS: u64 = 8 << 10;
/// How long to wait between two looks whether the program has ended.
const PAUSE: Duration = Duration::from_millis(5);

/// A program to run.
pub struct Program<'a> {
    /// The plugin's name.
    pub name: &'a str,
    pub path: OsString,
    /// Whether the user gave a path; otherwise it is searched for in `PATH`.
    pub is_path: bool,
    /// How long it may take.
    pub limit: Duration,
}

/// What a program printed before it ended with success.
pub struct Printed {
    pub answer: Vec<u8>,
    pub errors: String,
}

impl Program<'_> {
    /// Runs the program with this standard input.
    pub fn run(&self, input: Vec<u8>) -> Result<Printed, Failure> {
        needs_native(format_args!("plugin `{}`", self.name), "processes")?;
        let end = Instant::now() + self.limit;
        let mut command = Command::new(&self.path);
        let command = command.stdin(Stdio::piped()).stdout(Stdio::piped());
        let mut child = command
            .stderr(Stdio::piped())
            .spawn()
            .map_err(|error| self.cannot_start(&error))?;
        let mut stdin = child.stdin.take().expect("it is a pipe");
        // Threads that are not joined: a process that the plugin started can keep its pipes open after the plugin is killed.
        thread::spawn(move || {
            // A plugin need not read its input to the end.
            let _ = stdin.write_all(&input);
        });
        let answer = limited(child.stdout.take().expect("it is a pipe"), ANSWER);
        let errors = limited(child.stderr.take().expect("it is a pipe"), ERRORS);
        let finished = self.wait(&mut child, &answer, end);
        if finished.is_err() {
            // It may have ended in the meantime.
            let _ = child.kill();
            let _ = child.wait();
        }
        let errors = errors.recv_timeout(Duration::from_millis(200));
        let errors = errors.map(|(errors, _)| text(&errors)).unwrap_or_default();
        let (status, answer) = finished.map_err(|words| self.failed(&words, &errors))?;
        if !status.success() {
            let words = match status.code() {
                Some(code) => format!("failed with exit code {code}"),
                None => "was ended by a signal".to_owned(),
            };
            return Err(self.failed(&words, &errors));
        }
        Ok(Printed { answer, errors })
    }

    /// Waits until the program has closed its output and ended.
    fn wait(
        &self,
        child: &mut Child,
        answer: &Receiver<(Vec<u8>, bool)>,
        end: Instant,
    ) -> Result<(ExitStatus, Vec<u8>), String> {
        let late = || {
            let limit = self.limit.as_secs();
            format!("did not answer within {limit} s; --plugin-timeout sets the limit")
        };
        let left = || end.saturating_duration_since(Instant::now());
        let answer = match answer.recv_timeout(left()) {
            Ok((_, true)) => {
                let most = ANSWER >> 20;
                return Err(format!(
                    "printed more than {most} MiB, the limit for an answer"
                ));
            }
            Ok((answer, false)) => answer,
            Err(RecvTimeoutError::Timeout | RecvTimeoutError::Disconnected) => return Err(late()),
        };
        loop {
            match child.try_wait() {
                Ok(Some(status)) => return Ok((status, answer)),
                Ok(None) if left().is_zero() => return Err(late()),
                Ok(None) => thread::sleep(PAUSE),
                Err(error) => return Err(format!("cannot be waited for: {error}")),
            }
        }
    }

    fn cannot_start(&self, error: &io::Error) -> Failure {
        let (name, path) = (self.name, self.path.to_string_lossy());
        let path = harmless(&path);
        let kind = error.kind();
        let words = if kind == io::ErrorKind::NotFound && self.is_path {
            format!("plugin `{name}`: there is no program {path}")
        } else if kind == io::ErrorKind::NotFound {
            format!(
                "plugin `{name}`: there is no program `{path}` in PATH; install it, or give a path, as in --plugin ./{path}=DIR"
            )
        } else if kind == io::ErrorKind::PermissionDenied {
            format!("plugin `{name}`: {path} is not executable")
        } else {
            format!("plugin `{name}`: {path} cannot be started: {error}")
        };
        Failure::Environment(words)
    }

    fn failed(&self, words: &str, errors: &str) -> Failure {
        let name = self.name;
        let errors = match errors.trim_end() {
            "" => String::new(),
            errors => format!("; it printed:\n{errors}"),
        };
        environment!("plugin `{name}` {words}; nothing was written{errors}")
    }
}

/// Reads to the end, but keeps at most `most` bytes; sends them, and whether there were more. Stops reading an answer that is too
/// long.
fn limited(from: impl Read + Send + 'static, most: u64) -> Receiver<(Vec<u8>, bool)> {
    let (sender, receiver) = channel();
    thread::spawn(move || {
        let mut from = from;
        let mut bytes = Vec::new();
        // A pipe that breaks has ended.
        let _ = (&mut from).take(most + 1).read_to_end(&mut bytes);
        let kept = usize::try_from(most).unwrap_or(usize::MAX);
        let is_more = bytes.len() > kept;
        bytes.truncate(kept);
        // The receiver is gone if it has given up.
        let _ = sender.send((bytes, is_more));
        // A plugin that prints many warnings must not block.
        let _ = io::copy(&mut from, &mut io::sink());
    });
    receiver
}

/// What a program printed for people, without what a terminal would obey.
fn text(bytes: &[u8]) -> String {
    harmless(&String::from_utf8_lossy(bytes)).into_owned()
}
