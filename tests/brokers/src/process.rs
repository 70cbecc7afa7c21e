//! Processes of tests, and the bank in a process of its own.

use std::process::{Child, Command};

/// A process that is killed when this is dropped.
pub struct Process(pub Child);

impl Process {
    /// Starts it.
    ///
    /// # Panics
    ///
    /// If the program cannot be run.
    #[must_use]
    pub fn start(mut command: Command) -> Process {
        Process(command.spawn().expect("the program was built"))
    }
}

impl Drop for Process {
    fn drop(&mut self) {
        let _ended = self.0.kill();
        let _status = self.0.wait();
    }
}

/// A bank at this address: the program that `DUOLOGUE_BANK` names, or else `teller`, the one in Rust.
#[must_use]
pub fn bank_at(address: &str, teller: &str) -> Command {
    let mut command = match std::env::var_os("DUOLOGUE_BANK") {
        Some(program) => {
            let mut command = Command::new(program);
            command.arg("serve");
            command
        }
        None => Command::new(teller),
    };
    command.arg(address);
    command
}
