//! Programs that run beside a test: servers, and the two sides of a conversation.

use std::io::{BufRead, BufReader, Read, Write};
use std::process::{Child, ChildStdin, Command, Stdio};
use std::sync::mpsc::{Receiver, RecvTimeoutError, channel};
use std::thread;
use std::time::{Duration, Instant};

/// No conversation takes this long, even on a busy machine.
const PATIENCE: Duration = Duration::from_secs(60);

/// No program lets a test wait this long for a line, not even one with thousands of sessions.
const LINE_PATIENCE: Duration = Duration::from_secs(300);

/// How a program ended.
#[derive(Debug)]
pub struct Outcome {
    /// What it wrote, except for lines that were read before.
    pub lines: Vec<String>,
    /// Its exit code; `None` if it was stopped because it took too long.
    pub code: Option<i32>,
    pub errors: String,
}

/// A program that runs. Its output is read by threads, so it never waits for a reader. It is stopped when the test ends, also by a
/// failure.
pub struct Running {
    child: Child,
    input: Option<ChildStdin>,
    lines: Receiver<String>,
    errors: Option<thread::JoinHandle<String>>,
    error_lines: Receiver<String>,
}

impl Running {
    pub fn start(command: &mut Command) -> Running {
        Running::start_with(command, Stdio::null())
    }

    /// Starts a program that reads what the test says to it.
    pub fn start_talking(command: &mut Command) -> Running {
        Running::start_with(command, Stdio::piped())
    }

    fn start_with(command: &mut Command, input: Stdio) -> Running {
        command
            .stdin(input)
            .stdout(Stdio::piped())
            .stderr(Stdio::piped());
        let mut child = command
            .spawn()
            .unwrap_or_else(|error| panic!("{command:?}: {error}"));
        let output = child.stdout.take().expect("it is piped");
        let stream = child.stderr.take().expect("it is piped");
        let (sender, lines) = channel();
        // Most tests read only the whole, and a test that has failed reads nothing more.
        thread::spawn(move || each_line(output, |line| drop(sender.send(line))));
        let (sender, error_lines) = channel();
        let errors = thread::spawn(move || {
            let mut text = String::new();
            each_line(stream, |line| {
                text.push_str(&line);
                text.push('\n');
                drop(sender.send(line));
            });
            text
        });
        Running {
            input: child.stdin.take(),
            child,
            lines,
            errors: Some(errors),
            error_lines,
        }
    }

    /// The next line that it writes to standard error, without its end.
    pub fn error_line(&mut self) -> String {
        let line = self.error_lines.recv_timeout(PATIENCE);
        line.expect("it reports an error")
    }

    /// Writes a line to its input.
    pub fn say(&mut self, line: &str) {
        let input = self.input.as_mut().expect("it reads");
        // At once: the program may end when it has read a part of it.
        let line = format!("{line}\n");
        input.write_all(line.as_bytes()).expect("it has not ended");
    }

    /// Ends its input.
    pub fn end_input(&mut self) {
        self.input = None;
    }

    /// The next line that it writes, without its end. There is an empty one at the end of its output.
    pub fn line(&mut self) -> String {
        match self.lines.recv_timeout(LINE_PATIENCE) {
            Ok(line) => line.trim_end().to_owned(),
            Err(RecvTimeoutError::Disconnected) => String::new(),
            Err(RecvTimeoutError::Timeout) => panic!("it writes nothing and does not end"),
        }
    }

    /// What it has written to standard error since this was asked last.
    pub fn errors_so_far(&mut self) -> String {
        let lines: Vec<String> = self.error_lines.try_iter().collect();
        lines.join("\n")
    }

    /// Kills it with `SIGKILL`. When this returns, the system has closed its connections.
    pub fn kill(mut self) {
        self.child.kill().expect("it can be killed");
        self.child.wait().expect("it is a child of this process");
    }

    /// Waits for the program's end.
    pub fn end(mut self) -> Outcome {
        let errors = self.errors.take().expect("it ends once");
        let start = Instant::now();
        let code = loop {
            match self.child.try_wait().expect("the child exists") {
                Some(status) => break status.code(),
                None if start.elapsed() > PATIENCE => {
                    self.stop();
                    break None;
                }
                None => thread::sleep(Duration::from_millis(1)),
            }
        };
        Outcome {
            lines: self.lines.iter().collect(),
            code,
            errors: errors.join().expect("it does not panic"),
        }
    }

    fn stop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

impl Drop for Running {
    fn drop(&mut self) {
        self.stop();
    }
}

/// Passes on each line of a stream, without its end. What was read before an error is passed on.
fn each_line(stream: impl Read, mut pass: impl FnMut(String)) {
    let lines = BufReader::new(stream).split(b'\n');
    for line in lines.map_while(Result::ok) {
        let line = String::from_utf8_lossy(&line);
        pass(line.strip_suffix('\r').unwrap_or(&line).to_owned());
    }
}
