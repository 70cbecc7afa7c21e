//! Time limits of states, `#[within(...)]`, over sockets. They are not part of the fingerprint, so a peer whose version has none
//! may take longer than the other version waits.

use conversations::limits::timed::visit as timed;
use conversations::limits::untimed::visit as free;
use conversations::observing::{Event, Told, observer};
use conversations::sockets::{accepted, listener, pair};
use conversations::{LONG, block_on, why};
use duologue::{Closed, PortSet, TryRecvError, Why};
use duologue_net::Open;
use std::thread;
use std::time::Duration;

const OPEN: &str = "the session is open";

/// A session whose server has time limits. The client has none.
fn visit(name: &str) -> (timed::server::Choose, free::client::Choose) {
    pair(name)
}

/// The same, and what is reported to an observer of the server.
fn observed<C: Open>(name: &str) -> (timed::server::Choose, C, Told) {
    let (mut listener, address) = listener(name);
    let (observing, told) = observer();
    listener.observer(observing);
    let (server, client) = accepted(&mut listener, &address);
    (server, client, told)
}

/// Why the session ended.
fn end(told: &Told) -> Why {
    loop {
        if let Event::Ended(_, end) = told.next() {
            return end.why;
        }
    }
}

/// A session in which the server waits for a message that has to come quickly.
fn hurried(name: &str) -> (timed::server::Quick, free::client::Quick) {
    let (server, client) = visit(name);
    let client = client.hurry().expect(OPEN);
    let Ok(timed::Choose::Hurry(server)) = server.recv() else {
        panic!("it arrives")
    };
    (server, client)
}

/// The same in a state without a limit.
fn resting(name: &str) -> (timed::server::Free, free::client::Free) {
    let (server, client) = visit(name);
    let client = client.rest().expect(OPEN);
    let Ok(timed::Choose::Rest(server)) = server.recv() else {
        panic!("it arrives")
    };
    (server, client)
}

/// Why the session is over for a client whose message came too late.
pub fn too_late(client: free::client::Quick) -> Why {
    let ask = || client.done()?.ask_quickly()?.recv();
    why(ask())
}

/// For a thread that waits, one that waits for a shorter time again and again, and a task.
#[test]
fn a_peer_that_does_not_send_in_time_is_late() {
    let ways: [fn(timed::server::Quick) -> Why; 3] = [
        |server| why(server.recv()),
        |mut server| loop {
            server = match server.recv_timeout(Duration::from_millis(3)) {
                Err(TryRecvError::Empty(server)) => server,
                Err(TryRecvError::Closed(closed)) => return closed.why(),
                Ok(message) => panic!("unexpected: {message:?}"),
            };
        },
        |server| why(block_on(server.recv_async())),
    ];
    for way in ways {
        let (server, client) = hurried("within-late");
        assert_eq!(way(server), Why::Late);
        assert_eq!(too_late(client), Why::Late);
    }
}

#[test]
fn a_peer_is_late_in_a_set() {
    let (server, _client) = hurried("within-set");
    let (other, resting) = resting("within-set-other");
    let mut set = PortSet::new();
    set.insert(other, "other");
    let mut hurried = PortSet::new();
    hurried.insert(server, "late");
    let Some(("late", Err(closed))) = hurried.recv_timeout(LONG) else {
        panic!("nothing comes")
    };
    assert_eq!(closed.why(), Why::Late);
    // This one has waited as long.
    let client = resting.done().expect(OPEN);
    let Some(("other", Ok(timed::Free::Done(server)))) = set.recv_timeout(LONG) else {
        panic!("it has no limit")
    };
    client.bye().expect(OPEN);
    assert!(matches!(server.recv(), Ok(timed::Choose::Bye)));
}

/// Nobody waits: the session ends all the same.
#[test]
fn a_peer_is_late_for_a_program_that_does_nothing() {
    let (server, client, told) = observed::<free::client::Choose>("within-idle");
    let client = client.hurry().expect(OPEN);
    let Ok(timed::Choose::Hurry(server)) = server.recv() else {
        panic!("it arrives")
    };
    assert_eq!(end(&told), Why::Late);
    assert_eq!(why(server.recv()), Why::Late);
    assert_eq!(too_late(client), Why::Late);
}

/// Here the version of the side that sends has the limit too.
#[test]
fn a_sender_that_is_late_learns_it_without_a_wait() {
    let (mut listener, address) = listener("within-sender");
    let (observing, told) = observer();
    let connector = duologue_net::Connector::new().observer(observing);
    let (server, client) = thread::scope(|scope| {
        let connecting = scope.spawn(|| connector.connect(&address).expect("it is accepted"));
        let server: timed::server::Choose = listener.accept().expect("it connects");
        let client: timed::client::Choose = connecting.join().expect("no panic");
        (server, client)
    });
    let client = client.hurry().expect(OPEN);
    let Ok(timed::Choose::Hurry(server)) = server.recv() else {
        panic!("it arrives")
    };
    assert_eq!(why(server.recv()), Why::Late);
    assert_eq!(end(&told), Why::Late);
    assert_eq!(why(client.done()), Why::Late);
}

/// Each message begins the time again, and the answer of a server may be late, too.
#[test]
fn a_server_that_does_not_answer_in_time_is_late() {
    let (server, client): (free::server::Choose, timed::client::Choose) = pair("within-answer");
    let waiting = client.ask_quickly().expect(OPEN);
    let Ok(free::Choose::AskQuickly(server)) = server.recv() else {
        panic!("it arrives")
    };
    let server = server.hold().expect(OPEN);
    let mut answer = waiting.recv();
    while let Ok(timed::QuickAnswer::Hold(waiting)) = answer {
        answer = waiting.recv();
    }
    assert_eq!(why(answer), Why::Late);
    let closed = server.done().map_err(Closed::from);
    assert_eq!(why(closed.and_then(|server| server.recv())), Why::Late);
}

#[test]
fn states_without_a_limit_and_with_a_long_one_wait_on() {
    let (resting_server, resting_client) = resting("within-free");
    let (server, thinking) = visit("within-slow");
    let thinking = thinking.think().expect(OPEN);
    let Ok(timed::Choose::Think(server)) = server.recv() else {
        panic!("it arrives")
    };
    let (late, _client) = hurried("within-clock");
    assert_eq!(why(late.recv()), Why::Late);
    // The others have waited longer.
    let client = thinking.done().expect(OPEN);
    let Ok(timed::Slow::Done(server)) = server.recv() else {
        panic!("it is in time")
    };
    client.bye().expect(OPEN);
    assert!(matches!(server.recv(), Ok(timed::Choose::Bye)));
    let client = resting_client.done().expect(OPEN);
    let Ok(timed::Free::Done(server)) = resting_server.recv() else {
        panic!("there is no limit")
    };
    client.bye().expect(OPEN);
    assert!(matches!(server.recv(), Ok(timed::Choose::Bye)));
}

/// A program that does not read what has arrived in time does not make its peer late.
#[test]
fn messages_that_wait_for_a_slow_program_are_in_time() {
    /// More than the ring takes.
    const WORDS: usize = 20_000;
    let (server, client) = visit("within-full");
    let mut client = client.talk().expect(OPEN);
    for _ in 0..WORDS {
        client = client.word().expect(OPEN);
    }
    let client = client.done().expect(OPEN);
    client.bye().expect(OPEN);
    // A session in the same state, whose time begins later and passes.
    let (clock, other) = visit("within-full-clock");
    let other = other.talk().expect(OPEN);
    let Ok(timed::Choose::Talk(clock)) = clock.recv() else {
        panic!("it arrives")
    };
    assert_eq!(why(clock.recv()), Why::Late);
    drop(other);
    let Ok(timed::Choose::Talk(mut server)) = server.recv() else {
        panic!("it has arrived")
    };
    for word in 0..WORDS {
        server = match server.recv() {
            Ok(timed::Talking::Word(next)) => next,
            other => panic!("{word}: {other:?}"),
        };
    }
    let Ok(timed::Talking::Done(server)) = server.recv() else {
        panic!("it has arrived")
    };
    assert!(matches!(server.recv(), Ok(timed::Choose::Bye)));
}
