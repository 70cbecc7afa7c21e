//! The measurements, as Markdown.

use crate::harness::{Bar, Clock, Costs, Family};
use crate::machine::Cost;
use std::fmt::Write;
use std::process::Command;
use std::{fs, thread};

/// The machine and the compiler in one line.
pub fn machine() -> String {
    let text = fs::read_to_string("/proc/cpuinfo").unwrap_or_default();
    let model = text.lines().find(|line| line.starts_with("model name"));
    let model = model.and_then(|line| line.split_once(':'));
    let model = model.map_or("unknown processor", |(_, model)| model.trim());
    let processors = thread::available_parallelism().map_or(1, usize::from);
    let kernel = fs::read_to_string("/proc/sys/kernel/osrelease").unwrap_or_default();
    let rustc = Command::new("rustc").arg("--version").output();
    let rustc = rustc.map(|output| String::from_utf8_lossy(&output.stdout).trim().to_owned());
    format!(
        "{model}, {processors} virtual CPUs, Linux {}, {}",
        kernel.trim(),
        rustc.unwrap_or_else(|_| "unknown rustc".to_owned())
    )
}

/// The value below which this part of the values is.
fn quantile(costs: &[Cost], of: fn(&Cost) -> f64, part: f64) -> f64 {
    let mut values: Vec<f64> = costs.iter().map(of).collect();
    values.sort_by(f64::total_cmp);
    values[((values.len() - 1) as f64 * part).round() as usize]
}

/// A number with about three digits.
fn digits(value: f64) -> String {
    match value {
        tiny if tiny < 0.1 => format!("{tiny:.4}"),
        small if small < 10.0 => format!("{small:.2}"),
        middle if middle < 100.0 => format!("{middle:.1}"),
        large => format!("{large:.0}"),
    }
}

/// The table of a family, and its bar.
pub fn table(family: &Family, measured: &[Costs], rounds: usize) -> String {
    let (limit, unit) = (family.cases[0].name, family.unit);
    let mut text = format!(
        "### {}\n\nNanoseconds per {unit}, {rounds} rounds; ratios of tenth percentiles to *{limit}*.\n\n\
         | case | tenth percentile | median | ratio | CPU time | ratio |\n\
         | --- | ---: | ---: | ---: | ---: | ---: |\n",
        family.name
    );
    let figures = |costs: &Costs| {
        let (wall, cpu) = (|cost: &Cost| cost.wall, |cost: &Cost| cost.cpu);
        let tenth = quantile(costs, wall, 0.1);
        (tenth, quantile(costs, wall, 0.5), quantile(costs, cpu, 0.1))
    };
    let (tenth_of_limit, _, cpu_of_limit) = figures(&measured[0]);
    for (case, costs) in family.cases.iter().zip(measured) {
        let (tenth, median, cpu) = figures(costs);
        let _written = writeln!(
            text,
            "| {} | {} | {} | {} | {} | {} |",
            case.name,
            digits(tenth),
            digits(median),
            digits(tenth / tenth_of_limit),
            digits(cpu),
            digits(cpu / cpu_of_limit),
        );
    }
    let ninetieth = quantile(&measured[0], |cost| cost.wall, 0.9);
    let compared = match family.clock {
        Clock::Wall => "",
        Clock::Cpu => ", CPU time",
    };
    let _written = write!(
        text,
        "\nThe ninetieth percentile of *{limit}* is {:.1} times its tenth.\n\n\
         | bar{compared} | at most | measured | |\n| --- | ---: | ---: | --- |\n",
        ninetieth / tenth_of_limit,
    );
    let compared = |index: usize| {
        let (wall, _, cpu) = figures(&measured[index]);
        match family.clock {
            Clock::Wall => wall,
            Clock::Cpu => cpu,
        }
    };
    for Bar(other, bar) in &family.bars {
        let index = family.cases.iter().position(|case| case.name == *other);
        let ratio = compared(1) / compared(index.expect("the bar names a case"));
        let verdict = if ratio <= *bar { "met" } else { "**missed**" };
        let _written = writeln!(
            text,
            "| {} compared with {other} | {bar:.2} | {} | {verdict} |",
            family.cases[1].name,
            digits(ratio),
        );
    }
    text
}
