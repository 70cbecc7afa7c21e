//! What the C pipes cost beside what the machine and the system can do: `cargo bench --bench c`. `-- 41` is for so many rounds,
//! `-- 41 fan-in` only for that family, `-- --quick` moves three values through each case, and `-- --write docs/benchmarks-c.md`
//! puts the tables into that page.

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
