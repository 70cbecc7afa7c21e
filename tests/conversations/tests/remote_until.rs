//! Time limits of a side (`Endpoint::within`) over sockets, where they also end what a thread waits for when it sends.

use conversations::protocols::acme::File;
use conversations::protocols::acme::files::Mode;
use conversations::protocols::acme::files::file_server::{self, Idle};
use conversations::protocols::numbers::{self, Stream};
use conversations::sockets::over_sockets;
use conversations::{block_on, why};
use duologue::{Closed, Endpoint, Why};
use duologue_net::{Connector, Open};
use std::time::{Duration, Instant};

/// A limit that passes during a test.
const SHORT: Duration = Duration::from_millis(100);

fn pair<S: Open, C: Open>() -> (S, C) {
    over_sockets(&Connector::new())
}

type Numbers = (numbers::server::Stream, numbers::client::Stream);
type Files = (file_server::server::Idle, file_server::client::Idle);

fn file() -> File {
    File {
        name: "/large".to_owned(),
        size: 1,
        owner: None,
        checksum: Vec::new(),
    }
}

#[test]
fn a_receiver_waits_no_longer_and_the_peer_learns_of_it() -> Result<(), Closed> {
    let (server, client): Files = pair();
    let began = Instant::now();
    let waiting = client.within(SHORT).open("/".to_owned(), Mode::Read)?;
    assert_eq!(why(waiting.recv()), Why::Late);
    assert!(began.elapsed() >= SHORT);
    let Idle::Open(_, _, answer) = server.recv()? else {
        panic!("it was sent")
    };
    let answered = answer.opened(file()).map_err(Closed::from);
    let closed = answered.and_then(|reading| reading.recv());
    assert_eq!(why(closed), Why::Left);
    Ok(())
}

#[test]
fn a_task_waits_no_longer() -> Result<(), Closed> {
    let (server, client): Files = pair();
    let began = Instant::now();
    let closed = block_on(server.within(SHORT).recv_async());
    assert_eq!(why(closed), Why::Late);
    assert!(began.elapsed() >= SHORT);
    let opened = client.open("/".to_owned(), Mode::Read);
    let closed = opened
        .map_err(Closed::from)
        .and_then(|waiting| waiting.recv());
    assert_eq!(why(closed), Why::Left);
    Ok(())
}

/// Reads what has arrived until the session is closed, and returns how many numbers that are, and why it was closed.
fn rest(mut server: numbers::server::Stream) -> (u64, Why) {
    let mut count = 0;
    loop {
        match server.recv() {
            Ok(Stream::Send(number, next)) => {
                assert_eq!(number, count);
                count += 1;
                server = next;
            }
            Err(closed) => return (count, closed.why()),
        }
    }
}

/// A thread that sends more than a peer that reads nothing takes gets its payload back at the limit, and does not wait for the
/// peer when its session ends. What it has sent arrives.
#[test]
fn a_sender_is_late_if_its_peer_reads_nothing() {
    let (server, client): Numbers = pair();
    let began = Instant::now();
    let mut client = client.within(SHORT);
    let mut sent = 0;
    let error = loop {
        client = match client.send(sent) {
            Ok(next) => next,
            Err(error) => break error,
        };
        sent += 1;
    };
    assert_eq!(error.closed().why(), Why::Late);
    assert_eq!(error.into_payload(), sent);
    assert!(began.elapsed() >= SHORT);
    assert_eq!(rest(server), (sent, Why::Left));
}
