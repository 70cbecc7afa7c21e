//! Time limits of states, `#[within(...)]`, over sockets. They are not part of the fingerprint, so a peer whose version has none
//! may take longer than the other version waits.

use conversations::limits::timed::visit as timed;
use conversations::limits::untimed::visit as free;
use conversations::observing::{Event, Told, observer};
use conversations::sockets::{accepted, listener, pair};
use conversations::{block_on, why};
use duologue::{TryRecvError, Why};
use std::time::Duration;

const OPEN: &str = "the session is open";

/// Why the session ended.
fn end(told: &Told) -> Why {
    loop {
        if let Event::Ended(_, end) = told.next() {
            return end.why;
        }
    }
}

/// A session in which the server waits for a message that has to come quickly. The client has no time limits.
fn hurried(
    (server, client): (timed::server::Choose, free::client::Choose),
) -> (timed::server::Quick, free::client::Quick) {
    let client = client.hurry().expect(OPEN);
    let Ok(timed::Choose::Hurry(server)) = server.recv() else {
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
        let (server, client) = hurried(pair("within-late"));
        assert_eq!(way(server), Why::Late);
        assert_eq!(too_late(client), Why::Late);
    }
}

/// Nobody waits: the session ends all the same.
#[test]
fn a_peer_is_late_for_a_program_that_does_nothing() {
    let (mut listener, address) = listener("within-idle");
    let (observing, told) = observer();
    listener.observer(observing);
    let (server, client) = hurried(accepted(&mut listener, &address));
    assert_eq!(end(&told), Why::Late);
    assert_eq!(why(server.recv()), Why::Late);
    assert_eq!(too_late(client), Why::Late);
}
