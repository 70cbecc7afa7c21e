//! The measurements, as Markdown.

use crate::bars::{BARS, Verdict};
use crate::harness::{Judged, Measured};
use std::fmt::Write;
use std::fs;
use std::process::Command;

/// The machine and the compiler in one line.
pub fn machine(cores: usize) -> String {
    let value = |path: &str, key: &str| {
        let text = fs::read_to_string(path).unwrap_or_default();
        let line = text.lines().find(|line| line.starts_with(key));
        let value = line.and_then(|line| line.split_once(':'));
        value.map(|(_, value)| value.trim().to_owned())
    };
    let model = value("/proc/cpuinfo", "model name").unwrap_or_else(|| "unknown CPU".to_owned());
    let kernel = fs::read_to_string("/proc/sys/kernel/osrelease").unwrap_or_default();
    let rustc = Command::new("rustc").arg("--version").output();
    let rustc = rustc.map(|output| String::from_utf8_lossy(&output.stdout).trim().to_owned());
    let flags = option_env!("RUSTFLAGS").filter(|flags| !flags.is_empty());
    let flags = flags.map_or_else(String::new, |flags| format!(", `{flags}`"));
    format!(
        "{model}, {cores} cores, {} {}, {}{flags}",
        std::env::consts::OS,
        kernel.trim(),
        rustc.unwrap_or_else(|_| "unknown rustc".to_owned())
    )
}

/// A time in nanoseconds with about three digits.
fn time(nanoseconds: f64) -> String {
    match nanoseconds {
        short if short < 10.0 => format!("{short:.2}"),
        short if short < 100.0 => format!("{short:.1}"),
        long => {
            let digits = format!("{long:.0}");
            let mut text = String::new();
            for (place, digit) in digits.chars().enumerate() {
                if place > 0 && (digits.len() - place).is_multiple_of(3) {
                    text.push(',');
                }
                text.push(digit);
            }
            text
        }
    }
}

/// A ratio with about three digits.
fn ratio(value: f64) -> String {
    match value {
        small if small < 10.0 => format!("{small:.2}"),
        middle if middle < 100.0 => format!("{middle:.1}"),
        large => format!("{large:.0}"),
    }
}

/// One family as a table: each case in nanoseconds, and relative to the limit.
pub fn table(family: &Measured) -> String {
    let limit = &family.rows[0];
    let judged = match family.judged {
        Judged::Tenth => "by tenth percentiles",
        Judged::Median => "by the median of the rounds",
    };
    let mut text = format!(
        "### {}\n\nNanoseconds per {}; ratios to *{}*, {judged}.\n\n",
        family.family, family.unit, limit.name
    );
    if family.judged == Judged::Tenth {
        let distance = time(family.distance);
        let aside = match family.set_aside {
            0 => String::new(),
            1 => "; one round in which the two CPUs shared a core is left out".to_owned(),
            rounds => format!("; {rounds} rounds in which the two CPUs shared a core are left out"),
        };
        write!(
            text,
            "A line's round trip between the cores took {distance} ns{aside}.\n\n"
        )
        .expect("writing to a string cannot fail");
    }
    text += "| case | median | tenth percentile | ratio | quartiles of the ratio |\n";
    text += "| --- | ---: | ---: | ---: | ---: |\n";
    for row in &family.rows {
        let [low, _, high] = family.quartiles(row, limit);
        let (median, tenth) = (time(row.median()), time(row.tenth()));
        let of_limit = ratio(family.ratio(row, limit));
        let name = &row.name;
        let quartiles = format!("{} to {}", ratio(low), ratio(high));
        writeln!(
            text,
            "| {name} | {median} | {tenth} | {of_limit} | {quartiles} |"
        )
        .expect("writing to a string cannot fail");
    }
    text
}

/// The bars whose cases were measured in the run, with their verdicts.
pub fn bars(measured: &[Measured], cores: usize) -> (String, Vec<Verdict>) {
    let mut text =
        "| family | case | compared with | at most | measured | ratio of the limit | |\n"
            .to_owned();
    text += "| --- | --- | --- | ---: | ---: | ---: | --- |\n";
    let mut verdicts = Vec::new();
    for bar in BARS {
        let Some(verdict) = bar.verdict(measured, cores) else {
            continue;
        };
        let found = verdict.ratio().map_or_else(String::new, ratio);
        let least = bar.least(measured).map_or_else(String::new, ratio);
        let (family, case, against, most) = (bar.family, bar.case, bar.against, bar.most);
        writeln!(
            text,
            "| {family} | {case} | {against} | {most:.2} | {found} | {least} | {verdict} |"
        )
        .expect("writing to a string cannot fail");
        verdicts.push(verdict);
    }
    (text, verdicts)
}
