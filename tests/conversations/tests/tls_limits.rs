//! Limits of protocols over TLS: of size, and of time.

#[path = "limited/mod.rs"]
mod limited;

use conversations::limits::timed::visit as timed;
use conversations::limits::untimed::visit as free;
use duologue::Why;
use duologue_net::Open;

/// A side says why it ends a session.
fn told(why: Why) -> Why {
    why
}

fn pair<S: Open + Send, C: Open + Send>(_name: &str) -> (S, C) {
    crate::tls::pair()
}

#[test]
fn a_peer_that_does_not_send_in_time_is_late() {
    let (server, client): (timed::server::Choose, free::client::Choose) = pair("late");
    let client = client.hurry().expect("it is open");
    let Ok(timed::Choose::Hurry(server)) = server.recv() else {
        panic!("it arrives")
    };
    let closed = server.recv().map(drop).expect_err("nothing comes");
    assert_eq!(closed.why(), Why::Late);
    let sent = client.done().map_err(|error| error.closed());
    let asked = sent.and_then(|client| client.ask_quickly().map_err(|error| error.closed()));
    let closed = asked.and_then(|waiting| waiting.recv().map(drop));
    assert_eq!(closed.expect_err("the server is gone").why(), Why::Late);
}
