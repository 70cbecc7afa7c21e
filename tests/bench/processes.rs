//! What sessions between processes cost beside what the machine and the system can do: `cargo bench --bench processes`. `-- 41` is
//! for so many rounds, `-- 41 stream` only for that family, `-- --quick` moves three values through each case, and
//! `-- --write docs/benchmarks-processes.md` puts the tables into that page.

mod program;

use std::process::ExitCode;

fn main() -> ExitCode {
    program::run(&program::Benchmark {
        folder: "processes",
        protocols: "bench.proto",
        options: &["--c-shm"],
        shared: &["c/harness.c", "c/rings.c", "c/system.c"],
    })
}
