//! What sessions of C between processes and over a Unix socket cost compared with what the machine and the system can do:
//! `cargo bench --bench processes`.
//! `-- 41` runs 41 rounds, `-- 41 stream` only that family, and `-- --quick` sends three values through each case.

mod program;

use std::process::ExitCode;

fn main() -> ExitCode {
    program::run(&program::Benchmark {
        folder: "processes",
        protocols: "../c/protocols/bench.proto",
        options: &["--c-shm", "--remote"],
        shared: &["c/harness.c", "c/ours.c", "c/rings.c", "c/system.c"],
    })
}
