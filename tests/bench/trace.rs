//! How many events `duologue trace check` takes per second on one core: `cargo bench --bench trace` writes a log of sessions of the
//! bank, checks it several times, and prints the median for each kind of log. `-- --quick` checks a small log once.

use std::fmt::Write as _;
use std::fs;
use std::path::Path;
use std::process::{Command, Stdio};
use std::time::Instant;

/// A session, as its sides see it.
const SESSION: [(&str, &str); 8] = [
    ("client", "login"),
    ("server", "invalid"),
    ("client", "login"),
    ("server", "ok"),
    ("client", "deposit"),
    ("client", "withdrawal"),
    ("server", "money"),
    ("client", "quit"),
];

/// How many sessions are open at once.
const OPEN: usize = 100;

const ROUNDS: usize = 11;

/// A log of this many events: seen by one observer, or logged by a side.
fn log(events: usize, side: Option<&str>) -> String {
    let mut text = String::new();
    for first in (0..events / SESSION.len()).step_by(OPEN) {
        for (from, message) in SESSION {
            for session in first..first + OPEN {
                let who = match side {
                    None => format!("\"from\":\"{from}\""),
                    Some(side) if side == from => format!("\"at\":\"{side}\",\"kind\":\"send\""),
                    Some(side) => format!("\"at\":\"{side}\",\"kind\":\"receive\""),
                };
                let _ = writeln!(
                    text,
                    "{{\"session\":\"{session}\",\"protocol\":\"bank\",{who},\"message\":\"{message}\",\"values\":[\"holk\",\"1234\"]}}"
                );
            }
        }
    }
    text
}

fn main() {
    let is_quick = std::env::args().any(|argument| argument == "--quick");
    let (events, rounds) = if is_quick {
        (8_000, 1)
    } else {
        (2_000_000, ROUNDS)
    };
    let folder = Path::new(env!("CARGO_TARGET_TMPDIR")).join("bench-trace");
    fs::create_dir_all(&folder).expect("a folder can be created");
    let write = |name: &str, text: String| {
        fs::write(folder.join(name), text).expect("a log can be written");
    };
    write("seen.jsonl", log(events, None));
    write("client.jsonl", log(events / 2, Some("client")));
    write("server.jsonl", log(events / 2, Some("server")));
    let protocol = Path::new(env!("CARGO_MANIFEST_DIR")).join("../protocols/bank.proto");
    for (name, logs) in [
        ("seen by one observer", &["seen.jsonl"][..]),
        ("logged by both sides", &["client.jsonl", "server.jsonl"]),
    ] {
        let mut rates: Vec<f64> = (0..rounds)
            .map(|_| {
                let mut command = Command::new(env!("CARGO_BIN_EXE_duologue"));
                command.current_dir(&folder).args(["trace", "check", "-q"]);
                command.args(logs).arg("--protocol").arg(&protocol);
                let start = Instant::now();
                let status = command.stdout(Stdio::null()).status().expect("it runs");
                let elapsed = start.elapsed().as_secs_f64();
                assert!(status.success(), "{name}: {status}");
                let count = u32::try_from(events).expect("few millions");
                f64::from(count) / elapsed
            })
            .collect();
        rates.sort_by(f64::total_cmp);
        println!(
            "{name}: {:.2} million events per second",
            rates[rates.len() / 2] / 1e6
        );
    }
    if is_quick {
        println!("every case works");
    }
}
