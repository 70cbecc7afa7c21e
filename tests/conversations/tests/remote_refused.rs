//! Runs over sockets in a process that has forbidden itself the system call `membarrier` after they began.
//! A filter cannot be removed from a process.
#![allow(unsafe_code)]

#[path = "../../../runtime/rust/tests/sessions/filter.rs"]
mod filter;

use conversations::protocols::numbers::{Stream, client, server};
use conversations::sockets::pair;
use conversations::{LONG, why};
use duologue::Why;
use std::fs;
use std::thread;
use std::time::Duration;

/// How often the threads of `duologue-net` have slept.
fn sleeps() -> u64 {
    let tasks = fs::read_dir("/proc/self/task").expect("Linux has it");
    let mut count = 0;
    for task in tasks {
        let task = task.expect("the folder is readable").path();
        // A thread may have ended in the meantime.
        let Ok(status) = fs::read_to_string(task.join("status")) else {
            continue;
        };
        let value = |key: &str| {
            let mut lines = status.lines();
            lines.find_map(|line| line.strip_prefix(key)).map(str::trim)
        };
        if value("Name:").is_some_and(|name| name.starts_with("duologue-")) {
            let switches = value("voluntary_ctxt_switches:");
            count += switches.map_or(0, |count| count.parse().expect("a number"));
        }
    }
    count
}

#[test]
fn without_the_barrier_messages_arrive_and_an_idle_sender_is_checked_rarely() {
    crate::alone!(without_the_barrier);
}

fn without_the_barrier() {
    let (mut server, mut client): (server::Stream, client::Stream) = pair("refused");
    for number in 0..400 {
        if number == 10 {
            filter::refuse_membarrier(libc::EPERM);
        }
        client = client.send(number).expect("it is open");
        server = match server.recv_timeout(LONG) {
            Ok(Stream::Send(received, next)) if received == number => next,
            other => panic!("{number}: {other:?}"),
        };
        // Longer than what was collected may wait, now and then.
        if number % 16 == 0 {
            thread::sleep(Duration::from_millis(10));
        }
    }
    // The pauses have become long by now.
    thread::sleep(Duration::from_millis(500));
    let before = sleeps();
    thread::sleep(Duration::from_secs(1));
    let count = sleeps() - before;
    assert!(before > 0 && count < 100, "{before} and then {count}");
    let client = client.send(400).expect("it is open");
    let Ok(Stream::Send(400, server)) = server.recv_timeout(LONG) else {
        panic!("it arrives")
    };
    drop(client);
    assert_eq!(why(server.recv()), Why::Left);
}
