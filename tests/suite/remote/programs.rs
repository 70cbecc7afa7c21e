//! The programs of each language, and how two of them hold a conversation.

use super::expected;
use crate::support::is_named;
use crate::support::running::{self, Outcome, Running};
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
    /// As `DUOLOGUE_TARGETS` names it.
    pub fn name(self) -> &'static str {
        match self {
            Language::Rust => "rust",
            Language::C => "c",
            Language::Scala => "scala",
        }
    }

    /// Whether sessions of this language can use TLS.
    pub fn has_tls(self) -> bool {
        match self {
            Language::Rust | Language::Scala => true,
            Language::C => is_named("tls"),
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
}

impl Language {
    /// The program of one side of the sessions with limits.
    pub fn limits(self, side: &str) -> Command {
        match self {
            Language::Rust => crate::rust::limits_program(),
            Language::C => crate::c::limits_program(side),
            Language::Scala => crate::scala::limits_program(),
        }
    }
}

impl Language {
    /// The server of many sessions at once, and in Rust also the client.
    pub fn load(self) -> Command {
        match self {
            Language::Rust => crate::rust::load_program(),
            Language::C => crate::c::load_program(),
            Language::Scala => crate::scala::load_program(),
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
    running::converse(client.command(), server.command(), case, address, through)
}

/// A program that has one session after the other, so that it is started only once.
pub struct Player {
    language: Language,
    running: Running,
}

impl Player {
    /// Starts it, with the certificates in this folder.
    pub fn start(language: Language, certificates: &Path) -> Player {
        let mut command = language.command();
        command.env("DUOLOGUE_TLS", certificates);
        Player {
            language,
            running: Running::start_talking(&mut command),
        }
    }

    /// Begins to be one side of a case. After `held` lines of its transcript, if there is a number, it is held.
    pub fn begin(&mut self, role: &str, case: &str, address: &str, held: Option<usize>) {
        let held = held.map_or_else(String::new, |lines| format!(" {lines}"));
        self.running.say(&format!("{role} {case} {address}{held}"));
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
        loop {
            let line = self.running.line();
            let errors = |running: &mut Running| running.errors_so_far();
            if line.is_empty() {
                let errors = errors(&mut self.running);
                panic!("{:?} has ended after {lines:?}: {errors}", self.language);
            }
            if let Some(code) = line.strip_prefix("ended ") {
                return Outcome {
                    lines,
                    code: code.parse().ok(),
                    errors: errors(&mut self.running),
                };
            }
            lines.push(line);
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
            client: Player::start(client, certificates),
            server: Player::start(server, certificates),
        }
    }

    /// Runs a case, and compares what each side received.
    pub fn check(&mut self, case: &str, address: &str) {
        self.server.begin("server", case, address, None);
        let heard = self.server.address();
        self.client.begin("client", case, &heard, None);
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
