//! The programs of each language, and how two of them hold a conversation.

use std::io::{BufRead, BufReader, Read};
use std::process::{Child, Command, Stdio};
use std::thread;
use std::time::{Duration, Instant};

/// No conversation takes this long, even on a busy machine.
const PATIENCE: Duration = Duration::from_secs(60);

/// A language that programs of the conversations are written in.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Language {
    Rust,
    C,
    Scala,
}

/// How a program ended.
#[derive(Debug)]
pub struct Outcome {
    /// What it wrote, except for the address.
    pub lines: Vec<String>,
    /// Its exit code; `None` if it was stopped because it took too long.
    pub code: Option<i32>,
    pub errors: String,
}

impl Language {
    /// As `DUOLOGUE_TARGETS` names it.
    pub fn name(self) -> &'static str {
        match self {
            Language::Rust => "rust",
            Language::C => "c",
            Language::Scala => "scala",
        }
    }

    /// The program, without its arguments.
    fn command(self) -> Command {
        match self {
            Language::Rust => crate::rust::remote_program(),
            Language::C => crate::c::remote_program(),
            Language::Scala => crate::scala::remote_program(),
        }
    }
}

/// Runs a case. The server listens at `address`; the client connects there, or to `through`. Returns how the client and the server
/// ended.
pub fn converse(
    client: Language,
    server: Language,
    case: &str,
    address: &str,
    through: Option<&str>,
) -> [Outcome; 2] {
    let mut server = Running::start(server.command().args(["server", case, address]));
    let listening = server.first_line();
    let Some(heard) = listening.strip_prefix("listening ") else {
        let outcome = server.end();
        panic!("the server says {listening:?}, not where it listens: {outcome:?}");
    };
    let client = Running::start(
        client
            .command()
            .args(["client", case, through.unwrap_or(heard)]),
    );
    [client.end(), server.end()]
}

/// A program that runs. Its output is read by threads, so it never waits for a reader.
struct Running {
    child: Child,
    output: BufReader<std::process::ChildStdout>,
    errors: thread::JoinHandle<String>,
}

impl Running {
    fn start(command: &mut Command) -> Running {
        command
            .stdin(Stdio::null())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped());
        let mut child = command
            .spawn()
            .unwrap_or_else(|error| panic!("{command:?}: {error}"));
        let output = BufReader::new(child.stdout.take().expect("it is piped"));
        let mut stream = child.stderr.take().expect("it is piped");
        let errors = thread::spawn(move || {
            let mut text = Vec::new();
            // What was read before an error is shown.
            let _ = stream.read_to_end(&mut text);
            String::from_utf8_lossy(&text).into_owned()
        });
        Running {
            child,
            output,
            errors,
        }
    }

    fn first_line(&mut self) -> String {
        let mut line = String::new();
        self.output
            .read_line(&mut line)
            .expect("the output is text");
        line.trim_end().to_owned()
    }

    /// Waits for the program's end.
    fn end(self) -> Outcome {
        let Running {
            mut child,
            mut output,
            errors,
        } = self;
        let reading = thread::spawn(move || {
            let mut text = String::new();
            output
                .read_to_string(&mut text)
                .expect("the output is text");
            text.lines().map(str::to_owned).collect()
        });
        let start = Instant::now();
        let code = loop {
            match child.try_wait().expect("the child exists") {
                Some(status) => break status.code(),
                None if start.elapsed() > PATIENCE => {
                    let _ = child.kill();
                    let _ = child.wait();
                    break None;
                }
                None => thread::sleep(Duration::from_millis(1)),
            }
        };
        Outcome {
            lines: reading.join().expect("it does not panic"),
            code,
            errors: errors.join().expect("it does not panic"),
        }
    }
}
