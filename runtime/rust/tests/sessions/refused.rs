//! The same contract where the kernel refuses `membarrier`: from the start, after the first session, and in the middle
//! of others.
//!
//! A filter cannot be removed from a process. So these tests start this program again, with an environment variable
//! that says what to do before the first test.
#![allow(unsafe_code)]

use std::env;
use std::num::NonZero;
use std::process::Command;
use std::sync::atomic::AtomicUsize;
use std::sync::atomic::Ordering::Relaxed;
use std::sync::Arc;
use std::thread;

use duologue::Closed;

use crate::filter::refuse_membarrier;
use crate::golden::stream;
use crate::random::Random;
use crate::walks;

/// When to refuse the call in this process: `early` or `late`, or the seed of the walk during which to refuse it.
const WHEN: &str = "DUOLOGUE_TEST_REFUSES_MEMBARRIER";

const ERRORS: [libc::c_int; 3] = [libc::EPERM, libc::ENOSYS, libc::ENOMEM];

/// These tests, and those whose wakers may not leave their thread: where the call is refused, another one checks for tasks now and then.
const SKIPPED: [&str; 4] = ["--skip", "refused::", "--skip", "wakers::"];

#[used]
#[link_section = ".init_array"]
static BEFORE_MAIN: extern "C" fn() = before_main;

extern "C" fn before_main() {
    match env::var(WHEN).as_deref() {
        Ok("early") => refuse_membarrier(libc::ENOSYS),
        Ok("late") => {
            drop(stream::init::<u64>());
            refuse_membarrier(libc::EPERM);
        }
        _ => {}
    }
}

/// This program, with other arguments.
fn program(arguments: &[&str], when: &str) -> Command {
    let mut program = Command::new(env::current_exe().expect("the path of this program"));
    program.args(arguments).env(WHEN, when);
    program
}

fn succeed(mut program: Command) -> String {
    let output = program.output().expect("the program starts");
    let printed = String::from_utf8_lossy(&output.stdout).into_owned();
    let errors = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "{program:?}:\n{printed}{errors}");
    printed
}

/// The names of all other tests.
fn contract() -> Vec<String> {
    let list = succeed(program(&[&["--list"], &SKIPPED[..]].concat(), ""));
    let names = list.lines().filter_map(|line| line.strip_suffix(": test"));
    let names: Vec<String> = names.map(String::from).collect();
    assert!(names.len() > 50, "the tests are listed");
    names
}

#[test]
fn the_contract_holds_where_the_call_is_refused_from_the_start() {
    let printed = succeed(program(&SKIPPED, "early"));
    let passed = format!("test result: ok. {} passed", contract().len());
    assert!(printed.contains(&passed), "{printed}");
}

/// Once the call has been refused, new sessions do not use it, so each test runs in a process of its own.
#[test]
fn the_contract_holds_where_the_call_is_refused_after_the_first_session() {
    let tests = Arc::new(contract());
    let next = Arc::new(AtomicUsize::new(0));
    let run = || {
        let (tests, next) = (Arc::clone(&tests), Arc::clone(&next));
        // The thread sanitizer sees the end of a thread that is joined, but not that of a scope.
        thread::spawn(move || {
            while let Some(test) = tests.get(next.fetch_add(1, Relaxed)) {
                let printed = succeed(program(&[test, "--exact"], "late"));
                assert!(printed.contains("test result: ok. 1 passed"), "{printed}");
            }
        })
    };
    let threads = thread::available_parallelism().map_or(1, NonZero::get);
    let running: Vec<_> = (0..threads).map(|_| run()).collect();
    for thread in running {
        thread.join().expect("the tests pass");
    }
}

#[test]
fn every_payload_is_destroyed_once_if_the_call_is_refused_in_the_middle_of_a_walk() {
    const NAME: &str =
        "refused::every_payload_is_destroyed_once_if_the_call_is_refused_in_the_middle_of_a_walk";
    if let Some(seed) = env::var(WHEN).ok().and_then(|seed| seed.parse().ok()) {
        return walk(seed);
    }
    for seed in 0..60_u64 {
        let printed = succeed(program(&[NAME, "--exact"], &seed.to_string()));
        assert!(printed.contains("test result: ok. 1 passed"), "{printed}");
    }
}

fn walk(seed: u64) {
    let mut random = Random::new(seed);
    let error = ERRORS[random.below(3) as usize];
    let moments = 1 << random.below(18);
    walks::round(seed, 48, || {
        // By another thread, while the walkers continue.
        let refusing = thread::spawn(move || {
            (0..moments).for_each(|_| std::hint::spin_loop());
            refuse_membarrier(error);
        });
        refusing.join().expect("the filter is installed");
    });
}

/// A program that opts out of `membarrier`: messages arrive, and the call is never made, because a filter would end the
/// process.
#[test]
fn a_program_can_do_without_the_call() -> Result<(), Closed> {
    const NAME: &str = "refused::a_program_can_do_without_the_call";
    match env::var(WHEN).as_deref() {
        Ok("variable") => {}
        Ok("function") => duologue::without_membarrier(),
        _ => {
            let mut variable = program(&[NAME, "--exact"], "variable");
            variable.env("DUOLOGUE_NO_MEMBARRIER", "1");
            for program in [variable, program(&[NAME, "--exact"], "function")] {
                let printed = succeed(program);
                assert!(printed.contains("test result: ok. 1 passed"), "{printed}");
            }
            return Ok(());
        }
    }
    crate::filter::end_at_membarrier();
    let (server, mut client) = stream::init::<String>();
    let serving = thread::spawn(move || {
        let mut server = server;
        let mut heard = 0;
        while let Ok(stream::Stream::Send(_, next)) = server.recv() {
            heard += 1;
            server = next;
        }
        heard
    });
    for number in 0..1_000 {
        client = client.send(number.to_string())?;
    }
    client.stop()?;
    assert_eq!(serving.join().expect("no panic"), 1_000);
    // A receiver that disconnects in a run.
    let (server, client) = stream::init::<String>();
    drop(server);
    assert!(client.send(String::new()).is_err());
    Ok(())
}
