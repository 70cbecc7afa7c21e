//! Tests that take longest, of which one processor alone does most. The test harness begins tests in the order of their names, so these begin
//! first, and no processor is idle while the last tests run.

use crate::scala::{suites_of_processes, suites_of_sockets, suites_pass};
use crate::support::scala::{Scala, tool};

#[test]
fn scala_suites_of_sessions_between_processes_pass() {
    suites_pass(Scala::Three, tool("java"), &suites_of_sockets());
}

#[test]
fn scala_suites_of_sessions_within_a_process_pass() {
    suites_pass(Scala::Three, tool("java"), &suites_of_processes());
}
