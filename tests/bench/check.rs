//! How long checking takes compared with protoc: `cargo bench --bench check` runs `duologue check` and `protoc --descriptor_set_out`
//! on files with as many messages, in interleaved rounds, and prints the median of the ratios. `-- --quick` runs both once on small
//! files. Without `protoc` (Debian: `protobuf-compiler`) only our own times are measured.

use std::fs;
use std::path::Path;
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

/// The messages of a state.
const MESSAGES: usize = 4;

/// Files that both compilers read.
struct Input {
    files: usize,
    /// How many states the protocol of a file has.
    states: usize,
}

/// Many small files, and one large file.
const INPUTS: [Input; 2] = [
    Input {
        files: 1_000,
        states: 20,
    },
    Input {
        files: 1,
        states: 10_000,
    },
];

const QUICK: [Input; 2] = [
    Input {
        files: 3,
        states: 20,
    },
    Input {
        files: 1,
        states: 60,
    },
];

const ROUNDS: usize = 11;

fn ours(file: usize, states: usize) -> String {
    let of_state = (0..states).map(|state| {
        let direction = ["send", "recv"][state % 2];
        let [next, near, far] = [state + 1, state + 2, state * 7 + 3].map(|to| to % states);
        format!(
            "    s{state}:{direction} {{\n        go(u64, note: str) -> s{next},\n        skip(i32?) -> s{near},\n        \
             jump([bytes]) -> s{far},\n        quit -> !\n    }}\n"
        )
    });
    format!("proto! p{file} {{\n{}}}\n", of_state.collect::<String>())
}

fn theirs(file: usize, states: usize) -> String {
    let fields: [&str; MESSAGES] = [
        "uint64 value = 1;\n  string note = 2;",
        "optional int32 value = 1;",
        "repeated bytes value = 1;",
        "",
    ];
    let messages = (0..states).flat_map(|state| {
        let of_state = fields.iter().enumerate();
        of_state.map(move |(at, fields)| format!("message S{state}M{at} {{\n  {fields}\n}}\n"))
    });
    let head = format!("syntax = \"proto3\";\npackage p{file};\n");
    head + &messages.collect::<String>()
}

fn timed(command: &mut Command) -> Duration {
    let start = Instant::now();
    let status = command.stdout(Stdio::null()).stderr(Stdio::null()).status();
    let elapsed = start.elapsed();
    let what = command.get_program().to_string_lossy().into_owned();
    match status {
        Ok(status) if status.success() => elapsed,
        Ok(status) => panic!("{what} failed: {status}"),
        Err(error) => panic!("{what}: {error}"),
    }
}

/// The version of protoc, where it is installed.
fn protoc() -> Option<String> {
    let output = Command::new("protoc").arg("--version").output().ok()?;
    let version = String::from_utf8_lossy(&output.stdout).trim().to_owned();
    output.status.success().then_some(version)
}

/// Writes the files of an input and measures them; returns a line of the table.
fn row(input: &Input, rounds: usize, has_protoc: bool) -> String {
    let Input { files, states } = *input;
    let name = format!("check-bench-{files}-{states}");
    let folder = Path::new(env!("CARGO_TARGET_TMPDIR")).join(name);
    let [own, other] = ["ours", "theirs"].map(|name| folder.join(name));
    for folder in [&own, &other] {
        fs::create_dir_all(folder).expect("a writable target directory");
    }
    let mut names = Vec::new();
    for file in 0..files {
        let name = format!("p{file}.proto");
        fs::write(own.join(&name), ours(file, states)).expect("a writable target directory");
        fs::write(other.join(&name), theirs(file, states)).expect("a writable target directory");
        names.push(name);
    }
    let mut check = Command::new(env!("CARGO_BIN_EXE_duologue"));
    check.arg("check").arg(&own);
    let mut compile = Command::new("protoc");
    compile
        .current_dir(&other)
        .arg("--descriptor_set_out=out.bin")
        .args(&names);
    let mut measured = Vec::new();
    for _ in 0..rounds {
        let ours = timed(&mut check).as_secs_f64();
        let theirs = has_protoc.then(|| timed(&mut compile).as_secs_f64());
        measured.push((theirs.map_or(ours, |theirs| ours / theirs), ours, theirs));
    }
    measured.sort_by(|one, other| one.0.total_cmp(&other.0));
    let (ratio, ours, theirs) = measured[rounds / 2];
    let messages = files * states * MESSAGES;
    let compared = theirs.map_or_else(
        || "not installed | ".to_owned(),
        |theirs| format!("{theirs:.3} | {ratio:.2}"),
    );
    format!("| {files} | {messages} | {ours:.3} | {compared} |\n")
}

fn main() {
    let is_quick = std::env::args().any(|word| word == "--quick");
    let version = protoc();
    let (inputs, rounds) = if is_quick {
        (&QUICK, 1)
    } else {
        (&INPUTS, ROUNDS)
    };
    let cpus = fs::read_to_string("/proc/cpuinfo").unwrap_or_default();
    let model = cpus.lines().find(|line| line.starts_with("model name"));
    let model = model.and_then(|line| line.split_once(": "));
    let mut text = format!(
        "{}, {}; median of {rounds} rounds.\n\n",
        model.map_or("unknown CPU", |(_, model)| model),
        version.as_deref().unwrap_or("protoc is not installed")
    );
    text += "| files | messages | duologue check, s | protoc, s | ratio |\n| ---: | ---: | ---: | ---: | ---: |\n";
    for input in inputs {
        text += &row(input, rounds, version.is_some());
    }
    print!("{text}");
    if is_quick {
        println!("every case works");
    }
}
