//! Programs that are started to be attacked.

use duologue_project::Failure;
use std::process::{Child, Command, ExitStatus, Stdio};
use std::thread;
use std::time::{Duration, Instant};

/// How long to wait before something is tried again.
pub const PAUSE: Duration = Duration::from_millis(2);

/// The environment variable in which a command finds the address to connect to.
const ADDRESS: &str = "DUOLOGUE_ATTACK";

/// A program that is started for one attack, and killed after it if it has not ended.
pub struct Victim(Child);

impl Victim {
    pub fn start(
        program: &str,
        arguments: &[String],
        address: &str,
        is_verbose: bool,
    ) -> Result<Victim, Failure> {
        let mut command = Command::new(program);
        command.args(arguments).env(ADDRESS, address);
        command.stdin(Stdio::null()).stdout(Stdio::null());
        if !is_verbose {
            command.stderr(Stdio::null());
        }
        let started = command.spawn();
        started
            .map(Victim)
            .map_err(|error| environment!("`{program}` does not start: {error}"))
    }

    /// How it has ended, if it has.
    pub fn ended(&mut self) -> Option<ExitStatus> {
        self.0.try_wait().ok().flatten()
    }

    /// Waits for its end. Returns what is wrong about it.
    pub fn complaint(&mut self, patience: Duration) -> Option<String> {
        let deadline = Instant::now() + patience;
        loop {
            if let Some(status) = self.ended() {
                return signal(status)
                    .map(|signal| format!("signal {signal} has ended the program"));
            }
            if Instant::now() >= deadline {
                let seconds = patience.as_secs();
                return Some(format!("the program has not ended after {seconds} s"));
            }
            thread::sleep(PAUSE);
        }
    }
}

impl Drop for Victim {
    fn drop(&mut self) {
        // It may have ended.
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

#[cfg(unix)]
fn signal(status: ExitStatus) -> Option<i32> {
    std::os::unix::process::ExitStatusExt::signal(&status)
}

/// Other systems end a program that has crashed with an exit code of this range.
#[cfg(not(unix))]
fn signal(status: ExitStatus) -> Option<i32> {
    status.code().filter(|code| *code < -1)
}
