//! How a session ends before its protocol does.

use std::panic::{catch_unwind, AssertUnwindSafe};
use std::thread;
use std::time::Duration;

use duologue::{Capacity, Closed, Endpoint};

use crate::golden::{bank, greeting, stream};

#[test]
fn a_payload_comes_back_when_the_peer_is_gone() {
    let (server, client) = bank::init();
    drop(server);
    let error = client
        .login("holk".into(), "1234".into())
        .expect_err("nobody is there");
    assert_eq!(error.closed().state(), "login");
    assert_eq!(format!("{error:?}"), error.to_string());
    assert_eq!(error.into_payload(), ("holk".to_owned(), "1234".to_owned()));
}

#[test]
fn a_waiting_receiver_learns_that_the_peer_left() {
    let (server, client) = bank::init();
    let waiting = thread::spawn(move || server.recv().map(drop));
    thread::sleep(Duration::from_millis(20));
    drop(client);
    assert!(waiting.join().expect("no panic").is_err());
}

#[test]
fn a_sender_that_waits_for_room_learns_that_the_peer_left() {
    for capacity in [
        Capacity::Unbounded,
        Capacity::Bounded(1),
        Capacity::Bounded(2),
    ] {
        let (server, mut client) = stream::init_with::<Box<u32>>(capacity);
        let sender = thread::spawn(move || loop {
            client = match client.send(Box::new(1)) {
                Ok(next) => next,
                Err(error) => return *error.into_payload(),
            }
        });
        thread::sleep(Duration::from_millis(20));
        drop(server);
        assert_eq!(sender.join().expect("no panic"), 1);
    }
}

#[test]
fn a_sender_may_leave_while_the_ring_is_full() -> Result<(), Closed> {
    for capacity in [
        Capacity::Unbounded,
        Capacity::Bounded(1),
        Capacity::Bounded(2),
        Capacity::Bounded(3),
    ] {
        let (mut server, mut client) = stream::init_with::<u32>(capacity);
        let mut sent = 0;
        while client.is_ready() {
            client = client.send(sent)?;
            sent += 1;
        }
        drop(client);
        let mut read = 0;
        let closed = loop {
            match server.recv() {
                Ok(stream::Stream::Send(number, next)) => {
                    assert_eq!(number, read);
                    read += 1;
                    server = next;
                }
                Ok(stream::Stream::Stop) => panic!("nobody sent stop"),
                Err(closed) => break closed,
            }
        };
        assert_eq!((read, closed.state()), (sent, "Stream"));
    }
    Ok(())
}

#[test]
fn either_side_may_leave_at_any_fill_of_the_ring() -> Result<(), Closed> {
    for (capacity, sent) in [(3, 12), (7, 40)].map(|(slots, sent)| (Capacity::Bounded(slots), sent))
    {
        for read in 0..=sent {
            let (mut server, mut client) = stream::init_with::<usize>(capacity);
            let mut reads = 0;
            for number in 0..sent {
                while reads < read && server.is_ready() && !client.is_ready() {
                    let stream::Stream::Send(_, next) = server.recv()? else {
                        panic!("a number")
                    };
                    server = next;
                    reads += 1;
                }
                if !client.is_ready() {
                    break;
                }
                client = client.send(number)?;
            }
            if read % 2 == 0 {
                drop(client);
                drop(server);
            } else {
                drop(server);
                assert!(client.send(0).is_err());
            }
        }
    }
    Ok(())
}

#[test]
fn unwinding_closes_like_dropping() {
    let (server, client) = bank::init();
    let peer = thread::spawn(move || {
        let client = client.login("a".into(), "b".into())?;
        client.recv().map(drop)
    });
    let panicked = catch_unwind(AssertUnwindSafe(|| {
        let Ok(bank::Login::Login { .. }) = server.recv() else {
            return;
        };
        panic!("while holding an endpoint");
    }));
    assert!(panicked.is_err());
    assert_eq!(
        peer.join().expect("no panic").expect_err("closed").state(),
        "login_response"
    );
}

#[test]
fn a_receiver_that_leaves_passes_over_a_turn() -> Result<(), Closed> {
    let (server, client) = greeting::init();
    let reply = server.welcome("a".into())?.advice("b".into())?;
    drop(client);
    assert_eq!(reply.recv().map(drop).expect_err("closed").state(), "reply");
    Ok(())
}

#[test]
fn a_destructor_may_wait_for_its_own_peer_to_notice() -> Result<(), Closed> {
    /// Closes its session and waits for the thread at the other end, as a pool's handle does.
    struct Worker(
        Option<bank::client::LoginResponse>,
        Option<thread::JoinHandle<()>>,
    );
    impl Drop for Worker {
        fn drop(&mut self) {
            drop(self.0.take());
            if let Some(thread) = self.1.take() {
                assert!(thread.join().is_ok());
            }
        }
    }
    let (server, client) = bank::init();
    let client = client.login("a".into(), "b".into())?;
    let bank::Login::Login { next: server, .. } = server.recv()?;
    let accepted = server.ok()?;
    let worker = Worker(
        Some(client),
        Some(thread::spawn(move || assert!(accepted.recv().is_err()))),
    );
    let (outer, sender) = stream::init::<Worker>();
    drop(sender.send(worker)?);
    drop(outer);
    Ok(())
}
