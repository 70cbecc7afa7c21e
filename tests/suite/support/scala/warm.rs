//! One virtual machine for each version of Scala, which stays until the tests are over: it compiles whatever is compiled, and runs
//! programs that need no virtual machine of their own. See `Warm.java`.

use super::{Scala, folder, tool};
use crate::support::{repository, unique};
use std::io::{BufRead, BufReader, Read, Write};
use std::process::{Child, ChildStdin, ChildStdout, Command, Stdio};
use std::sync::{Mutex, PoisonError};

/// A compiler runs for seconds only: the second JIT compiler would cost more than it gains. Without it there is memory for little compiled
/// code by default, less than the compilers and all programs need. Standard output is for answers, not for warnings of the virtual machine.
const OPTIONS: [&str; 8] = [
    "-XX:+UseSerialGC",
    "-XX:TieredStopAtLevel=1",
    "-XX:ReservedCodeCacheSize=240m",
    "-Xss8m",
    "-Xmx2g",
    "-XX:+DisplayVMOutputToStderr",
    "-Xlog:disable",
    "-Xlog:all=warning:stderr",
];

pub struct Warm {
    child: Child,
    requests: ChildStdin,
    answers: BufReader<ChildStdout>,
}

impl Warm {
    /// Starts one in the Java that the command is.
    pub fn start(mut java: Command, scala: Scala) -> Warm {
        java.args(OPTIONS).env("LC_ALL", "C");
        java.arg(format!("-Dduologue.repository={}", repository().display()));
        java.args(["-cp", &scala.class_path()]);
        java.arg(repository().join("tests/suite/support/scala/Warm.java"));
        java.arg(scala.compiler());
        java.stdin(Stdio::piped()).stdout(Stdio::piped());
        let mut child = java
            .spawn()
            .unwrap_or_else(|error| panic!("{java:?}: {error}"));
        let requests = child.stdin.take().expect("it is piped");
        let answers = child.stdout.take().expect("it is piped");
        Warm {
            child,
            requests,
            answers: BufReader::new(answers),
        }
    }

    /// Returns what was printed, also as the error.
    pub fn ask<T: AsRef<str>>(&mut self, kind: &str, arguments: &[T]) -> Result<String, String> {
        let file = folder("requests").join(unique().to_string());
        let lines = arguments.iter().map(AsRef::as_ref);
        let request: Vec<&str> = std::iter::once(kind).chain(lines).collect();
        std::fs::create_dir_all(folder("requests")).expect("the target folder can be written");
        std::fs::write(&file, request.join("\n")).expect("the target folder can be written");
        let shown = || format!("{kind}, as {} says", file.display());
        let asked = writeln!(self.requests, "{}", file.display());
        let mut line = String::new();
        let read = asked.and_then(|()| self.answers.read_line(&mut line));
        let answer = read.ok().and_then(|_| line.trim_end().split_once(' '));
        let answer = answer.and_then(|(is_well, length)| Some((is_well, length.parse().ok()?)));
        let Some((is_well, length)) = answer else {
            self.end();
            return Err(format!("{} has ended the virtual machine: {line}", shown()));
        };
        let mut printed = vec![0; length];
        if let Err(error) = self.answers.read_exact(&mut printed) {
            self.end();
            return Err(format!("{}: {error}", shown()));
        }
        let printed = String::from_utf8_lossy(&printed).into_owned();
        if is_well == "true" {
            std::fs::remove_file(&file).expect("it was written above");
            Ok(printed)
        } else {
            Err(format!("{}:\n{printed}", shown()))
        }
    }

    fn end(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

impl Drop for Warm {
    fn drop(&mut self) {
        self.end();
    }
}

/// Asks the one of this version, or a new one after a request has ended it. It ends with the process of the tests, which then closes its
/// input.
pub fn ask<T: AsRef<str>>(scala: Scala, kind: &str, arguments: &[T]) -> Result<String, String> {
    static RUNNING: [Mutex<Option<Warm>>; 2] = [const { Mutex::new(None) }; 2];
    let running = RUNNING[scala as usize].lock();
    let mut running = running.unwrap_or_else(PoisonError::into_inner);
    let mut warm = running
        .take()
        .unwrap_or_else(|| Warm::start(tool("java"), scala));
    let answer = warm.ask(kind, arguments);
    *running = warm
        .child
        .try_wait()
        .is_ok_and(|ended| ended.is_none())
        .then_some(warm);
    answer
}
