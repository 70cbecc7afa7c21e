//! Records of sessions in Scala.

use super::{folder, programs, read};
use crate::support::is_tested;
use crate::support::scala::{Scala, tool};
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
    assert!(read(&log).len() <= 2000);
}
