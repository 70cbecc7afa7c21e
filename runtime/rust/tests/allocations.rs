//! At most one allocation per session, none per message, and nothing is kept after the thread has exited.
#![cfg(not(duologue_loom))]

extern crate duologue_runtime as duologue;

#[path = "sessions/golden.rs"]
mod golden;

use std::alloc::{GlobalAlloc, Layout, System};
use std::any::Any;
use std::cell::{Cell, RefCell};
use std::sync::atomic::{AtomicIsize, Ordering::Relaxed};
use std::thread;

use golden::{stream, type_switch};

struct Counting;

thread_local! {
    static ALLOCATIONS: Cell<usize> = const { Cell::new(0) };
    static LIVE: Cell<isize> = const { Cell::new(0) };
    /// Where this thread counts the blocks of sessions, which are those that are aligned to a cache line.
    static BLOCKS: Cell<Option<&'static AtomicIsize>> = const { Cell::new(None) };
}

fn count(layout: Layout, change: isize) {
    if layout.align() < 64 {
        LIVE.set(LIVE.get() + change);
    } else if let Some(blocks) = BLOCKS.get() {
        blocks.fetch_add(change, Relaxed);
    }
}

// SAFETY: passes everything on to the system's allocator.
unsafe impl GlobalAlloc for Counting {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        ALLOCATIONS.set(ALLOCATIONS.get() + 1);
        count(layout, 1);
        // SAFETY: by the caller.
        unsafe { System.alloc(layout) }
    }

    unsafe fn dealloc(&self, pointer: *mut u8, layout: Layout) {
        count(layout, -1);
        // SAFETY: by the caller.
        unsafe { System.dealloc(pointer, layout) }
    }
}

#[global_allocator]
static COUNTING: Counting = Counting;

/// How many allocations the work makes on a new thread: the first time, and the second time. Asserts that only blocks
/// of sessions are kept, and those only until the thread exits.
fn allocations(work: impl Fn() + Send + Sync) -> [usize; 2] {
    let blocks: &AtomicIsize = Box::leak(Box::default());
    let made = thread::scope(|scope| {
        let working = scope.spawn(|| {
            BLOCKS.set(Some(blocks));
            [(); 2].map(|()| {
                let (before, live) = (ALLOCATIONS.get(), LIVE.get());
                work();
                assert_eq!(LIVE.get(), live, "memory was kept");
                ALLOCATIONS.get() - before
            })
        });
        working.join().expect("no panic")
    });
    assert_eq!(blocks.load(Relaxed), 0, "blocks were kept");
    made
}

/// The first session of a thread also allocates the list of what has to be done when the thread exits.
fn once_and_never_again([first, again]: [usize; 2]) {
    assert!(
        (1..=2).contains(&first) && again == 0,
        "{first} and {again}"
    );
}

#[test]
fn an_alternating_session_allocates_once() {
    once_and_never_again(allocations(|| {
        let (mut server, mut client) = type_switch::init();
        for number in 0..1_000 {
            let waiting = client.get_int().expect("the server is there");
            let Ok(type_switch::Start::GetInt(answer)) = server.recv() else {
                panic!("an int")
            };
            server = answer.thing(number).expect("the client is there");
            let Ok(type_switch::Wait::Thing(_, next)) = waiting.recv() else {
                panic!("a number")
            };
            client = next;
        }
    }));
}

#[test]
fn a_stream_allocates_once() {
    once_and_never_again(allocations(|| {
        let (mut server, mut client) = stream::init::<[u64; 4]>();
        for number in 0..1_000 {
            client = client.send([number; 4]).expect("the server is there");
            let Ok(stream::Stream::Send(_, next)) = server.recv() else {
                panic!("a number")
            };
            server = next;
        }
        client.stop().expect("the server is there");
        assert!(matches!(server.recv(), Ok(stream::Stream::Stop)));
    }));
}

#[test]
fn a_session_that_is_dropped_gives_its_memory_back() {
    for (client_first, sent) in [(false, 0), (true, 0), (false, 3), (true, 3)] {
        let [_, made] = allocations(|| {
            let (server, mut client) = stream::init::<u8>();
            for number in 0..sent {
                client = client.send(number).expect("the server is there");
            }
            if client_first {
                drop(client);
                drop(server);
            } else {
                drop(server);
                drop(client);
            }
        });
        assert_eq!(made, 0);
    }
}

thread_local! {
    /// What is dropped when the thread exits, before or after the lists of its blocks.
    static HELD: RefCell<Vec<Box<dyn Any>>> = const { RefCell::new(Vec::new()) };
}

#[test]
fn sessions_that_end_with_their_thread_give_their_memory_back() {
    for lists_first in [false, true] {
        let blocks: &AtomicIsize = Box::leak(Box::default());
        let ended = thread::spawn(move || {
            BLOCKS.set(Some(blocks));
            if lists_first {
                drop(type_switch::init());
            }
            HELD.with_borrow_mut(|held| held.push(Box::new(type_switch::init())));
            // So few that none are left for other threads.
            let sessions = [(); 4].map(|()| type_switch::init());
            HELD.with_borrow_mut(|held| held.push(Box::new(sessions)));
            drop([(); 4].map(|()| type_switch::init()));
        });
        ended.join().expect("no panic");
        assert_eq!(blocks.load(Relaxed), 0, "blocks were kept");
    }
}
