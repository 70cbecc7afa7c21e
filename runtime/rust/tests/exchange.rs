//! Blocks of ended sessions come back to the threads that begin sessions. In a program of its own, because what threads leave to each
//! other would change what others count.
#![cfg(not(loom))]

extern crate duologue_runtime as duologue;

#[path = "sessions/golden.rs"]
mod golden;

use std::alloc::{GlobalAlloc, Layout, System};
use std::sync::atomic::{AtomicUsize, Ordering::Relaxed};
use std::sync::{mpsc, Barrier, Mutex, PoisonError};
use std::thread;

use golden::{stream, type_switch};

/// Counts the blocks of sessions, which are those that begin at a cache line.
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

/// How many blocks are allocated for so many sessions, one at a time, which one thread begins and another one ends.
fn blocks<S, C: Send>(sessions: usize, init: fn() -> (S, C)) -> usize {
    let (end, step) = (Mutex::new(None), Barrier::new(2));
    thread::scope(|scope| {
        scope.spawn(|| {
            for _ in 0..sessions {
                step.wait();
                drop(end.lock().expect("no panic").take());
                step.wait();
            }
        });
        let before = BLOCKS.load(Relaxed);
        for _ in 0..sessions {
            let (server, client) = init();
            drop(server);
            *end.lock().expect("no panic") = Some(client);
            step.wait();
            step.wait();
        }
        BLOCKS.load(Relaxed) - before
    })
}

#[test]
fn blocks_come_back_from_a_thread_that_only_ends_sessions() {
    let _turn = TURN.lock().unwrap_or_else(PoisonError::into_inner);
    let small = blocks(1_000, type_switch::init);
    let large = blocks(1_000, stream::init::<u8>);
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
    thread::scope(|scope| {
        for thread in 0..3 {
            let (give, take) = mpsc::sync_channel(64);
            scope.spawn(move || {
                for number in 0..SESSIONS {
                    let (server, client) = stream::init::<(u64, u64)>();
                    give.send(server).expect("the other thread takes all");
                    let client = client.send((thread, number)).expect("it is there");
                    client.stop().expect("it is there");
                }
            });
            scope.spawn(move || {
                for expected in 0..SESSIONS {
                    let server = take.recv().expect("as many as are begun");
                    let Ok(stream::Stream::Send(got, server)) = server.recv() else {
                        panic!("a message")
                    };
                    assert_eq!(got, (thread, expected));
                    assert!(matches!(server.recv(), Ok(stream::Stream::Stop)));
                }
            });
        }
    });
}
