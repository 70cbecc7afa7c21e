//! How a session ends before its protocol does.

use std::panic::{catch_unwind, AssertUnwindSafe};
use std::thread;

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
    assert_eq!(format!("{error:?}"), "SendError(bank.login)");
    assert_eq!(error.into_payload(), ("holk".to_owned(), "1234".to_owned()));
}

#[test]
fn a_sender_may_leave_while_the_ring_is_full() -> Result<(), Closed> {
    for capacity in [
        Capacity::Unbounded,
        Capacity::Bounded(1),
        Capacity::Bounded(2),
        Capacity::Bounded(3),
        // More than a word has bits.
        Capacity::Bounded(1_000),
    ] {
        let (mut server, mut client) = stream::init_with::<u32>(capacity);
        let mut sent = 0;
        while client.is_ready() {
            client = client.send(sent)?;
            sent += 1;
        }
        drop(client);
        if let Capacity::Bounded(slots) = capacity {
            assert!(sent as usize >= slots, "only {sent} of {slots}");
        }
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
