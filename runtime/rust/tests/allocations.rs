//! One allocation per session, none per message.
#![cfg(not(loom))]

extern crate duologue_runtime as duologue;

#[path = "sessions/golden.rs"]
mod golden;

use std::alloc::{GlobalAlloc, Layout, System};
use std::cell::Cell;

use golden::{stream, type_switch};

struct Counting;

thread_local! {
    static ALLOCATIONS: Cell<usize> = const { Cell::new(0) };
    static LIVE: Cell<isize> = const { Cell::new(0) };
}

// SAFETY: passes everything on to the system's allocator.
unsafe impl GlobalAlloc for Counting {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        ALLOCATIONS.set(ALLOCATIONS.get() + 1);
        LIVE.set(LIVE.get() + 1);
        // SAFETY: by the caller.
        unsafe { System.alloc(layout) }
    }

    unsafe fn dealloc(&self, pointer: *mut u8, layout: Layout) {
        LIVE.set(LIVE.get() - 1);
        // SAFETY: by the caller.
        unsafe { System.dealloc(pointer, layout) }
    }
}

#[global_allocator]
static COUNTING: Counting = Counting;

/// How many allocations the work makes; asserts that it keeps none.
fn allocations(work: impl FnOnce()) -> usize {
    let (before, live) = (ALLOCATIONS.get(), LIVE.get());
    work();
    assert_eq!(LIVE.get(), live, "memory was kept");
    ALLOCATIONS.get() - before
}

#[test]
fn an_alternating_session_allocates_once() {
    let made = allocations(|| {
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
    });
    assert_eq!(made, 1);
}

#[test]
fn a_stream_allocates_once() {
    let made = allocations(|| {
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
    });
    assert_eq!(made, 1);
}

#[test]
fn a_session_that_is_dropped_gives_its_memory_back() {
    for (client_first, sent) in [(false, 0), (true, 0), (false, 3), (true, 3)] {
        let made = allocations(|| {
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
        // Destroying unread messages needs a list.
        assert_eq!(made, if sent == 0 { 1 } else { 2 });
    }
}
