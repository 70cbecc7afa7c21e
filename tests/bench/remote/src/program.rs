//! The command line of a benchmark.

use crate::harness::{self, Effort, Family};
use crate::report;
use std::process::ExitCode;

/// Measures the families that the command line names, or all of them: `41` makes 41 rounds, a word takes only the families with it in
/// their names, and `--quick` does every operation three times and measures nothing.
pub fn run(families: impl FnOnce() -> Vec<Family>) -> ExitCode {
    let mut effort = Effort::Rounds(101);
    let mut words = Vec::new();
    for argument in std::env::args().skip(1) {
        match argument.as_str() {
            // Cargo passes this to every benchmark.
            "--bench" => {}
            "--quick" => effort = Effort::Quick,
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
    println!("{}\n", report::machine());
    for family in families() {
        let mut wanted = words.iter();
        if !words.is_empty() && !wanted.any(|word| family.name.contains(word.as_str())) {
            continue;
        }
        let measured = harness::measure(&family, effort);
        if let Effort::Rounds(rounds) = effort {
            println!("{}", report::table(&family, &measured, rounds));
        }
    }
    if let Effort::Quick = effort {
        println!("every case works");
    }
    ExitCode::SUCCESS
}
