//! How long checking takes compared with protoc: `cargo bench --bench check` runs `duologue check` on 1,000 files of 20 states and
//! `protoc --descriptor_set_out` on 1,000 files with as many messages, in interleaved rounds, and prints the median of the ratios.
//! Needs `protoc` (Debian: `apt-get install protobuf-compiler`).

use std::fs;
use std::path::Path;
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

const FILES: usize = 1_000;
const STATES: usize = 20;
const ROUNDS: usize = 11;

fn ours(file: usize) -> String {
    let states = (0..STATES).map(|state| {
        let direction = ["send", "recv"][state % 2];
        let [next, near, far] = [state + 1, state + 2, state * 7 + 3].map(|to| to % STATES);
        format!(
            "    s{state}:{direction} {{\n        go(u64, note: str) -> s{next},\n        skip(i32?) -> s{near},\n        \
             jump([bytes]) -> s{far},\n        quit -> !\n    }}\n"
        )
    });
    format!("proto! p{file} {{\n{}}}\n", states.collect::<String>())
}

fn theirs(file: usize) -> String {
    let fields = [
        "uint64 value = 1;\n  string note = 2;",
        "optional int32 value = 1;",
        "repeated bytes value = 1;",
        "",
    ];
    let messages = (0..STATES).flat_map(|state| {
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
        Err(error) => panic!("{what}: {error}; protoc is in Debian's package protobuf-compiler"),
    }
}

fn main() {
    let folder = Path::new(env!("CARGO_TARGET_TMPDIR")).join("check-bench");
    let [own, other] = ["ours", "theirs"].map(|name| folder.join(name));
    for folder in [&own, &other] {
        fs::create_dir_all(folder).expect("a writable target directory");
    }
    let mut names = Vec::new();
    for file in 0..FILES {
        let name = format!("p{file}.proto");
        fs::write(own.join(&name), ours(file)).expect("a writable target directory");
        fs::write(other.join(&name), theirs(file)).expect("a writable target directory");
        names.push(name);
    }
    let mut rounds = Vec::new();
    for _ in 0..ROUNDS {
        let duologue = timed(
            Command::new(env!("CARGO_BIN_EXE_duologue"))
                .arg("check")
                .arg(&own),
        );
        let protoc = timed(
            Command::new("protoc")
                .current_dir(&other)
                .arg("--descriptor_set_out=out.bin")
                .args(&names),
        );
        rounds.push((
            duologue.as_secs_f64() / protoc.as_secs_f64(),
            duologue,
            protoc,
        ));
    }
    rounds.sort_by(|one, other| one.0.total_cmp(&other.0));
    let (ratio, duologue, protoc) = rounds[ROUNDS / 2];
    println!(
        "{FILES} files, {STATES} states and {} messages each; median of {ROUNDS} rounds",
        STATES * 4
    );
    println!(
        "duologue check {duologue:.2?}, protoc --descriptor_set_out {protoc:.2?}: {ratio:.2} of its time"
    );
}
