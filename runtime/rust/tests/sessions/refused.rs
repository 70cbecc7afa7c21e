//! Where the kernel refuses `membarrier`: from the start, after the first session, and to a program that does not call it.
//!
//! A filter cannot be removed from a process. So these tests start this program again, with an environment variable
//! that says what to do.
#![allow(unsafe_code)]

use std::env;
use std::io::Error;
use std::os::unix::process::ExitStatusExt;
use std::process::{Command, Output};
use std::thread;

use duologue::Closed;

use crate::filter::refuse_membarrier;
use crate::golden::stream;

/// What this process does: `early` if the call is refused before the first test.
const WHAT: &str = "DUOLOGUE_TEST_REFUSES_MEMBARRIER";

#[used]
#[link_section = ".init_array"]
static BEFORE_MAIN: extern "C" fn() = before_main;

extern "C" fn before_main() {
    if env::var(WHAT).as_deref() == Ok("early") {
        refuse_membarrier(libc::ENOSYS);
    }
}

/// This program, with other arguments.
fn program(arguments: &[&str], what: &str) -> Command {
    let mut program = Command::new(env::current_exe().expect("the path of this program"));
    program.args(arguments).env(WHAT, what);
    program
}

fn run(program: &mut Command) -> (Output, String) {
    let output = program.output().expect("the program starts");
    let printed = [&output.stdout[..], &output.stderr].concat();
    (output, String::from_utf8_lossy(&printed).into_owned())
}

#[test]
fn the_contract_holds_where_the_call_is_refused_from_the_start() {
    let (output, printed) = run(&mut program(&["--skip", "refused::"], "early"));
    assert!(output.status.success(), "{printed}");
    assert!(!printed.contains(" 0 passed"), "{printed}");
}

#[test]
fn a_process_ends_and_says_why_if_the_call_is_refused_after_the_first_session() {
    const NAME: &str =
        "refused::a_process_ends_and_says_why_if_the_call_is_refused_after_the_first_session";
    if let Some(error) = env::var(WHAT).ok().and_then(|error| error.parse().ok()) {
        let (server, _client) = stream::init::<String>();
        refuse_membarrier(error);
        // It disconnects in a run.
        return drop(server);
    }
    for error in [libc::EPERM, libc::ENOMEM] {
        let (output, printed) = run(&mut program(&[NAME, "--exact"], &error.to_string()));
        assert_eq!(output.status.signal(), Some(libc::SIGABRT), "{printed}");
        let reason = Error::from_raw_os_error(error).to_string();
        for part in [&reason, "DUOLOGUE_NO_MEMBARRIER=1", "without_membarrier()"] {
            assert!(printed.contains(part), "{part}: {printed}");
        }
    }
}

/// A program that opts out of `membarrier`: messages arrive, and the call is never made, because a filter would end the
/// process.
#[test]
fn a_program_can_do_without_the_call() -> Result<(), Closed> {
    const NAME: &str = "refused::a_program_can_do_without_the_call";
    match env::var(WHAT).as_deref() {
        Ok("variable") => {}
        Ok("function") => duologue::without_membarrier(),
        _ => {
            let mut variable = program(&[NAME, "--exact"], "variable");
            variable.env("DUOLOGUE_NO_MEMBARRIER", "1");
            for mut program in [variable, program(&[NAME, "--exact"], "function")] {
                let (output, printed) = run(&mut program);
                assert!(output.status.success(), "{printed}");
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
