//! Sessions in shared memory, as far as a test needs a process of its own: where it does without the system call `membarrier`, which it
//! cannot take back (then the side that stores reads the flags of the other by a read-modify-write), and where its descriptors are counted.

use conversations::block_on;
use conversations::protocols::pingpong::{self, Ping, Pong};
use conversations::regions::pair;
use conversations::wire::payloads::{All, client, server};
use duologue::without_membarrier;
use std::thread;

#[test]
fn threads_take_turns_and_stream() {
    crate::alone!(alone_threads_take_turns_and_stream);
}

fn alone_threads_take_turns_and_stream() {
    without_membarrier();
    let (mut server, mut client): (pingpong::server::Ping, pingpong::client::Ping) = pair();
    let serving = thread::spawn(move || {
        while let Ok(Ping::Ping(answer)) = server.recv() {
            server = answer.pong().expect("it is open");
        }
    });
    for turn in 0..5_000 {
        if turn % 500 == 0 {
            // Long enough for the server to fall asleep.
            thread::sleep(std::time::Duration::from_millis(2));
        }
        let Ok(Pong::Pong(next)) = client.ping().expect("it is open").recv() else {
            panic!("there is an answer")
        };
        client = next;
    }
    drop(client);
    serving.join().expect("it does not panic");

    let (mut server, client): (server::All, client::All) = pair();
    let sending = thread::spawn(move || {
        let client = (0..50_000).try_fold(client, |client, n| match n % 1000 {
            0 => client
                .str("x".repeat(5_000))
                .map_err(|error| error.closed()),
            _ => client.u64(n).map_err(|error| error.closed()),
        });
        client.expect("it is open").over().expect("it is open");
    });
    for n in 0..50_000 {
        server = match server.recv() {
            Ok(All::U64(found, next)) if found == n => next,
            Ok(All::Str(text, next)) if text.len() == 5_000 && n % 1000 == 0 => next,
            other => panic!("{n}: {other:?}"),
        };
    }
    assert!(matches!(server.recv(), Ok(All::Over)));
    sending.join().expect("it does not panic");
}

#[test]
fn tasks_take_turns() {
    crate::alone!(alone_tasks_take_turns);
}

fn alone_tasks_take_turns() {
    without_membarrier();
    let (mut server, mut client): (pingpong::server::Ping, pingpong::client::Ping) = pair();
    let serving = thread::spawn(move || {
        block_on(async {
            while let Ok(Ping::Ping(answer)) = server.recv_async().await {
                server = answer.pong().expect("it is open");
            }
        });
    });
    block_on(async {
        for _ in 0..500 {
            let waiting = client.ping().expect("it is open");
            let Ok(Pong::Pong(next)) = waiting.recv_async().await else {
                panic!("there is an answer")
            };
            client = next;
        }
        drop(client);
    });
    serving.join().expect("it does not panic");
}

/// How many descriptors of regions this process has.
fn count_regions() -> usize {
    let all = std::fs::read_dir("/proc/self/fd").expect("it is there");
    let links = all.filter_map(|entry| std::fs::read_link(entry.ok()?.path()).ok());
    links
        .filter(|link| link.to_string_lossy().contains("memfd:duologue"))
        .count()
}

#[test]
fn descriptors_are_not_leaked() {
    crate::alone!(alone_descriptors_are_not_leaked);
}

fn alone_descriptors_are_not_leaked() {
    let before = count_regions();
    for _ in 0..20 {
        let (server, client): (pingpong::server::Ping, pingpong::client::Ping) = pair();
        drop(client.ping().expect("it is open"));
        drop(server);
    }
    // The thread that serves all sessions may still have a few.
    let after = count_regions();
    assert!(after < before + 20, "{after} {before}");
}

/// Messages are read a few at a time. The last one ends the session wherever that leaves off.
#[test]
fn a_session_is_over_once_its_last_message_was_read() {
    crate::alone!(alone_a_session_is_over_once_its_last_message_was_read);
}

fn alone_a_session_is_over_once_its_last_message_was_read() {
    let before = count_regions();
    // Without a second thread, so no more than the region holds.
    for count in (0..64).cycle().take(640) {
        let (mut server, client): (server::All, client::All) = pair();
        let client = (0..count).try_fold(client, |client, n| client.u64(n));
        client.expect("it is open").over().expect("it is open");
        for _ in 0..count {
            let Ok(All::U64(_, next)) = server.recv() else {
                panic!("{count} were sent")
            };
            server = next;
        }
        assert!(matches!(server.recv(), Ok(All::Over)), "{count}");
    }
    let after = count_regions();
    assert!(after < before + 20, "{after} {before}");
}
