//! Tests each of which runs in a process of its own, because it counts or sets something that all threads of a process share. Cargo starts
//! this program once, and the program starts itself for each test.

mod counted;
#[cfg(feature = "sockets")]
mod observe_metrics;
#[cfg(feature = "sockets")]
mod observe_spans;
#[cfg(feature = "sockets")]
mod remote_allocations;
#[cfg(feature = "sockets")]
mod remote_hostile;
#[cfg(feature = "sockets")]
mod remote_memory;
#[cfg(feature = "sockets")]
mod remote_tokio;
#[cfg(feature = "shared-memory")]
mod shm_alone;

use std::env;
use std::process::Command;

const NAME: &str = "DUOLOGUE_TEST_ALONE";

/// Runs the test in which this is used in another process, which runs the same test.
macro_rules! alone {
    ($act:expr) => {{
        fn here() {}
        crate::run_alone(std::any::type_name_of_val(&here), $act)
    }};
}
use alone;

/// `path` is that of a function in the test.
fn run_alone(path: &str, test: fn()) {
    let name = path
        .trim_start_matches("alone::")
        .trim_end_matches("::here");
    if env::var_os(NAME).is_some_and(|own| *own == *name) {
        return test();
    }
    let mut own = Command::new(env::current_exe().expect("there is one"));
    own.env(NAME, name).args(["--exact", name, "--nocapture"]);
    let output = own.output().expect("it can be started");
    let printed = String::from_utf8_lossy(&output.stdout);
    println!("{printed}");
    let errors = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "{}\n{errors}", output.status);
    assert!(printed.contains("1 passed"), "{name} is no test");
}
