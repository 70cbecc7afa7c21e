//! Blocks of ended sessions come back to the threads that begin sessions. This is a program of its own, because the
//! blocks that threads leave for each other would change what other tests count.
#![cfg(not(duologue_loom))]

extern crate duologue_runtime as duologue;

#[path = "sessions/golden.rs"]
mod golden;

use std::alloc::{GlobalAlloc, Layout, System};
use std::sync::atomic::{AtomicUsize, Ordering::Relaxed};
use std::sync::{Mutex, PoisonError};
use std::thread;

use duologue::Capacity;
use golden::{stream, type_switch};

/// Counts the blocks of sessions, which are those that are aligned to a cache line.
struct Counting;

static BLOCKS: AtomicUsize = AtomicUsize::new(0);

// SAFETY: passes everything on to the system's allocator.
unsafe impl GlobalAlloc for Counting {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        BLOCKS.fetch_add(usize::from(layout.align() >= 64), Relaxed);
        // SAFETY: by the caller.
        unsafe { System.alloc(layout) }
    }

    unsafe fn dealloc(&self, pointer: *mut u8, layout: Layout) {
        // SAFETY: by the caller.
        unsafe { System.dealloc(pointer, layout) }
    }
}

#[global_allocator]
static COUNTING: Counting = Counting;

/// The tests count what all threads do, so they take turns.
static TURN: Mutex<()> = Mutex::new(());

/// How many blocks are allocated for this many sessions, one at a time, which one thread begins and another one ends.
/// The endpoints are sent through sessions, which never grow, because the thread sanitizer sees more of these than of the
/// standard library's channels.
fn blocks<S, C: Send + 'static>(sessions: usize, init: fn() -> (S, C)) -> usize {
    let (mut take, mut give) = stream::init_with::<C>(Capacity::Bounded(2));
    let (mut done, mut tell) = stream::init_with::<()>(Capacity::Bounded(2));
    let ending = thread::spawn(move || {
        while let Ok(stream::Stream::Send(client, next)) = take.recv() {
            drop(client);
            tell = tell.send(()).expect("it waits for that");
            take = next;
        }
    });
    let before = BLOCKS.load(Relaxed);
    for _ in 0..sessions {
        let (server, client) = init();
        drop(server);
        give = give.send(client).expect("the other thread takes all");
        let ((), next) = done.recv().expect("a reply").sent();
        done = next;
    }
    let made = BLOCKS.load(Relaxed) - before;
    give.stop().expect("the other thread waits for more");
    ending.join().expect("no panic");
    made
}

#[test]
fn blocks_come_back_from_a_thread_that_only_ends_sessions() {
    let _turn = TURN.lock().unwrap_or_else(PoisonError::into_inner);
    let small = blocks(1_000, type_switch::init);
    let large = blocks(1_000, || stream::init_with::<u8>(Capacity::Bounded(7_000)));
    if cfg!(feature = "pool") {
        assert!(small < 50 && large < 20, "{small} and {large}");
    } else {
        assert_eq!((small, large), (1_000, 1_000));
    }
}

/// No block is in use twice: every session carries what its own sender wrote.
#[test]
fn many_threads_leave_blocks_to_each_other() {
    const SESSIONS: u64 = if cfg!(debug_assertions) {
        3_000
    } else {
        20_000
    };
    let _turn = TURN.lock().unwrap_or_else(PoisonError::into_inner);
    let threads = (0..3).flat_map(|thread| {
        let (mut take, mut give) = stream::init::<stream::server::Stream<(u64, u64)>>();
        let beginning = thread::spawn(move || {
            for number in 0..SESSIONS {
                let (server, client) = stream::init::<(u64, u64)>();
                give = give.send(server).expect("the other thread takes all");
                let client = client.send((thread, number)).expect("it is there");
                client.stop().expect("it is there");
            }
        });
        let ending = thread::spawn(move || {
            for expected in 0..SESSIONS {
                let (server, next) = take.recv().expect("as many as are begun").sent();
                take = next;
                let (got, server) = server.recv().expect("a message").sent();
                assert_eq!(got, (thread, expected));
                assert!(matches!(server.recv(), Ok(stream::Stream::Stop)));
            }
        });
        [beginning, ending]
    });
    for thread in threads.collect::<Vec<_>>() {
        thread.join().expect("no panic");
    }
}
