//! What the C pipes cost compared with what the machine and the system can do: `cargo bench --bench c`. `-- 41` runs 41 rounds,
//! `-- 41 fan-in` only that family, `-- --quick` sends three values through each case, and `-- --write docs/benchmarks-c.md` writes
//! the tables into that page.

mod program;

use std::process::ExitCode;

fn main() -> ExitCode {
    program::run(&program::Benchmark {
        folder: "c",
        protocols: "protocols/bench.proto",
        options: &[],
        shared: &[],
        flags: &[],
        libraries: &[],
        environment: Vec::new(),
    })
}
