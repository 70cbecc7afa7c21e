//! The command line of a benchmark.

use crate::harness::{self, Effort, Family};
use crate::report;
use std::path::Path;
use std::process::ExitCode;

/// Measures the families that the command line names, or all of them: `41` makes 41 rounds, a word takes only the families with it in
/// their names, `--quick` does every operation three times and measures nothing, and `--write PAGE` writes the tables into a page.
pub fn run(families: impl FnOnce() -> Vec<Family>) -> ExitCode {
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
    let machine = report::machine();
    println!("{machine}\n");
    let mut tables = Vec::new();
    for family in families() {
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
