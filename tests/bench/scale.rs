//! How the compiler scales: `cargo bench --bench scale` checks and generates protocols of up to 100,000 states and 400,000
//! messages, and 10,000 small files in one call.
//!
//! Each measurement runs in a process of its own, so that it accounts for its own memory; sizes are measured in interleaved rounds
//! and the median is shown. The bounds: ten times the size takes at most twelve times the time, and the peak memory of the process
//! (the system's `VmHWM`, where there is `/proc`) stays below 4 KiB per message.

use duologue::compile::{Compilation, Input, Request, compile};
use duologue::files::Disk;
use duologue::target::{Options, Target, generate};
use std::process::Command;
use std::time::Instant;

/// A protocol in which each state has four messages: one to the next state, and three to others, near and far.
fn protocol(name: &str, states: usize) -> String {
    let mut text = format!("/// A protocol of {states} states.\nproto! {name} {{\n");
    let mut seed = 0x9e37_79b9_7f4a_7c15_u64;
    for state in 0..states {
        let mut any = || {
            seed ^= seed << 13;
            seed ^= seed >> 7;
            seed ^= seed << 17;
            usize::try_from(seed % states as u64).expect("fewer states than fit")
        };
        let (near, far, other) = ((state + 2) % states, any(), any());
        let (next, direction) = ((state + 1) % states, ["send", "recv"][state % 2]);
        text += &format!(
            "    s{state}:{direction} {{\n        go(u64, note: str) -> s{next},\n        skip(i32?) -> s{near},\n        \
             jump([bytes]) -> s{far},\n        {} -> {}\n    }}\n",
            "quit",
            if state % 7 == 0 {
                "!".to_owned()
            } else {
                format!("s{other}")
            },
        );
    }
    text + "}\n"
}

/// One measurement, as the child process prints it.
#[derive(Clone, Copy)]
struct Measured {
    check: f64,
    generate: f64,
    peak: f64,
    text: f64,
}

/// Checks and generates for all targets at once, as `duologue gen` does, and prints what it took.
fn measure(inputs: Vec<Input>) {
    let mut request = Request::default();
    request.inputs = inputs;
    let start = Instant::now();
    let compilation: Compilation = compile(&request, &Disk).expect("nothing is read");
    let check = start.elapsed().as_secs_f64();
    let checked = compilation.checked.as_ref();
    let checked = checked.unwrap_or_else(|| panic!("{:?}", compilation.diagnostics.first()));
    let start = Instant::now();
    let outputs: Vec<_> = Target::ALL
        .map(|target| generate(checked, target, &Options::default()))
        .into();
    let generate = start.elapsed().as_secs_f64();
    let files = outputs.iter().flat_map(|output| &output.files);
    let text: usize = files.map(|file| file.text.len()).sum();
    println!("{check} {generate} {} {text}", peak());
}

/// The peak memory of this process in bytes; 0 where the system does not report it.
fn peak() -> usize {
    let status = std::fs::read_to_string("/proc/self/status").unwrap_or_default();
    let line = status.lines().find_map(|line| line.strip_prefix("VmHWM:"));
    let kilobytes = line.and_then(|line| line.split_whitespace().next()?.parse::<usize>().ok());
    kilobytes.unwrap_or(0) * 1024
}

fn input(name: &str, text: String) -> Input {
    Input::Text {
        path: format!("{name}.proto").into(),
        bytes: text.into_bytes(),
    }
}

fn inputs(what: &str) -> Vec<Input> {
    match what.parse() {
        Ok(states) => vec![input("large", protocol("large", states))],
        Err(_) => (0..10_000)
            .map(|file| input(&format!("file{file}"), protocol(&format!("p{file}"), 5)))
            .collect(),
    }
}

/// Measures in a process of its own.
fn measured(what: &str) -> Measured {
    let program = std::env::current_exe().expect("the program has a path");
    let output = Command::new(program)
        .env(CHILD, what)
        .output()
        .expect("it starts");
    let printed = String::from_utf8_lossy(&output.stdout).into_owned();
    let numbers: Vec<f64> = printed
        .split_whitespace()
        .filter_map(|word| word.parse().ok())
        .collect();
    let [check, generate, peak, text] = numbers[..] else {
        panic!(
            "{what}: {printed}{}",
            String::from_utf8_lossy(&output.stderr)
        )
    };
    Measured {
        check,
        generate,
        peak,
        text,
    }
}

/// The environment variable that names the child's task.
const CHILD: &str = "DUOLOGUE_BENCH_SCALE";

fn main() {
    if let Ok(what) = std::env::var(CHILD) {
        measure(inputs(&what));
        return;
    }
    const ROUNDS: usize = 3;
    let cases = [
        ("1000", "1,000 states", 4_000.0),
        ("10000", "10,000 states", 40_000.0),
        ("100000", "100,000 states", 400_000.0),
        ("files", "10,000 files of 5 states", 200_000.0),
    ];
    let mut rounds: Vec<Vec<Measured>> = cases.iter().map(|_| Vec::new()).collect();
    for _ in 0..ROUNDS {
        for ((what, ..), rounds) in cases.iter().zip(&mut rounds) {
            rounds.push(measured(what));
        }
    }
    println!(
        "| protocol | messages | check s | generate s | text bytes per message | peak bytes per message |"
    );
    println!("| --- | --- | --- | --- | --- | --- |");
    let mut times = Vec::new();
    for ((_, name, messages), mut rounds) in cases.into_iter().zip(rounds) {
        rounds.sort_by(|one, other| {
            (one.check + one.generate).total_cmp(&(other.check + other.generate))
        });
        let middle = rounds[ROUNDS / 2];
        println!(
            "| {name} | {messages} | {:.3} | {:.3} | {:.0} | {:.0} |",
            middle.check,
            middle.generate,
            middle.text / messages,
            middle.peak / messages,
        );
        times.push(middle.check + middle.generate);
    }
    println!();
    println!(
        "100,000 states against 10,000: {:.1} times the time (at most 12)",
        times[2] / times[1]
    );
}
