//! What sessions over sockets and in shared memory cost, compared with what the system, or the memory, takes to move the same bytes.
//!
//! `cargo bench -p duologue-bench-remote` measures everything. `-- 41` makes 41 rounds, `-- 41 stream` takes only the families with
//! this word in their names, `-- --quick` does every operation three times and measures nothing, and
//! `-- --write docs/benchmarks-remote.md` writes the tables into that page, which describes how it is measured.
#![forbid(unsafe_code)]

mod cases;
mod credentials;
mod harness;
mod machine;
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

use harness::Effort;
use std::path::Path;
use std::process::ExitCode;

fn main() -> ExitCode {
    let mut effort = Effort::Rounds(101);
    let (mut page, mut words) = (None, Vec::new());
    let mut arguments = std::env::args().skip(1);
    while let Some(argument) = arguments.next() {
        match argument.as_str() {
            // Cargo passes this to every benchmark.
            "--bench" => {}
            "--quick" => effort = Effort::Quick,
            "--write" => page = arguments.next(),
            word => match word.parse::<usize>() {
                Ok(rounds) => effort = Effort::Rounds(rounds.max(1)),
                Err(_) if word.starts_with('-') => {
                    eprintln!("unknown option `{word}`");
                    return ExitCode::FAILURE;
                }
                Err(_) => words.push(argument),
            },
        }
    }
    sessions::start_helpers();
    let machine = report::machine();
    println!("{machine}\n");
    let mut tables = Vec::new();
    for family in cases::families() {
        let mut wanted = words.iter();
        if !words.is_empty() && !wanted.any(|word| family.name.contains(word.as_str())) {
            continue;
        }
        let measured = harness::measure(&family, effort);
        if let Effort::Rounds(rounds) = effort {
            let table = report::table(&family, &measured, rounds);
            println!("{table}");
            tables.push(table);
        }
    }
    sessions::end();
    if let Effort::Quick = effort {
        println!("every case works");
        return ExitCode::SUCCESS;
    }
    if let Some(page) = page {
        let path = Path::new(env!("CARGO_MANIFEST_DIR"))
            .join("../../..")
            .join(&page);
        if let Err(error) = report::write(&path, &machine, &tables) {
            eprintln!("{page}: {error}");
            return ExitCode::FAILURE;
        }
    }
    ExitCode::SUCCESS
}
