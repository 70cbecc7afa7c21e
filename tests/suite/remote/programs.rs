//! The programs of each language, and how two of them hold a conversation.

use crate::support::is_named;
use crate::support::running::{self, Outcome};
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

impl Language {
    /// A server that is asked about its services, and a client that asks.
    pub fn ask(self) -> Command {
        match self {
            Language::Rust => crate::rust::ask_program(),
            Language::C => crate::c::ask_program(),
            Language::Scala => crate::scala::ask_program(),
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

/// Runs a case over TLS, on a free port, with the certificates in this folder.
pub fn converse_over_tls(
    client: Language,
    server: Language,
    case: &str,
    certificates: &Path,
) -> [Outcome; 2] {
    let [client, server] = [client, server].map(|language| {
        let mut command = language.command();
        command.env("DUOLOGUE_TLS", certificates);
        command
    });
    running::converse(client, server, case, "tls://127.0.0.1:0", None)
}
