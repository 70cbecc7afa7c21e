//! Sessions over sockets with peers that read slowly, or not at all.

use conversations::protocols::acme::files::file_server::{self, Piece, Reading};
use conversations::protocols::numbers::{self, Stream};
use conversations::sockets::{opened, over, over_sockets};
use conversations::{LONG, why};
use duologue::{Closed, PortSet, Select, TrySendError, Why};
use duologue_net::{Connector, Socket};
use std::os::unix::net::UnixStream;
use std::sync::mpsc;
use std::thread;
use std::time::Duration;

/// More than a connection and the library keep for a peer that does not read.
const MANY: u64 = 200_000;

/// Both endpoints of a session over a pair of sockets.
fn pair() -> (numbers::server::Stream, numbers::client::Stream) {
    over_sockets(&Connector::new())
}

/// Reads a stream to its end and counts the messages, from a certain time on.
fn reads_late(
    mut server: numbers::server::Stream,
    begin: mpsc::Receiver<()>,
) -> thread::JoinHandle<(u64, Why)> {
    thread::spawn(move || {
        begin
            .recv_timeout(LONG)
            .expect("the sender's thread goes on");
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
    })
}

/// The executor has one thread, which tells the peer to begin: whatever else it does, it gets there. The sender may be shared.
#[tokio::test(flavor = "current_thread")]
async fn a_task_does_not_hold_its_thread_up_when_it_sends() {
    for is_shared in [false, true] {
        let (server, mut client) = pair();
        let (say, begin) = mpsc::channel();
        let reading = reads_late(server, begin);
        let sending = tokio::spawn(async move {
            if is_shared {
                let shared = numbers::client::SharedStream::from(client);
                for number in 0..MANY {
                    shared.send_async(number).await?;
                }
            } else {
                for number in 0..MANY {
                    client = client.send_async(number).await?;
                }
            }
            Ok::<(), Closed>(())
        });
        tokio::time::sleep(Duration::from_millis(50)).await;
        assert!(!sending.is_finished(), "nobody reads");
        say.send(()).expect("it waits");
        sending.await.expect("no panic").expect("it is open");
        assert_eq!(reading.join().expect("no panic"), (MANY, Why::Left));
    }
}

/// A last message, and leaving, do not wait in a task. What was sent arrives nevertheless.
#[tokio::test(flavor = "current_thread")]
async fn a_task_ends_its_session_at_once() {
    let (server, mut client) = pair();
    let (say, begin) = mpsc::channel();
    let reading = reads_late(server, begin);
    let mut count = 0;
    let client = loop {
        match client.try_send(count) {
            Ok(next) => client = next,
            Err(TrySendError::Full((client, payload))) => {
                assert_eq!(payload, count);
                break client;
            }
            Err(TrySendError::Closed(error)) => panic!("{error}"),
        }
        count += 1;
    };
    drop(client);
    say.send(()).expect("it waits");
    assert_eq!(reading.join().expect("no panic"), (count, Why::Left));
}

/// More than a connection keeps for a peer that does not read.
const LARGE: usize = 1_000_000;

/// A client that has opened a file, and asks for all of it.
fn asks(
    connector: &Connector,
) -> Result<(file_server::server::Reading, file_server::client::Piece), Closed> {
    let (server, client) = opened(over_sockets(connector))?;
    Ok((server, client.read(0, None)?))
}

/// A set serves all of its peers before one of them reads.
#[test]
fn a_set_is_not_held_up_by_peers_that_do_not_read() -> Result<(), Closed> {
    let (mut set, mut clients) = (PortSet::new(), Vec::new());
    for number in 0..3 {
        let (server, client) = asks(&Connector::new())?;
        set.insert(server, number);
        clients.push(client);
    }
    let mut served = Vec::new();
    while served.len() < clients.len() {
        let Some((
            number,
            Ok(Reading::Read {
                at: 0,
                limit: None,
                next: answer,
            }),
        )) = set.recv()
        else {
            panic!("all of them ask")
        };
        served.push(number);
        set.insert(answer.data(vec![7; LARGE])?, number);
    }
    served.sort_unstable();
    assert_eq!(served, [0, 1, 2]);
    for client in clients {
        let Piece::Data(data, reading) = client.recv()? else {
            panic!("there are bytes")
        };
        assert_eq!(data, vec![7; LARGE]);
        drop(reading);
    }
    Ok(())
}

/// A thread waits for a peer that sends signs of life and reads nothing. Others are served nevertheless.
#[test]
fn nobody_else_waits_for_a_peer_that_only_says_that_it_is_there() -> Result<(), Closed> {
    let (server, client) = asks(&Connector::new().heartbeat(1))?;
    let (mut other, say) = pair();
    let mut set = PortSet::new();
    set.insert(server, ());
    let Some((
        (),
        Ok(Reading::Read {
            at: 0,
            limit: None,
            next: answer,
        }),
    )) = set.recv()
    else {
        panic!("it asks")
    };
    let mut server = answer.data(vec![7; LARGE])?;
    // Both are watched until the second one is ready, and the first one remains so.
    let saying = thread::spawn(move || {
        thread::sleep(Duration::from_millis(50));
        say.send(1)
    });
    let mut select = Select::new();
    let _first = select.add(&mut server);
    let second = select.add(&mut other);
    assert_eq!(select.ready(), Ok(second));
    drop(select);
    let Stream::Send(1, other) = other.recv()? else {
        panic!("it was sent")
    };
    let say = saying.join().expect("no panic")?;
    let waiting = thread::spawn(move || server.recv().map(drop).map_err(|closed| closed.why()));
    // Several signs of life arrive while that thread writes.
    thread::sleep(Duration::from_millis(1_500));
    let (done, is_done) = mpsc::channel();
    let serving = thread::spawn(move || {
        let mut set = PortSet::new();
        set.insert(other, ());
        let said = set.recv();
        done.send(matches!(said, Some(((), Ok(Stream::Send(2, _))))))
    });
    thread::sleep(Duration::from_millis(50));
    let say = say.send(2)?;
    assert_eq!(is_done.recv_timeout(LONG), Ok(true));
    assert!(!waiting.is_finished(), "the peer has read nothing");
    let Piece::Data(data, reading) = client.recv()? else {
        panic!("there are bytes")
    };
    assert_eq!(data.len(), LARGE);
    drop((reading, say));
    assert_eq!(waiting.join().expect("no panic"), Err(Why::Left));
    serving.join().expect("no panic").expect("it is awaited");
    Ok(())
}

/// The peer has left, but another process still has its end of the connection, and reads nothing.
#[test]
fn a_sender_learns_that_its_peer_has_left_while_the_connection_is_full() {
    let (one, other) = UnixStream::pair().expect("there are descriptors");
    let kept = other.try_clone().expect("there are descriptors");
    let [one, other] = [one, other].map(|end| Socket::of(end.into()));
    let (server, client): (numbers::server::Stream, numbers::client::Stream) =
        over(&Connector::new(), one, other);
    drop(server);
    // More than the connection can hold.
    let sent = (0..MANY).try_fold(client, |client, number| client.send(number));
    assert_eq!(why(sent), Why::Left);
    drop(kept);
}
