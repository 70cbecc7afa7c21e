//! Blocking a thread until an endpoint is ready. How it waits before it sleeps is decided in `backoff`.

use std::time::Instant;

use crate::backoff::BeforeSleep;
use crate::pipe::{Found, Pipe};
use crate::processor;
use crate::relook::{self, Pause};
use crate::sync::current;
use crate::wait::Waiter;
use crate::watched::{Armed, Watched};

/// Waits until the watched endpoint is ready, or until the deadline. Returns whether it is ready.
pub(crate) fn until(watched: Watched<'_>, deadline: Option<Instant>) -> bool {
    let find = || watched.is_ready().then_some(());
    find().is_some() || poll(watched, find).is_some() || sleep(watched, deadline)
}

/// Waits for the next message, and returns the word that has it; `None` if there will be none.
///
/// Like [`until`], but what is found does not have to be read once more: the peer is waiting for what this side does
/// with it.
#[cold]
#[inline(never)]
pub(crate) fn for_message(pipe: Pipe) -> Option<u64> {
    let layout = pipe.layout();
    let find = || match pipe.find_in(layout) {
        Found::Nothing(_) if !pipe.forgets() || !pipe.peer_may_be_gone() => None,
        Found::Nothing(_) => match pipe.find() {
            Found::Nothing(_) => None,
            found @ (Found::Message(_) | Found::Closed) => Some(found),
        },
        found @ (Found::Message(_) | Found::Closed) => Some(found),
    };
    let watched = Watched::for_message(&pipe);
    loop {
        match find().or_else(|| poll(watched, find)) {
            Some(Found::Message(word)) => return Some(word),
            Some(_) => return None,
            None => sleep(watched, None),
        };
    }
}

/// Sleeps until the watched endpoint is ready, or until the deadline. Returns whether it is ready.
fn sleep(watched: Watched<'_>, deadline: Option<Instant>) -> bool {
    let mut pause = match watched.arm(Waiter::Thread(current())) {
        Armed::No => return true,
        Armed::Surely => None,
        Armed::Perhaps => Some(Pause::default()),
    };
    while !watched.is_ready() {
        if !relook::sleep(deadline, &mut pause) {
            drop(watched.disarm());
            return watched.is_ready();
        }
    }
    true
}

/// Spins and then yields for a while, until something is found.
#[inline]
fn poll<T>(watched: Watched<'_>, find: impl Fn() -> Option<T>) -> Option<T> {
    let peer = watched.processor_of_peer();
    let mut before = if peer == 0 || peer != processor::stamp() {
        BeforeSleep::new()
    } else {
        BeforeSleep::without_spinning()
    };
    while before.pass(1) {
        let found = find();
        if found.is_some() {
            return found;
        }
    }
    None
}
