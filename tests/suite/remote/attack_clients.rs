//! `duologue attack --listen`: clients in each language hold, and programs that crash or hang are found.

use super::attack::tls_files;
use super::programs::{Language, Player};
use super::{Sockets, unix};
use crate::support::program::{Scratch, run};
use crate::support::repository;
use crate::support::running::{Outcome, Running};
use std::path::Path;
use std::process::Command;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;

/// All kinds but silence, which takes as long as a client waits.
const KINDS: &str = "hello,frame,control,payload,turn,cut,legal";

/// The case of `tests/run` whose clients are attacked.
const CASE: &str = "word_count";

/// The attack on the clients that connect to an address.
fn attack(scratch: &Scratch, address: &str) -> Command {
    let options = format!("--timeout 3 --only {KINDS}");
    let mut command = scratch.duologue(&format!("attack --format json {options}"));
    let root = repository();
    let protocol = format!("{}/protocols/{CASE}.proto#{CASE}", root.display());
    command.args([&protocol, "--listen", address, "--script"]);
    command.arg(root.join("tests/run").join(CASE).join("expected.txt"));
    command
}

/// Checks the result of an attack that has found nothing.
fn held(output: &std::process::Output) {
    let errors = String::from_utf8_lossy(&output.stderr);
    let printed = serde_json::from_slice::<serde_json::Value>(&output.stdout);
    let printed = printed.unwrap_or_else(|error| panic!("{error}: {errors}"));
    assert_eq!(output.status.code(), Some(0), "{printed:#}{errors}");
    assert_eq!(printed["not_reached"], serde_json::json!([]), "{printed:#}");
    for kind in KINDS.split(',') {
        let cases = printed["cases"][kind].as_u64();
        assert!(cases > Some(0), "{kind}: {printed:#}");
    }
}

/// Attacks clients over a Unix socket. For each attack a program is started.
fn clients_hold(language: Language) {
    let sockets = Sockets::new();
    let address = unix(&sockets.path("s"));
    let scratch = Scratch::new(&format!("attack-client-{}", language.name()));
    let log = scratch.path("log");
    let mut command = attack(&scratch, &address);
    let shell = "\"$0\" client \"$2\" \"$1\" >>\"$3\"";
    command.args(["--", "sh", "-c", shell]);
    command.arg(language.command().get_program());
    command.args([&address, CASE]).arg(&log);
    held(&run(command, b""));
    // The program itself learns the reason.
    let reported = std::fs::read_to_string(log).expect("the program has written to it");
    let mut lines = reported.lines();
    assert!(
        lines.any(|line| line == "why broken"),
        "{language:?}: {reported}"
    );
}

#[test]
fn a_client_in_rust_holds() {
    clients_hold(Language::Rust);
}

#[test]
fn a_client_in_c_holds() {
    clients_hold(Language::C);
}

/// A Java machine takes too long to start for each attack, so one has the sessions one after the other.
#[test]
#[ignore = "slow: attacks"]
fn a_client_in_scala_holds() {
    let (scratch, sockets) = (Scratch::new("attack-clients-scala"), Sockets::new());
    let address = unix(&sockets.path("s"));
    let command = attack(&scratch, &address);
    let mut player = Player::start(Language::Scala, None);
    let is_over = AtomicBool::new(false);
    thread::scope(|scope| {
        let attacker = scope.spawn(|| {
            let output = run(command, b"");
            is_over.store(true, Ordering::Release);
            output
        });
        let mut was_broken = false;
        while !is_over.load(Ordering::Acquire) {
            player.begin("client", CASE, &address, "");
            let Outcome { lines, .. } = player.outcome();
            was_broken |= lines.last().is_some_and(|line| line == "why broken");
        }
        held(&attacker.join().expect("it does not panic"));
        assert!(was_broken, "the program itself learns the reason");
    });
}

/// Attacks what a shell command does, which has the client in Rust as its parameter 0 and the address as 1. Returns what is printed, and the
/// exit code.
fn against(name: &str, options: &str, shell: &str) -> (String, Option<i32>) {
    let scratch = Scratch::new(&format!("attack-command-{name}"));
    let sockets = Sockets::new();
    let address = unix(&sockets.path("s"));
    let protocol = format!("{}/protocols/bank.proto", repository().display());
    let mut command = scratch.duologue(&format!("attack {protocol} {options} --listen"));
    let client = Language::Rust.command().get_program().to_owned();
    command.args([&address[..], "--", "sh", "-c", shell]);
    command.arg(client).arg(&address);
    let output = run(command, b"");
    let printed = [output.stdout, output.stderr].concat();
    (
        String::from_utf8_lossy(&printed).into_owned(),
        output.status.code(),
    )
}

#[test]
fn a_command_is_run_for_each_attack() {
    for (name, shell, options, code, words) in [
        (
            "right",
            "exec \"$0\" client bank \"$1\"",
            "--only payload,control",
            0,
            " 0 findings",
        ),
        (
            "crash",
            "\"$0\" client bank \"$1\" || kill -SEGV $$",
            "--only payload,control --findings 1",
            1,
            "signal 11 has ended the program",
        ),
        (
            "hang",
            "\"$0\" client bank \"$1\" || exec sleep 100",
            "--only control --findings 1 --timeout 2",
            1,
            "the program has not ended after 2 s",
        ),
        (
            "early",
            "exit 7",
            "--only control",
            3,
            "the program has ended before it connected: exit status: 7",
        ),
    ] {
        let (printed, exit) = against(name, options, shell);
        assert_eq!(exit, Some(code), "{name}: {printed}");
        assert!(printed.contains(words), "{name}: {printed}");
    }
}

#[test]
#[ignore = "slow: attacks"]
fn a_client_holds_over_tls() {
    let (scratch, certificates) = (Scratch::new("attack-clients-tls"), Sockets::new());
    let folder = certificates.path("").display().to_string();
    crate::rust::write_certificates(Path::new(&folder));
    // The system chooses the port, and the command finds it in its environment.
    let client = Language::Rust.command().get_program().to_owned();
    let protocol = format!("{}/protocols/bank.proto", repository().display());
    let files = tls_files(&folder).map(|file| file.replace("client.", "server."));
    let mut attack = scratch.duologue("attack --only control,frame --listen tls://127.0.0.1:0");
    attack.arg(protocol).args(files);
    attack.env("DUOLOGUE_TLS", &folder);
    attack.args([
        "--",
        "sh",
        "-c",
        "exec \"$0\" client bank \"$DUOLOGUE_ATTACK\"",
    ]);
    attack.arg(client);
    let printed = run(attack, b"");
    let text = String::from_utf8_lossy(&printed.stdout);
    let errors = String::from_utf8_lossy(&printed.stderr);
    assert_eq!(printed.status.code(), Some(0), "{text}{errors}");
    assert!(text.contains(" 0 findings"), "{text}");
}

#[test]
fn without_a_client_nothing_is_attacked() {
    let (scratch, sockets) = (Scratch::new("attack-no-client"), Sockets::new());
    let address = unix(&sockets.path("s"));
    let protocol = format!("{}/protocols/bank.proto", repository().display());
    let mut command = scratch.duologue("attack --timeout 1 --listen");
    command.args([&address, &protocol]);
    let mut attack = Running::start(&mut command);
    assert_eq!(
        attack.error_line().trim_end(),
        format!("listening {address}")
    );
    let Outcome { code, errors, .. } = attack.end();
    assert_eq!(code, Some(3), "{errors}");
    assert!(
        errors.contains("no client has connected for 1 s"),
        "{errors}"
    );
    assert!(!sockets.path("s").exists());
}
