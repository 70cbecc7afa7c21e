//! Why a server was not announced or found.

use std::io;

/// Why a server was not announced, or a client has no session.
#[non_exhaustive]
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// The text is not the name of a service.
    #[error("`{0}` is not the name of a service: a name has at most 128 letters, digits, `-`, `_`, and dots between them")]
    Name(String),
    /// The address of the listener cannot be announced.
    #[error("cannot announce `{address}`: {problem}")]
    Advertise {
        /// The address.
        address: String,
        /// Why not.
        problem: &'static str,
    },
    /// The NATS server cannot be reached, or does not accept the connection.
    #[error("cannot reach NATS at `{server}`: check that it runs there and accepts this program")]
    Unreachable {
        /// The NATS server.
        server: String,
        /// Why not.
        source: io::Error,
    },
    /// The NATS server does not permit something.
    #[error("NATS at `{server}` does not permit it: {report} (docs/wire.md, \"Finding servers with NATS\", lists what a user needs)")]
    Denied {
        /// The NATS server.
        server: String,
        /// What it reports, with the subject.
        report: String,
    },
    /// No server has announced this name for a protocol that the client understands.
    #[error("no server has announced this name for a protocol that this side understands: check that one is running, the name, and the output of `duologue fingerprint` on both sides; asked on {subjects:?}")]
    NoServers {
        /// The subjects on which the client has asked: each is made of the name and the fingerprint of a protocol that it understands.
        subjects: Vec<String>,
    },
    /// Servers have announced this name, and none answered in time.
    #[error("all servers of this name are full or draining: try again later")]
    AllBusy,
    /// A server was found, and there is no session with it.
    #[error("a server was found, and no session began with it")]
    Session(#[from] duologue_net::Error),
}
