//! Records of sessions in Scala.

use super::{folder, programs, read, sources_in, suites_pass};
use crate::support::program::{Scratch, run};
use crate::support::repository;
use crate::support::running::Running;
use crate::support::scala::{Scala, tool};
use crate::trace::recorded::check;
use std::fs;
use std::process::Command;
use std::thread;
use std::time::{Duration, Instant};

/// The programs of the conversations and of the page, in a process that records its sessions. The program of the page about records stops one.
#[test]
fn the_programs_are_recorded() {
    let scala = Scala::Three;
    let log = folder("recorded").join("sessions.jsonl");
    fs::create_dir_all(folder("recorded")).expect("the target folder can be written");
    let mut java = tool("java");
    java.arg(format!("-Dduologue.record={}", log.display()));
    java.arg("-Dduologue.record.prefix=scala-");
    let on = [programs(scala), scala.runtime()];
    let printed = scala.run_with(java, &on, "cases.Main", &[]);
    printed.unwrap_or_else(|failure| panic!("{failure}"));
    let text = read(&log);
    assert!(text.lines().count() > 300, "{text}");
    crate::trace::recorded::is_accepted(&log, "scala-changed");

    // As much as fits, which is accepted, too.
    let mut java = tool("java");
    java.arg(format!("-Dduologue.record={}", log.display()));
    java.arg("-Dduologue.record.most=2000");
    let program = scala.run_with(java, &on, "example.Customer", &[]);
    program.unwrap_or_else(|failure| panic!("{failure}"));
    let text = read(&log);
    assert!(text.len() <= 2000 && !text.is_empty(), "{text}");
    assert!(text.ends_with('\n'), "{text}");
    let (accepted, report) = check(&log, &[]);
    assert!(accepted, "{report:#}");
}

/// A side that finds that its peer has left has an end in the log, and what a file does not take counts as missing.
#[test]
fn what_is_missing_is_counted() {
    let log = folder("recorded-missing").join("sessions.jsonl");
    fs::create_dir_all(folder("recorded-missing")).expect("the target folder can be written");
    let records = |file: &str| {
        let mut java = tool("java");
        java.arg(format!("-Dduologue.record={file}"));
        let on = [programs(Scala::Three), Scala::Three.runtime()];
        let printed = Scala::Three.run_with(java, &on, "cases.Records", &[]);
        printed.unwrap_or_else(|failure| panic!("{failure}"))
    };
    assert_eq!(records(&log.display().to_string()), "0\n0\n");
    let text = read(&log);
    let left = ",\"at\":\"server\",\"from\":\"client\",\"kind\":\"left\"}";
    assert!(text.contains(left), "{text}");
    assert_eq!(text.lines().count(), 7, "{text}");
    let (accepted, report) = check(&log, &["--require-finished"]);
    assert!(accepted, "{report:#}");
    let missing = log.join("no-folder").display().to_string();
    assert_eq!(records(&missing), "6\n7\n");
    if cfg!(target_os = "linux") {
        assert_eq!(records("/dev/full"), "6\n7\n");
    }
}

/// Monitors, and a server that answers health checks: in a process that records its sessions.
#[test]
fn sessions_over_sockets_are_recorded() {
    let log = folder("recorded-net").join("sessions.jsonl");
    fs::create_dir_all(folder("recorded-net")).expect("the target folder can be written");
    let mut java = tool("java");
    java.arg(format!("-Dduologue.record={}", log.display()));
    suites_pass(Scala::Three, java, &["duologue.net.RecordingSuite"]);
    let (accepted, report) = check(&log, &[]);
    assert!(accepted, "{report:#}");
}

/// Two threads wait for each other in two sessions, and `duologue top` names the circle: at the socket of the property, and at the one
/// that the program serves.
fn top_names_a_deadlock(java: Command, is_virtual: bool) {
    let scala = Scala::Three;
    let kind = if is_virtual { "virtual" } else { "threads" };
    let scratch = Scratch::with(&format!("registry-{kind}"), &[]);
    let (mut java, folder) = (java, scratch.path("."));
    java.current_dir(&folder)
        .args(["-XX:+UseSerialGC", "-Dduologue.registry=own.top", "-cp"])
        .arg(scala.path_with(&[programs(scala), scala.runtime()]))
        .args(["cases.StuckSessions", "served.top", "."]);
    java.args(is_virtual.then_some("+virtual"));
    let running = Running::start(&mut java);
    let end = Instant::now() + Duration::from_secs(60);
    while !scratch.path("stuck").exists() && Instant::now() < end {
        thread::sleep(Duration::from_millis(10));
    }
    let tops = ["own.top", "served.top"].map(|socket| {
        let output = run(scratch.duologue(&format!("top unix:{socket} --once")), b"");
        (
            output.status.code(),
            String::from_utf8_lossy(&output.stdout).into_owned(),
        )
    });
    scratch.write("go", "");
    let ended = running.end();
    assert_eq!(ended.code, Some(0), "{}", ended.errors);
    for (code, said) in tops {
        assert_eq!(code, Some(1), "{said}");
        let numberless = |text: &str| text.replace(|letter: char| letter.is_ascii_digit(), "");
        let word = if is_virtual {
            "virtual thread"
        } else {
            "thread"
        };
        let first = format!("{word} first \"one\" #");
        let circle = format!("deadlock: {first} -> {word} second # -> {first}\n");
        assert!(numberless(&said).contains(&circle), "{said}");
        assert!(said.contains(" scala, process "), "{said}");
        assert!(
            said.contains("1 deadlock, 2 sessions, 2 with a side that waits: "),
            "{said}"
        );
        assert!(said.contains("in bank.login_response, for "), "{said}");
    }
}

#[test]
fn sessions_that_are_stuck_are_in_the_registry() {
    top_names_a_deadlock(tool("java"), false);
}

#[test]
#[ignore = "nightly: virtual-threads"]
fn sessions_on_virtual_threads_that_are_stuck_are_in_the_registry() {
    let java = std::env::var_os("DUOLOGUE_JAVA").unwrap_or_else(|| "java".into());
    top_names_a_deadlock(Command::new(java), true);
}

/// Without the properties, the JIT compiler removes what records and registers sessions: everything that does so is called only where a
/// constant is true.
#[test]
fn without_its_property_nothing_is_recorded_or_registered() {
    let calls = [
        "Registered.",
        "Registry.begin(",
        "Recording.abandon(",
        "Recording.check(",
        "Recording.closed(",
        "Recording.passed(endpoint",
        " recorded(word)",
        "checkOr(endpoint",
    ];
    let own = ["Registered.java", "RegistrySnapshot.scala"];
    let mut guarded = 0;
    for file in sources_in(&repository().join("runtime/scala/src/main")) {
        if own.iter().any(|name| file.ends_with(name)) {
            continue;
        }
        let text = read(&file);
        let mut before = "";
        for line in text.lines() {
            let is_call = calls.iter().any(|call| line.contains(call));
            if is_call && !line.contains(" def ") {
                let is_guard = |line: &str| line.contains("if (RecordFlag.");
                let opened = is_guard(before) && before.ends_with('{');
                assert!(is_guard(line) || opened, "{}: {line}", file.display());
                guarded += 1;
            }
            before = line;
        }
    }
    assert!(guarded > 20, "{guarded} calls");
    let flag = repository().join("runtime/scala/src/main/java/duologue/floor/RecordFlag.java");
    let text = read(&flag);
    let constants = text
        .lines()
        .filter(|line| line.contains("static final boolean "));
    assert_eq!(constants.count(), 3, "the compiler knows only constants");
}
