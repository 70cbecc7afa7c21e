//! What the Rust pipes cost, compared with other crates and with what the machine can do.
//!
//! `cargo bench -p duologue-bench` measures everything; `-- --help` says how to measure less. `tests/bench/README.md` describes how it
//! is measured.
#![deny(unsafe_code)]

mod bars;
mod cases;
mod harness;
mod payload;
mod peers;
mod report;

/// The generated modules.
#[allow(missing_docs)]
mod protocols {
    include!(concat!(env!("OUT_DIR"), "/mod.rs"));
}

use clap::Parser;
use harness::{Crew, Effort, measure};
use std::io::Write;
use std::process::ExitCode;

/// Measures the Rust pipes and compares them with other crates and with what the machine can do.
#[derive(Parser)]
#[command(name = "pipes")]
struct Options {
    /// Measure the families whose names contain one of these words; `family/case` selects only the cases whose names contain the
    /// second word.
    filters: Vec<String>,

    /// Number of rounds; each round measures every case once.
    #[arg(long, default_value_t = 101)]
    rounds: usize,

    /// Run each case once with a few messages to show that all of them work, and measure nothing.
    #[arg(long)]
    quick: bool,

    /// List the families and their cases, and do nothing else.
    #[arg(long)]
    list: bool,

    /// Fail if a bar is missed.
    #[arg(long)]
    strict: bool,

    /// Run the cases that `cargo bench --bench origins` asks for.
    #[arg(long, hide = true)]
    serve: bool,

    /// Cargo passes this to every benchmark.
    #[arg(long, hide = true)]
    bench: bool,
}

/// Whether a filter selects this case of this family.
fn is_wanted(filters: &[String], family: &str, case: &str) -> bool {
    let takes = |filter: &String| match filter.split_once('/') {
        Some((first, second)) => family.contains(first) && case.contains(second),
        None => family.contains(filter.as_str()),
    };
    filters.is_empty() || filters.iter().any(takes)
}

/// Reads lines with an origin, its size, a number of operations and a case, and answers each with the sum and the nanoseconds of a slice.
fn serve() {
    let mut crew = Crew::default();
    for line in std::io::stdin().lines() {
        let line = line.expect("the other program writes text");
        let words: Vec<&str> = line.splitn(4, ' ').collect();
        let [name, size, operations, case] = words[..] else {
            panic!("not four words: {line}")
        };
        let number = |text: &str| -> u64 { text.parse().expect("a number") };
        let cases = cases::of_origin(name, number(size));
        let found = cases.iter().find(|one| one.name == case);
        let found = found.unwrap_or_else(|| panic!("{name} has no case {case}"));
        let slice = found.run(&mut crew, number(operations));
        println!("{} {}", slice.sum, slice.time.as_nanos());
    }
}

fn main() -> ExitCode {
    let options = Options::parse();
    if options.serve {
        serve();
        return ExitCode::SUCCESS;
    }
    let families = cases::families();
    let families = families.iter().filter(|family| {
        let mut cases = family.cases.iter();
        cases.any(|case| is_wanted(&options.filters, &family.name, &case.name))
    });
    if options.list {
        let mut out = std::io::stdout().lock();
        for family in families {
            for case in &family.cases {
                // The reader may stop early, as `head` does.
                if writeln!(out, "{}/{}", family.name, case.name).is_err() {
                    return ExitCode::SUCCESS;
                }
            }
        }
        return ExitCode::SUCCESS;
    }
    let effort = if options.quick {
        Effort::Quick
    } else {
        Effort::Rounds(options.rounds.max(1))
    };
    let cores = std::thread::available_parallelism().map_or(1, usize::from);
    println!("{}\n", report::machine(cores));
    let mut crew = Crew::default();
    let mut measured = Vec::new();
    for family in families {
        let wanted = |case: &str| is_wanted(&options.filters, &family.name, case);
        let one = measure(&mut crew, family, wanted, effort);
        if options.quick {
            println!("{}: {} cases work", one.family, one.rows.len());
        } else {
            println!("{}", report::table(&one));
        }
        measured.push(one);
    }
    if options.quick {
        if options.filters.is_empty() {
            bars::all_find(&measured);
            println!("every case works, and the cases of every bar exist");
        }
        return ExitCode::SUCCESS;
    }
    let (bars, verdicts) = report::bars(&measured, cores);
    println!("{bars}");
    let is_missed = verdicts
        .iter()
        .any(|verdict| matches!(verdict, bars::Verdict::Missed(_)));
    if options.strict && is_missed {
        return ExitCode::FAILURE;
    }
    ExitCode::SUCCESS
}
