//! Time limits of a side (`Endpoint::within`) over sockets, where they also end what a thread waits for when it sends.

use conversations::protocols::acme::File;
use conversations::protocols::acme::files::Mode;
use conversations::protocols::acme::files::file_server::{self, Idle, Opening, Reading};
use conversations::protocols::numbers::{self, Stream};
use conversations::sockets::over_sockets;
use conversations::{LONG, block_on, why};
use duologue::{Closed, Endpoint, TryRecvError, Why};
use duologue_net::{Connector, Open};
use std::thread;
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

/// A message that has arrived is received, however late, and nothing else.
#[test]
fn what_arrives_before_the_limit_is_received_after_it() {
    fn receive(server: numbers::server::Stream, way: u32) -> Result<Stream, Closed> {
        match way {
            0 => server.recv(),
            1 => server.try_recv().map_err(|error| match error {
                TryRecvError::Closed(closed) => closed,
                TryRecvError::Empty(_) => panic!("it is late"),
            }),
            2 => block_on(server.recv_async()),
            _ => {
                let mut server = server;
                assert!(server.ready_within(LONG));
                server.recv()
            }
        }
    }
    for way in 0..4 {
        let (server, client): Numbers = pair();
        let server = server.within(SHORT);
        let mut client = client.send(7).expect("it is open");
        client.flush();
        thread::sleep(2 * SHORT);
        let Ok(Stream::Send(7, server)) = receive(server, way) else {
            panic!("it has arrived: {way}")
        };
        assert_eq!(why(receive(server, way)), Why::Late, "{way}");
        drop(client);
    }
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

/// A side disconnects before its limit passes, with more or less left to write. A socket takes some of it.
#[test]
fn what_was_sent_before_the_limit_arrives_after_it() {
    for number in 1..=16 {
        let (server, client): Numbers = pair();
        let began = Instant::now();
        let mut open = Some(client.within(SHORT));
        let mut sent = 0;
        while sent < number * 2048 {
            let Some(client) = open else { break };
            open = client.send(sent).ok();
            sent += u64::from(open.is_some());
        }
        // If something is left, this waits until the limit.
        drop(open);
        thread::sleep(SHORT.saturating_sub(began.elapsed()));
        assert_eq!(rest(server), (sent, Why::Left), "{number}");
    }
}

#[test]
fn a_task_that_sends_is_late_too() {
    let (server, client): Numbers = pair();
    let began = Instant::now();
    let mut client = client.within(SHORT);
    let error = block_on(async {
        loop {
            client = match client.send_async(7).await {
                Ok(next) => next,
                Err(error) => return error,
            };
        }
    });
    assert_eq!(error.closed().why(), Why::Late);
    assert!(began.elapsed() >= SHORT);
    drop(server);
}

#[test]
fn threads_that_share_a_sender_are_late_together() {
    let (server, client): Numbers = pair();
    let began = Instant::now();
    let shared = numbers::client::SharedStream::from(client.within(SHORT));
    thread::scope(|threads| {
        for _ in 0..2 {
            threads.spawn(|| {
                loop {
                    if let Err(error) = shared.send(7) {
                        break assert_eq!(error.closed().why(), Why::Late);
                    }
                }
            });
        }
    });
    assert!(began.elapsed() >= SHORT);
    drop(server);
}

/// A message of a bounded run is kept if the peer does not take it, and what waits next is late.
#[test]
fn a_long_answer_does_not_hold_its_sender_up() -> Result<(), Closed> {
    let (server, client): Files = pair();
    let waiting = client.open("/large".to_owned(), Mode::Read)?;
    let Idle::Open(_, _, answer) = server.recv()? else {
        panic!("it is opened")
    };
    let server = answer.opened(file())?;
    let Opening::Opened(_, client) = waiting.recv()? else {
        panic!("it is there")
    };
    let client = client.read(0, None)?;
    let Reading::Read { next: answer, .. } = server.recv()? else {
        panic!("it is asked for")
    };
    let began = Instant::now();
    let server = answer.within(SHORT).data(vec![7; 1_000_000])?;
    assert_eq!(why(server.recv()), Why::Late);
    assert!(began.elapsed() >= SHORT);
    drop(client);
    Ok(())
}
