//! The benchmark of the pipes: every case works and moves what it says it moves. How long it takes is nobody's business here.

use crate::support::program::run;
use crate::support::{is_named, repository};
use std::process::Command;

/// The benchmark in its quick form, where `DUOLOGUE_TEST_WITH` names it: nothing else compiles the crates that it compares with.
#[test]
fn every_case_of_the_benchmark_works() {
    if !is_named("bench") {
        return;
    }
    let mut command = Command::new(env!("CARGO"));
    command.current_dir(repository());
    command.args(["bench", "-p", "duologue-bench", "--profile", "dev"]);
    command.args(["--", "--quick"]);
    let output = run(command, b"");
    let printed = String::from_utf8_lossy(&output.stdout);
    assert!(
        output.status.success()
            && printed.ends_with("every case works, and every bar finds its cases\n"),
        "{printed}{}",
        String::from_utf8_lossy(&output.stderr)
    );
}
