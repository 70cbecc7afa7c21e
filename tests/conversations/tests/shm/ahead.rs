//! Sides that send faster than their peers read.

use conversations::limits::pieces::file::{self, Pieces};
use conversations::regions::pair_in;
use conversations::waiting::spawn_until_asleep;
use conversations::{block_on, why};
use duologue::{Endpoint, Why};
use futures_util::FutureExt;
use std::sync::Arc;
use std::sync::atomic::AtomicUsize;
use std::sync::atomic::Ordering::Relaxed;
use std::thread;
use std::time::{Duration, Instant};

/// Reads to the end. Returns how many pieces there are.
fn pieces(mut server: file::server::Pieces) -> usize {
    let mut count = 0;
    while let Ok(Pieces::Piece(piece, next)) = server.recv() {
        assert_eq!(piece.len(), PIECE);
        count += 1;
        server = next;
    }
    count
}

/// As much as the region has for long messages.
const PIECE: usize = 1 << 16;

/// What a side is ahead of its peer is bounded in bytes, although the ring has hundreds of slots: a task that awaits its endpoint
/// is not ready, and one that does not waits in the end.
#[test]
fn a_task_is_not_far_ahead_of_a_peer_that_does_not_read() {
    const MANY: usize = 200;
    let (server, mut client): (file::server::Pieces, file::client::Pieces) = pair_in(PIECE);
    let mut sent = 0;
    while sent < MANY && client.ready().now_or_never().is_some() {
        client = client.piece(vec![7; PIECE]).expect("it is open");
        sent += 1;
    }
    assert!(sent <= 12, "{sent}");
    let (counted, ahead) = (Arc::new(AtomicUsize::new(0)), sent);
    let sending = {
        let counted = Arc::clone(&counted);
        spawn_until_asleep(move || {
            for _ in ahead..MANY {
                client = client.piece(vec![7; PIECE]).expect("it is open");
                counted.fetch_add(1, Relaxed);
            }
            // It has been woken, or is ready.
            block_on(client.ready());
            client
        })
    };
    let count = counted.load(Relaxed);
    assert!(count <= 60, "{count}");
    let reading = thread::spawn(|| pieces(server));
    drop(sending.join().expect("it does not panic"));
    assert_eq!(reading.join().expect("it does not panic"), MANY);
}

/// A task that awaits its endpoint is woken whenever its peer has read enough.
#[test]
fn a_task_that_is_held_back_is_woken() {
    let (server, mut client): (file::server::Pieces, file::client::Pieces) = pair_in(PIECE);
    let reading = thread::spawn(|| {
        thread::sleep(Duration::from_millis(20));
        pieces(server)
    });
    block_on(async {
        for _ in 0..200 {
            client.ready().await;
            client = client.piece(vec![7; PIECE]).expect("it is open");
        }
        drop(client);
    });
    assert_eq!(reading.join().expect("it does not panic"), 200);
}

/// A thread whose peer reads nothing sends until the time limit of its side, and does not wait for the peer when its session ends.
#[test]
fn a_sender_is_late_if_its_peer_reads_nothing() {
    const LIMIT: Duration = Duration::from_millis(100);
    for by_task in [false, true] {
        let (server, client): (file::server::Pieces, file::client::Pieces) = pair_in(PIECE);
        let began = Instant::now();
        let mut client = client.within(LIMIT);
        let error = block_on(async {
            loop {
                if by_task {
                    client.ready().await;
                }
                client = match client.piece(vec![7; PIECE]) {
                    Ok(next) => next,
                    Err(error) => return error,
                };
            }
        });
        assert_eq!(error.closed().why(), Why::Late);
        assert_eq!(error.into_payload().len(), PIECE);
        assert!(began.elapsed() >= LIMIT);
        // What is in the region is read.
        assert!(pieces(server) > 0);
    }
}

#[test]
fn a_receiver_is_late_if_its_peer_sends_nothing() {
    const LIMIT: Duration = Duration::from_millis(50);
    for by_task in [false, true] {
        let (server, client): (file::server::Pieces, file::client::Pieces) = pair_in(PIECE);
        let server = server.within(LIMIT);
        let received = match by_task {
            false => server.recv(),
            true => block_on(server.recv_async()),
        };
        assert_eq!(why(received), Why::Late);
        let end = Instant::now() + Duration::from_secs(60);
        let mut client = client;
        let closed = loop {
            assert!(Instant::now() < end, "it does not learn of it");
            client = match client.piece(vec![7; 1]) {
                Ok(next) => next,
                Err(error) => break error.closed(),
            };
        };
        assert_eq!(closed.why(), Why::Left);
    }
}
