//! Sessions over sockets: how they end. `tests/suite/remote` has every case of `tests/run` over them.

use conversations::protocols::bank::{Login, client, server};
use conversations::sockets::{HELLO, log_in, pair, unhex};
use conversations::why;
use duologue::Why;
use duologue_net::Listener;
use std::io::{Read, Write};
use std::net::TcpStream;

#[test]
fn a_side_that_is_dropped_has_left() {
    let (server, client): (server::Login, client::Login) = pair("left");
    drop(server);
    assert_eq!(why(log_in(client)), Why::Left);
}

/// A connection that is reset, because the client is gone and has not read everything.
#[test]
fn a_session_that_is_reset_is_lost() {
    let mut listener = Listener::bind("tcp://127.0.0.1:0").expect("a port is free");
    let address = listener.address().to_string();
    let address = address.strip_prefix("tcp://").expect("it is TCP");
    let mut raw = TcpStream::connect(address).expect("it listens");
    raw.write_all(&unhex(HELLO)).expect("it is read");
    let server: server::Login = listener.accept().expect("the hello is whole");
    raw.read_exact(&mut [0; 38]).expect("it is accepted");
    // A login.
    raw.write_all(b"\x01\x03\x01n\x00").expect("it is read");
    let Ok(Login::Login { next: answer, .. }) = server.recv() else {
        panic!("it arrives")
    };
    let account = answer.ok().expect("it is open");
    raw.peek(&mut [0]).expect("the login is answered");
    drop(raw);
    let closed = account.recv().map(drop).expect_err("it is lost");
    assert_eq!(closed.why(), Why::Lost);
    let text = "the connection to the peer was lost in state `bank.connected`";
    assert_eq!(closed.to_string(), text);
}

/// The program of `docs/targets/rust-sockets.md`.
#[test]
fn the_documented_program_runs() {
    let run = std::process::Command::new(env!("CARGO_BIN_EXE_over_sockets")).output();
    let run = run.expect("it can be started");
    assert!(run.status.success(), "{run:?}");
    assert!(run.stderr.is_empty(), "{run:?}");
}
