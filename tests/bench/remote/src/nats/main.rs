//! What sessions over a NATS server cost, compared with what the client library takes to move the same bytes.
//!
//! `cargo bench -p duologue-bench-remote --features nats --bench nats` measures everything; the arguments are those of `remote`.
//! `docs/benchmarks-nats.md` describes how it is measured.
#![forbid(unsafe_code)]

// Some parts only serve the benchmark of sockets.
#[allow(dead_code)]
#[path = "../harness.rs"]
mod harness;
#[path = "../machine.rs"]
mod machine;
#[path = "../program.rs"]
mod program;
#[path = "../report.rs"]
mod report;

mod ends;
mod server;
mod stream;
mod withdrawal;

/// The generated modules.
#[allow(missing_docs, dead_code)]
mod protocols {
    include!(concat!(env!("OUT_DIR"), "/mod.rs"));
    pub mod own {
        include!(concat!(env!("OUT_DIR"), "/own/mod.rs"));
    }
}

use std::process::ExitCode;

fn main() -> ExitCode {
    let mut _server = None;
    program::run(|| {
        // Everything is on one processor: waking another one takes longer than all that is compared.
        machine::pin(0);
        _server = Some(server::Server::start());
        ends::clients();
        vec![withdrawal::threads(), withdrawal::tasks(), stream::family()]
    })
}
