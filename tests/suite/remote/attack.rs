//! `duologue attack`: servers in each language hold, and servers with a mistake are found.

use super::attack_flawed::{ALL, Flaw, PROTOCOL, serve};
use super::programs::Language;
use super::{Sockets, unix};
use crate::support::program::{Scratch, run};
use crate::support::running::Running;
use crate::support::{is_tested, repository};
use std::io::Write;
use std::os::unix::net::{UnixListener, UnixStream};
use std::thread;

/// All kinds but silence, which takes the five seconds that a server waits for a hello.
const KINDS: &str = "hello,frame,control,payload,turn,cut,end,legal";

/// The result, as JSON, and the exit code.
fn attack(
    scratch: &Scratch,
    address: &str,
    arguments: &[&str],
) -> (serde_json::Value, Option<i32>) {
    let mut command = scratch.duologue("attack --format json --connect");
    command.arg(address).args(arguments);
    let output = run(command, b"");
    let errors = String::from_utf8_lossy(&output.stderr);
    let printed = serde_json::from_slice(&output.stdout);
    let printed = printed.unwrap_or_else(|error| panic!("{error}: {errors}"));
    (printed, output.status.code())
}

fn holds(language: Language) {
    if !is_tested(language.name()) {
        return;
    }
    let scratch = Scratch::new(&format!("attack-{}", language.name()));
    for (case, protocol) in [
        ("bank", "bank.proto"),
        ("word_count", "word_count.proto#word_count"),
        ("file_server", "file_server.proto"),
        ("telemetry", "telemetry.proto"),
    ] {
        let sockets = Sockets::new();
        let address = unix(&sockets.path("s"));
        let mut server = Running::start(language.command().args(["serve", case, &address]));
        assert_eq!(server.line(), format!("listening {address}"));
        let script = repository()
            .join("tests/run")
            .join(case)
            .join("expected.txt");
        let protocol = format!("{}/protocols/{protocol}", repository().display());
        let script = script.display().to_string();
        let arguments = [&protocol, "--script", &script, "--only", KINDS];
        let (printed, code) = attack(&scratch, &address, &arguments);
        assert_eq!(code, Some(0), "{language:?}, {case}: {printed:#}");
        assert_eq!(
            printed["not_reached"],
            serde_json::json!([]),
            "{language:?}, {case}"
        );
        // The program itself learns the reason.
        let mut lines = std::iter::repeat_with(|| server.line());
        assert!(
            lines.by_ref().take(1_000).any(|line| line == "why broken"),
            "{language:?}, {case}"
        );
    }
}

#[test]
fn a_server_in_rust_holds() {
    holds(Language::Rust);
}

#[test]
fn a_server_in_c_holds() {
    holds(Language::C);
}

#[test]
fn a_server_in_scala_holds() {
    holds(Language::Scala);
}

/// Attacks the server with this flaw. Returns what was found, as text, and the exit code.
fn against(flaw: Flaw) -> (String, Option<i32>) {
    let name = format!("attack-{flaw:?}").to_lowercase();
    let (sockets, scratch) = (
        Sockets::new(),
        Scratch::with(&name, &[("p.proto", PROTOCOL)]),
    );
    let path = sockets.path("s");
    let output = run(scratch.duologue("fingerprint p.proto"), b"");
    let printed = String::from_utf8_lossy(&output.stdout);
    let digits = printed.split_whitespace().nth(1).expect("it is printed");
    let number = u128::from_str_radix(digits, 16).expect("it is a number");
    let listener = UnixListener::bind(&path).expect("the folder is ours");
    let server = thread::spawn(move || serve(&listener, number.to_be_bytes(), flaw));
    let mut command = scratch.duologue("attack p.proto --timeout 5 --findings 2 --connect");
    command.arg(unix(&path));
    let output = run(command, b"");
    // The server may have ended.
    if let Ok(mut stream) = UnixStream::connect(&path) {
        let _ = stream.write_all(b"stop");
    }
    server.join().expect("it does not panic");
    let printed = [output.stdout, output.stderr].concat();
    (
        String::from_utf8_lossy(&printed).into_owned(),
        output.status.code(),
    )
}

#[test]
fn a_server_without_a_flaw_holds() {
    let (printed, code) = against(Flaw::None);
    assert_eq!(code, Some(0), "{printed}");
    assert!(printed.ends_with(" 0 findings\n"), "{printed}");
    for kind in [
        "hello", "frame", "control", "payload", "turn", "cut", "end", "silence", "legal",
    ] {
        assert!(
            printed.contains(&format!(" {kind}")),
            "no case of {kind}: {printed}"
        );
    }
}

#[test]
fn each_flaw_of_a_server_is_found() {
    // Some of them take all the time that a server gets, so they run at once.
    let tests = ALL.map(|flaw| thread::spawn(move || check_found(flaw)));
    for test in tests {
        test.join().expect("the flaw is found");
    }
}

fn check_found(flaw: Flaw) {
    let words = match flaw {
        Flaw::None => unreachable!("it is not among them"),
        Flaw::Bool => {
            "`put`: 2 for a `bool` or an option in `flag`\n  sent      01050203616263 (7 bytes)"
        }
        Flaw::Text => "`put`: the byte 255 in `text`",
        Flaw::Bound => "the size 11, beyond the bounds of the protocol for `put`",
        Flaw::Rest => "`put`: a byte after the payload's last value",
        Flaw::Control => "in the state `open`: the control frame 0",
        Flaw::Count => "a tag that is longer than necessary",
        Flaw::Reason => "observed  it closes the connection and gives no reason",
        Flaw::Left => "observed  it leaves with reason 0 (left)",
        Flaw::Hang => "observed  it does not close the connection in time",
        Flaw::Death => "observed  then no other session works: cannot connect to unix:",
        Flaw::More => "observed  it sends something after it has left",
        Flaw::Fingerprint => "while connecting: an unknown fingerprint",
        Flaw::Patience => "while connecting: half a hello, and then nothing",
        Flaw::Strict => "`put`: nothing in `text`",
    };
    let (printed, code) = against(flaw);
    assert_eq!(code, Some(1), "{flaw:?}: {printed}");
    assert!(printed.contains(words), "{flaw:?}: {printed}");
}

#[test]
fn what_cannot_be_attacked_is_reported() {
    let (sockets, scratch) = (
        Sockets::new(),
        Scratch::with("attack-usage", &[("p.proto", PROTOCOL)]),
    );
    let missing = unix(&sockets.path("s"));
    for (arguments, code, words) in [
        ("--connect tls://localhost:1", 2, "`attack` has no TLS"),
        ("--connect tcp://localhost", 2, "the port is missing"),
        (
            "--connect tcp://localhost:1 --only everything",
            2,
            "invalid value",
        ),
        (
            &format!("--timeout 1 --connect {missing}"),
            3,
            "there is no session with unix:",
        ),
    ] {
        let output = run(
            scratch.duologue(&format!("attack p.proto {arguments}")),
            b"",
        );
        let errors = String::from_utf8_lossy(&output.stderr);
        assert_eq!(output.status.code(), Some(code), "{arguments}: {errors}");
        assert!(errors.contains(words), "{arguments}: {errors}");
    }
}
