//! The systems that pipes were compared with in 2010 and 2012, in one run: `cargo bench --bench origins`. A word after `--` selects families,
//! and `-- --quick` runs each case once with a few messages.
//!
//! Cases are in programs that wait on their standard input for a line with an origin, its size, a number of operations and a case. They answer
//! with the sum of what arrived, which is checked, and the nanoseconds that it took. A program is built and started when a family needs it, and
//! runs until the end, so the virtual machine of Java is warm. Cases take turns, and every other round runs in reverse order.

// It also runs programs, which the other benchmarks need.
#[allow(dead_code)]
mod program;

use std::fs;
use std::io::{BufRead, BufReader, Write};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, ExitCode, Stdio};

/// The language of a case.
#[derive(Clone, Copy, Debug, PartialEq)]
enum Language {
    Rust,
    C,
    Scala,
    Erlang,
    Go,
}
use Language::{C, Erlang, Go, Rust, Scala};

struct Family {
    /// The word that programs know it by.
    origin: &'static str,
    /// How many senders, actors or tasks there are.
    size: u64,
    /// How many numbers each sends, how many rounds there are, or laps.
    operations: u64,
    rounds: usize,
    /// What was measured then.
    then: &'static str,
    /// The first is the limit.
    cases: &'static [(Language, &'static str)],
}

const MSGSEND: &[(Language, &str)] = &[
    (Rust, "crossbeam, shared sender"),
    (Rust, "duologue PortSet"),
    (Rust, "duologue SharedSender"),
    (Rust, "kanal, shared sender"),
    (Rust, "duologue PortSet, tasks"),
    (Rust, "duologue SharedSender, tasks"),
    (Rust, "tokio mpsc, tasks"),
    (Rust, "kanal, tasks"),
    (C, "duologue, duo_ports"),
    (C, "duologue, shared sender"),
    (Scala, "duologue PortSet"),
    (Scala, "duologue SharedSender"),
    (Scala, "Pekko actors"),
    (Erlang, "processes"),
    (Go, "goroutines"),
];

const BANG: &[(Language, &str)] = &[
    (Rust, "tokio mpsc"),
    (Rust, "duologue, shared senders"),
    (Rust, "kanal"),
    (Rust, "ractor"),
    (Scala, "duologue, shared senders"),
    (Scala, "LinkedTransferQueue"),
    (Scala, "Pekko actors"),
    (Erlang, "processes"),
];

const RING: &[(Language, &str)] = &[
    (Rust, "tokio mpsc"),
    (Rust, "duologue"),
    (Rust, "kanal"),
    (Rust, "ractor"),
    (Scala, "duologue"),
    (Scala, "LinkedTransferQueue"),
    (Scala, "Pekko actors"),
    (Erlang, "processes"),
];

const FAMILIES: [Family; 5] = [
    Family {
        origin: "msgsend",
        size: 64,
        operations: 50_000,
        rounds: 7,
        then: "2012: pipes with a port set 1,134 ns (881,578 messages a second), with a shared sender 5,766 ns, Scala's actors 2,640 ns",
        cases: MSGSEND,
    },
    Family {
        size: 1_500,
        rounds: 5,
        then: "2010, eight-way: 0.6 s",
        ..BIG_BANG
    },
    BIG_BANG,
    THREAD_RING,
    Family {
        operations: 99_404,
        rounds: 1,
        then: "2010, eight-way: 15.0 s",
        ..THREAD_RING
    },
];

const BIG_BANG: Family = Family {
    origin: "bang",
    size: 4_000,
    operations: 1,
    rounds: 3,
    then: "2010, eight-way: 4.5 s",
    cases: BANG,
};

const THREAD_RING: Family = Family {
    origin: "ring",
    size: 503,
    operations: 19_881,
    rounds: 3,
    then: "2010, eight-way: 3.0 s",
    cases: RING,
};

impl Family {
    fn messages(&self) -> u64 {
        self.operations
            * match self.origin {
                "bang" => 2 * self.size * (self.size - 1),
                _ => self.size,
            }
    }

    /// What has to arrive: the numbers of all senders; the number of an actor with each answer that it gets; a 1 with each message.
    fn sum(&self) -> u64 {
        let below = |count: u64| count * (count - 1) / 2;
        match self.origin {
            "msgsend" => self.size * below(self.operations),
            "bang" => below(self.size) * (self.size - 1) * self.operations,
            _ => self.messages(),
        }
    }

    fn name(&self) -> String {
        let (size, messages) = (self.size, self.messages());
        match self.origin {
            "msgsend" => format!("msgsend of {size} senders, {messages} messages"),
            "bang" => format!("big bang of {size} actors, {messages} messages"),
            _ => format!("thread-ring of {size}, {messages} messages"),
        }
    }

    /// A smaller family with the same cases, to see that they work or to warm them up.
    fn smaller(&self, part: u64) -> Family {
        let (size, operations) = match self.origin {
            "bang" => (self.size.div_ceil(part).max(20), 1),
            _ => (self.size, self.operations.div_ceil(part).max(3)),
        };
        Family {
            size,
            operations,
            ..*self
        }
    }
}

/// A program that runs cases.
struct Program {
    running: Child,
    answers: BufReader<std::process::ChildStdout>,
}

impl Program {
    /// Seconds.
    fn run(&mut self, family: &Family, case: &str) -> f64 {
        let (origin, size, operations) = (family.origin, family.size, family.operations);
        let to = self.running.stdin.as_mut().expect("it is a pipe");
        let asked = writeln!(to, "{origin} {size} {operations} {case}");
        asked.expect("the program reads until the end");
        let mut answer = String::new();
        self.answers.read_line(&mut answer).expect("it is text");
        let numbers: Vec<u64> = answer.split_whitespace().flat_map(str::parse).collect();
        let [sum, nanoseconds] = numbers[..] else {
            panic!("{origin}, {case}: the answer is `{answer}`")
        };
        assert_eq!(sum, family.sum(), "{origin}, {case}: another sum arrived");
        nanoseconds as f64 / 1e9
    }

    /// It ends when there are no more lines.
    fn end(mut self) {
        drop(self.running.stdin.take());
        let status = self.running.wait().expect("it was started");
        assert!(status.success(), "a program ended with {status}");
    }
}

/// Builds what runs the cases of a language. An error says what is missing.
fn command(language: Language, is_quick: bool) -> Result<Command, String> {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).parent();
    let root = root.expect("a package in the repository");
    let folder = PathBuf::from(env!("CARGO_TARGET_TMPDIR"));
    let own = root.join("tests/bench/origins");
    let mut command = match language {
        Rust => {
            let mut cargo = Command::new(env!("CARGO"));
            cargo.current_dir(root).args(["bench", "--quiet", "-p"]);
            cargo.args(["duologue-bench", "--features", "peers"]);
            if is_quick {
                cargo.args(["--profile", "dev"]);
            }
            cargo.args(["--", "--serve"]);
            cargo
        }
        C => {
            let pipes = program::Benchmark {
                folder: "c",
                protocols: "protocols/bench.proto",
                options: &[],
                shared: &[],
            };
            let mut built = Command::new(program::built(&pipes, is_quick));
            built.arg("--serve");
            built
        }
        Scala => {
            let run = root.join("tests/bench/jvm/run");
            let mut java = Command::new(&run);
            let mut build = Command::new(&run);
            for command in [&mut java, &mut build] {
                command.env("DUOLOGUE", env!("CARGO_BIN_EXE_duologue"));
                command.env("DUOLOGUE_BENCH_OUT", folder.join("bench-jvm"));
            }
            done(build.arg("--build"), "JDK 21 or newer and Maven")?;
            java.arg("--serve");
            java
        }
        Erlang => {
            let mut build = Command::new("erlc");
            build.arg("-o").arg(&folder).arg(own.join("origins.erl"));
            done(&mut build, "Erlang (Debian: erlang-nox)")?;
            let mut erl = Command::new("erl");
            erl.arg("-noshell").arg("-pa").arg(&folder);
            erl.args(["-s", "origins", "main"]);
            erl
        }
        Go => {
            let built = folder.join("msgsend");
            let mut build = Command::new("go");
            build.arg("build").arg("-o").arg(&built);
            build.arg(own.join("msgsend.go"));
            done(&mut build, "Go (Debian: golang-go)")?;
            Command::new(built)
        }
    };
    command.stdin(Stdio::piped()).stdout(Stdio::piped());
    Ok(command)
}

fn done(build: &mut Command, needed: &str) -> Result<(), String> {
    let built = build.stdout(Stdio::null()).status();
    match built.is_ok_and(|status| status.success()) {
        true => Ok(()),
        false => Err(format!("not measured: needs {needed}")),
    }
}

/// The programs that have been started, or what is missing.
struct Programs {
    is_quick: bool,
    started: Vec<(Language, Result<Program, String>)>,
}

impl Programs {
    fn of(&mut self, language: Language) -> &mut Result<Program, String> {
        let found = self.started.iter().position(|(of, _)| *of == language);
        let index = found.unwrap_or_else(|| {
            let program = command(language, self.is_quick).map(|mut command| {
                let mut running = command.spawn().expect("it was just built");
                let answers = BufReader::new(running.stdout.take().expect("it is a pipe"));
                Program { running, answers }
            });
            self.started.push((language, program));
            self.started.len() - 1
        });
        &mut self.started[index].1
    }
}

fn median(times: &[f64]) -> f64 {
    let mut sorted = times.to_vec();
    sorted.sort_by(f64::total_cmp);
    sorted[sorted.len() / 2]
}

/// Measures a family and prints its table.
fn measure(programs: &mut Programs, family: &Family) {
    let mut times = vec![Vec::new(); family.cases.len()];
    for (language, case) in family.cases {
        if let Ok(program) = programs.of(*language) {
            program.run(&family.smaller(10), case);
        }
    }
    for round in 0..family.rounds {
        let mut order: Vec<usize> = (0..family.cases.len()).collect();
        if round % 2 == 1 {
            order.reverse();
        }
        for index in order {
            let (language, case) = family.cases[index];
            if let Ok(program) = programs.of(language) {
                times[index].push(program.run(family, case));
            }
        }
    }
    let (name, rounds, limit) = (family.name(), family.rounds, family.cases[0].1);
    println!(
        "### {name}\n\nMedians of {rounds} rounds; ratios to *{limit}*. {}.\n",
        family.then
    );
    println!("| language | case | s | ns per message | ratio | range, s |");
    println!("| --- | --- | ---: | ---: | ---: | ---: |");
    let of_limit = median(&times[0]);
    for ((language, case), times) in family.cases.iter().zip(&times) {
        if let Err(missing) = programs.of(*language) {
            println!("| {language:?} | {case} | {missing} | | | |");
            continue;
        }
        let time = median(times);
        let each = time * 1e9 / family.messages() as f64;
        let ratio = time / of_limit;
        let low = times.iter().copied().fold(f64::INFINITY, f64::min);
        let high = times.iter().copied().fold(0.0, f64::max);
        println!(
            "| {language:?} | {case} | {time:.3} | {each:.1} | {ratio:.2} | {low:.3} to {high:.3} |"
        );
    }
    println!();
}

fn main() -> ExitCode {
    let words: Vec<String> = std::env::args().skip(1).collect();
    let is_quick = words.iter().any(|word| word == "--quick");
    let wanted: Vec<&String> = words
        .iter()
        .filter(|word| !word.starts_with("--"))
        .collect();
    let is_wanted = |family: &&Family| {
        let name = family.name();
        wanted.is_empty() || wanted.iter().any(|word| name.contains(word.as_str()))
    };
    let mut programs = Programs {
        is_quick,
        started: Vec::new(),
    };
    let processor = fs::read_to_string("/proc/cpuinfo").unwrap_or_default();
    let model = processor
        .lines()
        .find(|line| line.starts_with("model name"));
    println!("{}\n", model.unwrap_or_default());
    for family in FAMILIES.iter().filter(is_wanted) {
        if !is_quick {
            measure(&mut programs, family);
            continue;
        }
        for (language, case) in family.cases {
            let result = match programs.of(*language) {
                Ok(program) => {
                    program.run(&family.smaller(u64::MAX), case);
                    "works"
                }
                Err(missing) => missing,
            };
            println!("{}, {language:?}, {case}: {result}", family.name());
        }
    }
    let started = programs.started.into_iter();
    let missing = started
        .filter_map(|(_, program)| program.map(Program::end).err())
        .count();
    if is_quick && missing == 0 {
        println!("every case works");
    }
    ExitCode::SUCCESS
}
