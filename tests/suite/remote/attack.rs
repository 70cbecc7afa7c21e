//! `duologue attack`: servers in each language hold, and servers with a mistake are found.

use super::attack_flawed::{Flaw, PROTOCOL, serve};
use super::programs::Language;
use super::{Sockets, unix};
use crate::support::program::{Scratch, run};
use crate::support::repository;
use crate::support::running::Running;
use std::io::Write;
use std::os::unix::net::{UnixListener, UnixStream};
use std::thread;

/// All kinds but silence, which takes the five seconds that a server waits for a hello.
const KINDS: &str = "hello,frame,control,payload,turn,cut,end,legal";

/// The result, as JSON, and the exit code.
pub fn attack(
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

/// Servers in each language hold over TLS, and those that present no certificate are not attacked.
#[test]
#[ignore = "slow: attacks"]
fn a_server_holds_over_tls() {
    let (scratch, certificates) = (Scratch::new("attack-tls"), Sockets::new());
    let folder = certificates.path("").display().to_string();
    crate::rust::write_certificates(folder.as_ref());
    let mut command = Language::Rust.command();
    command.env("DUOLOGUE_TLS", &folder);
    let mut server = Running::start(command.args(["serve", "word_count", "tls://127.0.0.1:0"]));
    let line = server.line();
    let address = line.strip_prefix("listening ").expect("it listens");
    let protocol = format!(
        "{}/protocols/word_count.proto#word_count",
        repository().display()
    );
    let files = tls_files(&folder);
    let mut arguments = vec![&protocol[..], "--only", KINDS];
    arguments.extend(files.iter().map(String::as_str));
    let (printed, code) = attack(&scratch, address, &arguments);
    assert_eq!(code, Some(0), "{printed:#}");
    assert!(
        printed["cases"]["payload"].as_u64() > Some(0),
        "{printed:#}"
    );
    // The certificate of another authority.
    let arguments = arguments.join(" ").replace("client.", "stranger-client.");
    let command = format!("attack {arguments} --connect {address}");
    let errors = String::from_utf8_lossy(&run(scratch.duologue(&command), b"").stderr).into_owned();
    assert!(
        errors.contains("there is no session with tls://"),
        "{errors}"
    );
}

/// The options for the certificates that the program `certificates` has written.
pub fn tls_files(folder: &str) -> [String; 6] {
    [
        "--authorities".to_owned(),
        format!("{folder}ca.pem"),
        "--certificate".to_owned(),
        format!("{folder}client.pem"),
        "--key".to_owned(),
        format!("{folder}client.key"),
    ]
}

fn holds(language: Language) {
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
#[ignore = "slow: attacks"]
fn a_server_in_scala_holds() {
    holds(Language::Scala);
}

/// The values of a program.
const SCRIPT: &str = "server <- put(true, \"key\")\nserver <- quit\n";

/// Attacks the server with this flaw. Returns what was found, as text, and the exit code.
fn against(flaw: Flaw) -> (String, Option<i32>) {
    let name = format!("attack-{flaw:?}").to_lowercase();
    let (sockets, scratch) = (
        Sockets::new(),
        Scratch::with(&name, &[("p.proto", PROTOCOL), ("script", SCRIPT)]),
    );
    let path = sockets.path("s");
    let output = run(scratch.duologue("fingerprint p.proto"), b"");
    let printed = String::from_utf8_lossy(&output.stdout);
    let digits = printed.split_whitespace().nth(1).expect("it is printed");
    let number = u128::from_str_radix(digits, 16).expect("it is a number");
    let listener = UnixListener::bind(&path).expect("the folder is ours");
    let token = (flaw == Flaw::Admit || flaw == Flaw::None).then_some("secret");
    let server = thread::spawn(move || serve(&listener, number.to_be_bytes(), flaw, token));
    let token = token.map_or(String::new(), |token| format!("--token {token}"));
    let script = if flaw == Flaw::Deep {
        "--script script"
    } else {
        ""
    };
    let arguments = format!("attack p.proto --timeout 5 --findings 2 {token} {script} --connect");
    let mut command = scratch.duologue(&arguments);
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

/// What is said about each flaw.
const FLAWS: [(Flaw, &str); 17] = [
    (
        Flaw::Bool,
        "`put`: 2 for a `bool` or an option in `flag`\n  sent      01050203616263 (7 bytes)",
    ),
    (Flaw::Text, "`put`: the byte 255 in `text`"),
    (
        Flaw::Bound,
        "the size 11, beyond the bounds of the protocol for `put`",
    ),
    (Flaw::Rest, "`put`: a byte after the payload's last value"),
    (Flaw::Control, "in the state `open`: the control frame 0"),
    (Flaw::Count, "a tag that is longer than necessary"),
    (
        Flaw::Reason,
        "observed  it closes the connection and gives no reason",
    ),
    (Flaw::Left, "observed  it leaves with reason 0 (left)"),
    (
        Flaw::Hang,
        "observed  it does not close the connection in time",
    ),
    // How it fails depends on whether the connection was waiting when the server died.
    (Flaw::Death, "observed  then no other session works: "),
    (Flaw::More, "observed  it sends something after it has left"),
    (
        Flaw::Fingerprint,
        "while connecting: an unknown fingerprint",
    ),
    (
        Flaw::Patience,
        "while connecting: half a hello, and then nothing",
    ),
    (Flaw::Strict, "`put`: nothing in `text`"),
    (Flaw::Admit, "while connecting: another token"),
    (
        Flaw::Deep,
        "`put`: 2 for a `bool` or an option in `flag`\n  sent      010502036b6579 (7 bytes)",
    ),
    (
        Flaw::Mute,
        "observed  it sends nothing in time, and does not leave",
    ),
];

#[test]
#[ignore = "slow: attacks"]
fn each_flaw_of_a_server_is_found() {
    // Some of them take all the time that a server gets, so they run at once.
    let tests = FLAWS.map(|(flaw, words)| thread::spawn(move || check_found(flaw, words)));
    for test in tests {
        test.join().expect("the flaw is found");
    }
}

fn check_found(flaw: Flaw, words: &str) {
    let (printed, code) = against(flaw);
    assert_eq!(code, Some(1), "{flaw:?}: {printed}");
    assert!(printed.contains(words), "{flaw:?}: {printed}");
}
