//! Time limits of states, `#[within(...)]`, over sockets. They are not part of the fingerprint, so a peer whose version has none
//! may take longer than the other version waits.

use conversations::limits::timed::visit as timed;
use conversations::limits::untimed::visit as free;
use conversations::observing::{Event, Told, observer};
use conversations::sockets::{accepted, listener, pair};
use conversations::{LONG, block_on, why};
use duologue::{PortSet, TryRecvError, Why};
use duologue_net::Open;
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
