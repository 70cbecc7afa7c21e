//! A withdrawal and its answer over TLS, with customer and bank on two threads that block.

use super::OURS;
use super::blocking::{answer, ours, withdraw};
use crate::credentials::{HOST, credentials};
use crate::harness::{Bar, Case, Clock, Family, turns, two};
use crate::machine::Cost;
use crate::sessions::{OPEN, open_with_tls};
use rustls::{ClientConnection, ServerConnection, StreamOwned};
use std::net::{TcpListener, TcpStream};
use std::sync::Arc;

const LIMIT: &str = "write and read of rustls";

/// The limit is the same bytes through the same library.
pub fn family() -> Family {
    Family {
        name: "withdrawal, TLS",
        unit: "withdrawal",
        cases: vec![
            Case::new(LIMIT, raw),
            Case::new(OURS, |count| ours(count, open_with_tls())),
        ],
        bars: vec![Bar(LIMIT, 1.15)],
        clock: Clock::Wall,
    }
}

fn raw(count: u64) -> Cost {
    let listener = TcpListener::bind((HOST, 0)).expect("a port is free");
    let address = listener.local_addr().expect("it is bound");
    let left = TcpStream::connect(address).expect(OPEN);
    let (right, _) = listener.accept().expect(OPEN);
    for side in [&left, &right] {
        side.set_nodelay(true).expect("this is TCP");
    }
    let host = HOST.try_into().expect("it is an address");
    let client = ClientConnection::new(Arc::clone(&credentials().client), host);
    let server = ServerConnection::new(Arc::clone(&credentials().server));
    let left = StreamOwned::new(client.expect("the host has a name"), left);
    let right = StreamOwned::new(server.expect("the configuration is right"), right);
    let customer = move || turns(left, count, withdraw);
    two(customer, move || answer(right))
}
