//! What the C pipes cost compared with what the machine and the system can do: `cargo bench --bench c`. `-- 41` runs 41 rounds,
//! `-- 41 fan-in` only that family, and `-- --quick` sends three values through each case.

mod program;

use std::process::ExitCode;

fn main() -> ExitCode {
    program::run(&program::Benchmark {
        folder: "c",
        protocols: "protocols/bench.proto",
        options: &[],
        shared: &[],
    })
}
