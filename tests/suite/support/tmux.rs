//! Terminals in which programs run.

use super::program::Scratch;
use std::process::Command;
use std::thread;
use std::time::{Duration, Instant};

/// A terminal in which the compiler runs, and after it nothing. It is closed with the test.
pub struct Tmux {
    socket: std::path::PathBuf,
}

impl Tmux {
    /// A terminal of this many columns and rows.
    pub fn start(scratch: &Scratch, (columns, rows): (u16, u16), arguments: &str) -> Tmux {
        let tmux = Tmux {
            socket: scratch.path(&format!("tmux-{}", super::unique())),
        };
        let program = env!("CARGO_BIN_EXE_duologue");
        let folder = scratch.path(".");
        let line = format!(
            "cd {} && sh -c 'echo $$ > id; exec {program} {arguments}'; echo ended with $?; exec cat",
            folder.display()
        );
        let begin = format!("-f /dev/null new-session -d -x {columns} -y {rows}");
        tmux.run(&begin.split(' ').chain([line.as_str()]).collect::<Vec<_>>());
        tmux
    }

    pub fn run(&self, arguments: &[&str]) -> String {
        let mut command = Command::new("tmux");
        let command = command.arg("-S").arg(&self.socket).args(arguments);
        let output = command
            .output()
            .expect("tmux is missing: install it, as in `apt-get install tmux`");
        let errors = String::from_utf8_lossy(&output.stderr);
        assert!(output.status.success(), "tmux {arguments:?}: {errors}");
        String::from_utf8_lossy(&output.stdout).into_owned()
    }

    /// Asks the program to end.
    #[cfg(unix)]
    pub fn terminate(scratch: &Scratch) {
        use rustix::process::{Pid, Signal, kill_process};
        let id = scratch.read("id").trim().parse().expect("a number");
        let id = Pid::from_raw(id).expect("a process");
        kill_process(id, Signal::TERM).expect("it runs");
    }

    pub fn keys(&self, keys: &[&str]) {
        self.run(&[&["send-keys"], keys].concat());
    }

    pub fn screen(&self) -> String {
        self.run(&["capture-pane", "-p"])
    }

    /// Waits until the screen is as wanted, and returns it.
    pub fn waits(&self, what: &str, is_wanted: impl Fn(&str) -> bool) -> String {
        let end = Instant::now() + super::FOREVER;
        loop {
            let screen = self.screen();
            if is_wanted(&screen) {
                return screen;
            }
            assert!(Instant::now() < end, "`{what}` is not shown:\n{screen}");
            thread::sleep(Duration::from_millis(20));
        }
    }

    /// Waits until the screen has this text.
    pub fn shows(&self, text: &str) -> String {
        self.waits(text, |screen| screen.contains(text))
    }
}

impl Drop for Tmux {
    fn drop(&mut self) {
        let mut command = Command::new("tmux");
        let _ = command
            .arg("-S")
            .arg(&self.socket)
            .arg("kill-server")
            .output();
    }
}
