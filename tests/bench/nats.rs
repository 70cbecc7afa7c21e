//! What sessions of C over a NATS server cost compared with what the client library takes to move the same bytes:
//! `cargo bench --bench nats`. It needs `nats-server` and `libnats-dev`.
//! `-- 41` runs 41 rounds, `-- 41 stream` only that family, and `-- --quick` sends three values through each case.

mod program;
#[path = "remote/src/nats/server.rs"]
mod server;

use std::process::ExitCode;

fn main() -> ExitCode {
    let _server = server::Server::start();
    program::run(&program::Benchmark {
        folder: "nats",
        protocols: "../processes/bench.proto",
        options: &["--c-shm", "--remote"],
        shared: &[
            "c/harness.c",
            "c/rings.c",
            "processes/ours.c",
            "../../runtime/c/nats/nats.c",
        ],
        // The switch between threads and a round trip through the server take long, so a slice is longer too.
        flags: &["-DBENCH_CPU", "-DBENCH_SLICE=10000000"],
        libraries: &["-lnats"],
        environment: vec![("BENCH_NATS", server::address())],
    })
}
