//! What happens if the system refuses the thread that deep destructors need: they continue on the current stack.
//!
//! The limit is real and applies to a whole process, so each case runs in a process of its own.
#![cfg(all(target_os = "linux", not(duologue_loom)))]
#![forbid(unsafe_code)]

extern crate duologue_runtime as duologue;

#[path = "sessions/golden.rs"]
mod golden;

use std::process::{Command, Output};
use std::sync::{Arc, Mutex};
use std::thread::{self, Builder, ThreadId};

use duologue::Capacity;
use golden::stream;

/// The stack of a helper, which `drop_queue` requests.
const STACK: usize = 16 * 1024 * 1024;

/// Names the case that a process runs, in which no thread with a stack of that size can be started.
const LIMITED: &str = "DUOLOGUE_TEST_LIMITED";

/// Limits the address space of this process so that a helper's stack does not fit.
fn limit() {
    let status = std::fs::read_to_string("/proc/self/status").expect("Linux has it");
    let size = status.lines().find_map(|line| line.strip_prefix("VmSize:"));
    let size = size.and_then(|size| size.trim().strip_suffix(" kB"));
    let size: usize = size.and_then(|size| size.parse().ok()).expect("a size");
    let limited = Command::new("prlimit")
        .arg(format!("--pid={}", std::process::id()))
        .arg(format!("--as={}", size * 1024 + STACK / 2))
        .status();
    let limited = limited.expect("`prlimit` is missing: apt-get install util-linux");
    assert!(limited.success());
    let refused = Builder::new().stack_size(STACK).spawn(|| {});
    assert!(refused.is_err(), "the system refuses a thread");
}

/// Records on which thread it was destroyed.
struct Witness(Arc<Mutex<Option<ThreadId>>>);

impl Drop for Witness {
    fn drop(&mut self) {
        *self.0.lock().expect("no panic") = Some(thread::current().id());
    }
}

struct Node {
    _inside: Option<stream::server::Stream<Node>>,
    _witness: Option<Witness>,
}

/// Drops sessions nested this deep, after calling `before`, and returns on which thread the innermost message was
/// destroyed.
fn destroyed_on(depth: usize, before: fn()) -> ThreadId {
    let seen = Arc::new(Mutex::new(None));
    let mut chain = Node {
        _inside: None,
        _witness: Some(Witness(seen.clone())),
    };
    for _ in 0..depth {
        let (server, client) = stream::init_with(Capacity::Bounded(1));
        drop(client.send(chain).expect("the server is there"));
        chain = Node {
            _inside: Some(server),
            _witness: None,
        };
    }
    before();
    drop(chain);
    let seen = *seen.lock().expect("no panic");
    seen.expect("the destructor has run when the drop returns")
}

/// Runs a test of this file by itself, in a process that is marked as such.
fn alone(test: &str) -> Output {
    let program = std::env::current_exe().expect("this program");
    let mut program = Command::new(program);
    program.args(["--exact", test, "--nocapture", "--test-threads=1"]);
    program.env(LIMITED, test).output().expect("it runs")
}

fn is_alone(test: &str) -> bool {
    std::env::var(LIMITED).is_ok_and(|limited| limited == test)
}

#[test]
fn deep_destructors_run_on_another_thread_or_without_one_on_the_same() {
    const THIS: &str = "deep_destructors_run_on_another_thread_or_without_one_on_the_same";
    let here = thread::current().id();
    if is_alone(THIS) {
        for depth in [1, 16, 17, 100] {
            assert_eq!(destroyed_on(depth, limit), here);
        }
        return;
    }
    assert_eq!(destroyed_on(16, || {}), here);
    assert_ne!(destroyed_on(17, || {}), here);
    let output = alone(THIS);
    let printed = String::from_utf8_lossy(&output.stdout);
    assert!(
        output.status.success() && printed.contains("1 passed"),
        "{output:?}"
    );
}

#[test]
fn without_a_thread_too_deep_sessions_overflow_the_stack_as_boxes_do() {
    const THIS: &str = "without_a_thread_too_deep_sessions_overflow_the_stack_as_boxes_do";
    if is_alone(THIS) {
        destroyed_on(200_000, limit);
        return;
    }
    let output = alone(THIS);
    let printed = String::from_utf8_lossy(&output.stderr);
    assert!(
        !output.status.success() && printed.contains("has overflowed its stack"),
        "{output:?}"
    );
}
