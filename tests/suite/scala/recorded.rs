//! Records of sessions in Scala.

use super::{folder, net, programs, read};
use crate::support::scala::{Scala, tool};
use crate::support::{is_tested, succeed};
use crate::trace::recorded::check;
use std::fs;

/// The programs of the conversations and of the page, in a process that records its sessions. The program of the page about records stops one.
#[test]
fn the_programs_are_recorded() {
    if !is_tested("scala") {
        return;
    }
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
    let program = scala.run_with(java, &on, "example.Conversation", &[]);
    program.unwrap_or_else(|failure| panic!("{failure}"));
    let text = read(&log);
    assert!(text.len() <= 2000 && !text.is_empty(), "{text}");
    assert!(text.ends_with('\n'), "{text}");
    let (accepted, report) = check(&log, &[]);
    assert!(accepted, "{report:#}");
}

/// Monitors, and a server that answers health checks: in a process that records its sessions.
#[test]
fn sessions_over_sockets_are_recorded() {
    if !is_tested("scala") {
        return;
    }
    let log = folder("recorded-net").join("sessions.jsonl");
    fs::create_dir_all(folder("recorded-net")).expect("the target folder can be written");
    let mut java = tool("java");
    java.args(["-XX:+UseSerialGC", "-cp", &net::class_path(Scala::Three)]);
    java.arg(format!("-Dduologue.record={}", log.display()));
    java.args(["org.junit.runner.JUnitCore", "duologue.net.RecordingSuite"]);
    succeed(&mut java).unwrap_or_else(|failure| panic!("{failure}"));
    let (accepted, report) = check(&log, &[]);
    assert!(accepted, "{report:#}");
}
