//! Inputs that cannot be read, and outputs that cannot be written.

use super::{BANK, LIGHT, WRONG};
use crate::support::program::Scratch;
use insta::assert_snapshot;

#[test]
fn a_closed_pipe_ends_it_quietly() {
    let mut text = String::new();
    for number in 0..50 {
        text += &format!("proto! p{number} {{ s:send {{ m -> nowhere }} }}\n");
    }
    let scratch = Scratch::with("check-pipe", &[("many.proto", &text)]);
    let mut ugly = String::new();
    for number in 0..50 {
        ugly += &format!("proto!   p{number} {{ s:send {{ m -> ! }} }}\n");
    }
    scratch.write("ugly.proto", &ugly);
    scratch.write("tidy.proto", "proto! p {\n    s:send { m -> ! }\n}\n");
    let rows = [
        ("check many.proto", 1),
        ("check many.proto --format short", 1),
        ("check many.proto --format json", 1),
        ("check many.proto --format sarif", 1),
        ("check many.proto --format junit", 1),
        ("check many.proto --format github", 1),
        ("fmt ugly.proto --check", 1),
        ("fmt ugly.proto --diff", 1),
        ("breaking tidy.proto --against ugly.proto --format short", 1),
        ("gen many.proto --rust out", 1),
        ("check missing.proto many.proto", 3),
        ("dual ugly.proto", 0),
        ("explain", 0),
        ("fingerprint ugly.proto", 0),
        ("completions bash", 0),
        ("--help", 0),
    ];
    for (arguments, code) in rows {
        let output = unread(&scratch, arguments);
        assert_eq!(output.status.code(), Some(code), "{arguments}");
        let said = String::from_utf8_lossy(&output.stderr).into_owned();
        assert!(!said.contains("cannot print"), "{arguments}: {said}");
    }
}

/// Runs a command whose output is not read.
fn unread(scratch: &Scratch, arguments: &str) -> std::process::Output {
    let (reader, writer) = std::io::pipe().expect("a pipe");
    drop(reader);
    let mut command = scratch.duologue(arguments);
    command.stdout(writer).stderr(std::process::Stdio::piped());
    let child = command.spawn().expect("it starts");
    drop(command);
    child.wait_with_output().expect("it ends")
}

/// A directory is searched for files. Anything else with such a name is skipped, and is an error if it is named directly.
#[cfg(unix)]
#[test]
fn pipes_sockets_and_links_that_lead_nowhere() {
    let scratch = Scratch::with("check-special", &[("light.proto", LIGHT)]);
    let pipe = scratch.path("pipe.proto");
    let made = std::process::Command::new("mkfifo").arg(&pipe).status();
    assert!(
        made.expect("mkfifo runs; it is part of coreutils")
            .success()
    );
    let _socket = std::os::unix::net::UnixListener::bind(scratch.path("socket.proto"))
        .expect("a socket can be made");
    let link = |to: &str, name: &str| {
        std::os::unix::fs::symlink(to, scratch.path(name)).expect("a link can be made");
    };
    link("nowhere", "dangling.proto");
    link("/dev/zero", "zero.proto");
    link("light.proto", "other.proto");
    for arguments in [
        "check",
        "fmt --check",
        "fingerprint",
        "gen . --rust out",
        "breaking --against .",
    ] {
        scratch.said(arguments, 0, &[]);
    }
    let names = "pipe.proto socket.proto zero.proto dangling.proto";
    assert_snapshot!(
        "special",
        scratch.transcript(&format!("check {names} other.proto"))
    );
}

/// An anonymous pipe, by which a shell passes the output of a command.
#[cfg(target_os = "linux")]
#[test]
fn a_pipe_of_the_shell_is_read() {
    let scratch = Scratch::with("check-substitution", &[("light.proto", WRONG)]);
    let program = env!("CARGO_BIN_EXE_duologue");
    let line = format!("cat light.proto | {program} check /proc/self/fd/0 --format short");
    let output = std::process::Command::new("sh")
        .args(["-c", &line])
        .current_dir(scratch.path("."))
        .output()
        .expect("a shell");
    let said = String::from_utf8_lossy(&output.stdout).into_owned();
    assert!(said.contains("error[unknown-state]"), "{output:?}");
}

/// A finding about an earlier line shows that line, which is read again. A pipe is not: nobody writes to it any more.
#[cfg(unix)]
#[test]
fn a_log_from_a_pipe_is_not_read_again() {
    let log = "{\"session\":1,\"at\":\"server\",\"from\":\"client\",\"message\":\"off\"}\n\
        {\"session\":1,\"at\":\"client\",\"from\":\"client\",\"message\":\"on\"}\n";
    let protocol = "proto! lamp { s:send { on -> !, off -> ! } }\n";
    let scratch = Scratch::with("trace-pipe", &[("lamp.proto", protocol), ("log", log)]);
    let program = env!("CARGO_BIN_EXE_duologue");
    let trace = format!("timeout 60 {program} trace pipe --protocol lamp.proto --format short");
    let output = std::process::Command::new("sh")
        .args(["-c", &format!("mkfifo pipe; cat log > pipe & {trace}")])
        .current_dir(scratch.path("."))
        .output()
        .expect("a shell");
    let said = String::from_utf8_lossy(&output.stdout).into_owned();
    assert!(said.contains("error[trace-channel]"), "{output:?}");
}

#[cfg(target_os = "linux")]
#[test]
fn a_full_disk_is_an_error() {
    let scratch = Scratch::with("full-disk", &[("bank.proto", BANK)]);
    for arguments in [
        "dual bank.proto",
        "--help",
        "--version",
        "help check",
        "man",
        "completions fish",
    ] {
        let full = std::fs::File::options().write(true).open("/dev/full");
        let mut command = scratch.duologue(arguments);
        command
            .stdout(full.expect("Linux has it"))
            .stderr(std::process::Stdio::piped());
        let output = command
            .spawn()
            .and_then(|child| child.wait_with_output())
            .expect("it ends");
        assert_eq!(output.status.code(), Some(3), "{arguments}: {output:?}");
        assert!(String::from_utf8_lossy(&output.stderr).contains("cannot print"));
    }
}
