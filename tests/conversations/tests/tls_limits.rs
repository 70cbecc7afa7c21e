//! Time limits over TLS, and messages of many records.

use crate::tls::{Raw, pair};
use crate::within::too_late;
use conversations::certificates::Certificates;
use conversations::limits::timed::visit as timed;
use conversations::limits::untimed::visit as free;
use conversations::protocols::bank::{Login, server};
use conversations::sockets::{HELLO, unhex};
use conversations::why;
use duologue::Why;
use std::io::{Read, Write};
use std::sync::mpsc;
use std::thread;

#[test]
fn a_peer_that_does_not_send_in_time_is_late() {
    let (server, client): (timed::server::Choose, free::client::Choose) = pair();
    let client = client.hurry().expect("it is open");
    let Ok(timed::Choose::Hurry(server)) = server.recv() else {
        panic!("it arrives")
    };
    assert_eq!(why(server.recv()), Why::Late);
    assert_eq!(too_late(client), Why::Late);
}

/// A number as the format has it.
fn count(mut number: usize) -> Vec<u8> {
    let mut bytes = Vec::new();
    while number > 127 {
        bytes.push(number as u8 | 128);
        number >>= 7;
    }
    bytes.push(number as u8);
    bytes
}

/// A message of several records has arrived before its receiver reads any of it.
#[test]
fn records_that_pile_up_are_read() {
    let files = &Certificates::new();
    let raw = Raw {
        files,
        has_certificate: true,
        version: &rustls::version::TLS13,
        alpn: &["duologue/1"],
    };
    let (mut listener, address) = crate::tls::listener(files.tls("ca", "server"));
    for size in [10_000, 20_000, 70_000, 500_000] {
        let (sent, is_sent) = mpsc::channel();
        thread::scope(|scope| {
            let raw = scope.spawn(|| {
                let mut stream = raw.connect(&address);
                stream.write_all(&unhex(HELLO))?;
                stream.read_exact(&mut [0; 38])?;
                let name = [count(size), vec![b'x'; size]].concat();
                let payload = [name, count(0)].concat();
                stream.write_all(&[count(1), count(payload.len()), payload].concat())?;
                stream.flush()?;
                sent.send(()).expect("it is awaited");
                stream.read_exact(&mut [0; 1])
            });
            let server: server::Login = listener.accept().expect("it connects");
            is_sent.recv().expect("it is sent");
            let Ok(Login::Login { username, next, .. }) = server.recv() else {
                panic!("{size} bytes arrive")
            };
            assert_eq!(username.len(), size);
            drop(next.ok().expect("it is open"));
            raw.join().expect("no panic").expect("it is answered");
        });
    }
}
