//! What sessions over sockets and in shared memory cost, compared with what the system, or the memory, takes to move the same bytes.
//!
//! `cargo bench -p duologue-bench-remote` measures everything. `-- 41` makes 41 rounds, `-- 41 stream` takes only the families with
//! this word in their names, and `-- --quick` does every operation three times and measures nothing. `tests/bench/README.md` describes
//! how it is measured.
#![forbid(unsafe_code)]

mod cases;
mod credentials;
mod harness;
mod machine;
mod program;
mod report;
mod sessions;

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
    let exit = program::run(|| {
        sessions::start_helpers();
        cases::families()
    });
    sessions::end();
    exit
}
