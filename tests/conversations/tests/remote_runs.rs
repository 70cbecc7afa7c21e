//! Long runs over sockets: how they turn, at every position of the ring, and a sender that pauses inside one.

use conversations::protocols::bank::{Connected, client, server};
use conversations::runs::turn;
use conversations::sockets::{accepted, listener, logged_in};
use conversations::{LONG, why};
use duologue::{Closed, Why};
use duologue_net::Listener;
use std::thread;
use std::time::Duration;

/// More messages than a short lap of the ring has: 64 lines of 7.
const SHORT_LAP: u32 = 450;

/// A session after the login.
fn connected(listener: &mut Listener, address: &str) -> (server::Connected, client::Connected) {
    logged_in(accepted(listener, address))
}

#[test]
fn a_run_of_any_length_turns() -> Result<(), Closed> {
    let (mut listener, address) = listener("turns");
    let ends = connected(&mut listener, &address);
    turn(ends, (0..2 * SHORT_LAP + 10).chain([7_000, 7_500, 20_000]))
}

#[test]
fn each_message_arrives_however_long_the_sender_pauses() {
    let (mut listener, address) = listener("pauses");
    let (mut server, mut client) = connected(&mut listener, &address);
    for number in 0..300_u32 {
        client = client.deposit(f64::from(number)).expect("it is open");
        server = match server.recv_timeout(LONG) {
            Ok(Connected::Deposit(money, next)) if money == f64::from(number) => next,
            other => panic!("{number}: {other:?}"),
        };
        // Some times shorter and some times longer than what was collected may wait.
        thread::sleep(Duration::from_micros(u64::from(number % 7) * 900));
    }
    drop(client);
    assert_eq!(why(server.recv()), Why::Left);
}
