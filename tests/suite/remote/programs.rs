//! The programs of each language, and how two of them hold conversations.

use super::expected;
use crate::support::running::{Outcome, Running};
use std::path::Path;
use std::process::Command;

/// A language that programs of the conversations are written in.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Language {
    Rust,
    C,
    Scala,
}

impl Language {
    /// Its name in the names of files.
    pub fn name(self) -> &'static str {
        match self {
            Language::Rust => "rust",
            Language::C => "c",
            Language::Scala => "scala",
        }
    }

    /// Whether sessions of this language can use memory that two processes share.
    pub fn has_shared_memory(self) -> bool {
        match self {
            Language::Rust | Language::C => true,
            Language::Scala => false,
        }
    }

    /// The program, without its arguments.
    pub fn command(self) -> Command {
        match self {
            Language::Rust => crate::rust::remote_program(),
            Language::C => crate::c::remote_program(),
            Language::Scala => crate::scala::remote_program(),
        }
    }

    /// The server of many sessions at once, and in Rust also the client.
    pub fn load(self) -> Command {
        match self {
            Language::Rust => crate::rust::load_program(),
            Language::C => crate::c::load_program(),
            Language::Scala => crate::scala::load_program(),
        }
    }
}

/// A program that has one session after the other, so that it is started only once.
pub struct Player {
    language: Language,
    running: Running,
}

impl Player {
    /// Starts it, with the certificates in this folder if there is one.
    pub fn start(language: Language, certificates: Option<&Path>) -> Player {
        let mut command = language.command();
        if let Some(folder) = certificates {
            command.env("DUOLOGUE_TLS", folder);
        }
        Player {
            language,
            running: Running::start_talking(&mut command),
        }
    }

    /// Begins to be one side of a case. `option` is empty, or as the programs describe it: `hold=N`.
    pub fn begin(&mut self, role: &str, case: &str, address: &str, option: &str) {
        let line = format!("{role} {case} {address} {option}");
        self.running.say(line.trim_end());
    }

    /// Waits until it is held. Returns the lines that it has written before.
    pub fn held(&mut self) -> Vec<String> {
        let mut lines = Vec::new();
        loop {
            match &self.running.line()[..] {
                "held" => return lines,
                "" => panic!(
                    "{:?} has ended: {}",
                    self.language,
                    self.running.errors_so_far()
                ),
                line => lines.push(line.to_owned()),
            }
        }
    }

    /// Lets it go on after it was held.
    pub fn release(&mut self) {
        self.running.say("go on");
    }

    /// The address at which it listens.
    pub fn address(&mut self) -> String {
        let line = self.running.line();
        match line.strip_prefix("listening ") {
            Some(address) => address.to_owned(),
            None => panic!(
                "{:?}: {line:?} {}",
                self.language,
                self.running.errors_so_far()
            ),
        }
    }

    /// How the session has ended.
    pub fn outcome(&mut self) -> Outcome {
        let mut lines = Vec::new();
        let code = loop {
            let line = self.running.line();
            if line.is_empty() {
                let errors = self.running.errors_so_far();
                panic!("{:?} has ended after {lines:?}: {errors}", self.language);
            }
            match line.strip_prefix("ended ") {
                Some(code) => break code.parse().ok(),
                None => lines.push(line),
            }
        };
        let errors = std::iter::repeat_with(|| self.running.error_line());
        let errors: Vec<String> = errors
            .take_while(|line| !line.starts_with("ended "))
            .collect();
        Outcome {
            lines,
            code,
            errors: errors.join("\n"),
        }
    }
}

/// Two programs that are client and server of one conversation after the other.
pub struct Pair {
    client: Player,
    server: Player,
}

impl Pair {
    pub fn start(client: Language, server: Language, certificates: &Path) -> Pair {
        Pair {
            client: Player::start(client, Some(certificates)),
            server: Player::start(server, Some(certificates)),
        }
    }

    /// Runs a case, and compares what each side received.
    pub fn check(&mut self, case: &str, address: &str) {
        self.server.begin("server", case, address, "");
        let heard = self.server.address();
        self.client.begin("client", case, &heard, "");
        for (role, player) in [("client", &mut self.client), ("server", &mut self.server)] {
            let Outcome {
                lines,
                code,
                errors,
            } = player.outcome();
            let run = format!("{:?} as the {role}, {case} at {heard}", player.language);
            assert_eq!(code, Some(0), "{run}\n{lines:#?}\n{errors}");
            assert_eq!(lines, expected(case, role), "{run}\n{errors}");
        }
    }
}
