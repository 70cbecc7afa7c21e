//! The benchmarks of the pipes, of sessions over sockets and of `check`: every case works and transfers what it claims to. How long it takes is not checked.

use crate::support::program::run;
use crate::support::{cargo, repository, succeed};
use std::path::Path;
use std::process::Command;

/// Runs a benchmark in its quick form, which has to end with this line. With `--workspace`, its packages have the features that `cargo test
/// --workspace` has built them with, so that they are not built once more.
fn works(choice: &[&str], ending: &str) {
    let mut command = cargo();
    command.current_dir(repository());
    command.arg("bench").args(choice);
    command.args(["--profile", "dev", "--", "--quick"]);
    with_java(&mut command);
    let output = run(command, b"");
    let printed = String::from_utf8_lossy(&output.stdout);
    assert!(
        output.status.success() && printed.ends_with(ending),
        "{printed}{}",
        String::from_utf8_lossy(&output.stderr)
    );
}

/// The benchmark in its quick form: nothing else compiles the crates that it compares against.
#[test]
#[ignore = "nightly: benchmarks"]
fn every_case_of_the_benchmark_works() {
    works(
        &["--workspace", "--bench", "pipes"],
        "every case works, and the cases of every bar exist\n",
    );
}

/// The same for sessions over sockets.
#[test]
#[ignore = "nightly: benchmarks"]
fn every_case_of_the_benchmark_over_sockets_works() {
    works(&["--workspace", "--bench", "remote"], "every case works\n");
}

/// The same with the cases of other libraries, which nothing else compiles.
#[test]
#[ignore = "nightly: benchmarks"]
fn every_case_of_other_libraries_over_sockets_works() {
    works(
        &["-p", "duologue-bench-remote", "--features", "peers"],
        "every case works\n",
    );
    works(
        &["-p", "duologue-bench", "--features", "peers"],
        "every case works, and the cases of every bar exist\n",
    );
}

/// The same for the language server.
#[test]
#[ignore = "nightly: benchmarks"]
fn every_case_of_the_benchmark_of_lsp_works() {
    works(&["--workspace", "--bench", "lsp"], "every case works\n");
}

/// The same for the Scala pipes. The benchmark needs JDK 21 or newer: the one whose `java` is named by `DUOLOGUE_JAVA`, or the one
/// in `PATH`.
#[test]
#[ignore = "nightly: benchmarks"]
fn every_case_of_the_benchmark_in_scala_works() {
    works_in_scala();
}

/// Lets a command use the Java that `DUOLOGUE_JAVA` names.
fn with_java(command: &mut Command) {
    if let Some(java) = std::env::var_os("DUOLOGUE_JAVA") {
        let java = Path::new(&java)
            .canonicalize()
            .expect("DUOLOGUE_JAVA names a program");
        let home = java.parent().and_then(Path::parent);
        command.env("JAVA_HOME", home.expect("java is in bin"));
    }
}

/// Runs the benchmark in Scala in its quick form.
fn works_in_scala() {
    let mut command = Command::new(repository().join("tests/bench/jvm/run"));
    command.arg("--quick");
    command.env("DUOLOGUE", env!("CARGO_BIN_EXE_duologue"));
    command.env(
        "DUOLOGUE_BENCH_OUT",
        Path::new(env!("CARGO_TARGET_TMPDIR")).join("bench-jvm"),
    );
    with_java(&mut command);
    let printed = succeed(&mut command).unwrap_or_else(|failure| panic!("{failure}"));
    assert!(
        printed.ends_with("every case works, and the cases of every bar exist\n"),
        "{printed}"
    );
}

/// The same for C.
#[test]
#[ignore = "nightly: benchmarks"]
fn every_case_of_the_c_benchmark_works() {
    works(&["--workspace", "--bench", "c"], "every case works\n");
}

/// The same for the origins, in Rust, C, Scala, Erlang and Go. What is not installed makes this test fail.
#[test]
#[ignore = "nightly: benchmarks"]
fn every_case_of_the_origins_works() {
    works(&["--workspace", "--bench", "origins"], "every case works\n");
}

/// The same for C between processes.
#[test]
#[ignore = "nightly: benchmarks"]
fn every_case_of_the_benchmark_between_processes_works() {
    works(
        &["--workspace", "--bench", "processes"],
        "every case works\n",
    );
}

/// The same for `check`, with `protoc` where it is installed.
#[test]
#[ignore = "nightly: benchmarks"]
fn every_case_of_the_benchmark_of_check_works() {
    works(&["--workspace", "--bench", "check"], "every case works\n");
}
