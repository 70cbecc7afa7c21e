//! Blocking a thread until an endpoint is ready. How it waits before it sleeps is decided in `floor::waiting`.

use std::time::Instant;

use super::arming::Wait;
use crate::floor::deadline::{self, earlier};
use crate::floor::sync::current;
use crate::floor::waiting::{BeforeSleep, Waiter};
use crate::ring::pipe::{Found, Pipe};
use crate::ring::words::LineWord;

/// Whether the awaited endpoint is ready. If the peer is in another process, also checks what has arrived from there.
pub(crate) fn is_ready(wait: Wait<'_>) -> bool {
    let is_ready = || wait.is_ready();
    let driven = || Some(wait.driver()?.wait(&is_ready, Some(Instant::now())));
    is_ready() || driven().is_some_and(|_| is_ready())
}

/// Waits until the awaited endpoint is ready, or until the deadline. Returns whether it is ready, as it is from its side's
/// time limit on.
pub(crate) fn until(wait: Wait<'_>, deadline: Option<Instant>) -> bool {
    let find = || wait.is_ready().then_some(());
    if find().is_some() {
        return true;
    }
    let deadline = earlier(wait.limit(), deadline);
    if let Some(driver) = wait.driver() {
        return driver.wait(&|| wait.is_ready(), deadline) || wait.is_ready();
    }
    poll(wait, find).is_some() || sleep(wait, deadline)
}

/// Waits for the next message, and returns the word that has it; `None` if there will be none, or this side is late.
///
/// Like [`until`], but what is found does not have to be read again: the peer is waiting for what this side does
/// with it.
#[cold]
#[inline(never)]
pub(crate) fn for_message(pipe: Pipe) -> Option<LineWord> {
    let layout = pipe.layout();
    let find = || match pipe.find_in(layout) {
        Found::Nothing(_) if !layout.forgets() || !pipe.peer_may_be_gone() => None,
        Found::Nothing(_) => match pipe.find() {
            Found::Nothing(_) => None,
            found @ (Found::Message(_) | Found::Closed) => Some(found),
        },
        found @ (Found::Message(_) | Found::Closed) => Some(found),
    };
    let wait = Wait::for_message(&pipe);
    let is_driven = wait.driver().is_some();
    loop {
        let found = find();
        match found.or_else(|| if is_driven { None } else { poll(wait, find) }) {
            Some(Found::Message(word)) => return Some(word),
            Some(_) => return None,
            // Only what has arrived by now.
            None if pipe.is_late() => {
                return match pipe.find_driven() {
                    Found::Message(word) => Some(word),
                    Found::Nothing(_) | Found::Closed => None,
                };
            }
            None => wait_for_driver(wait) || sleep(wait, wait.limit()),
        };
    }
}

/// If the session has a driver, waits with it until the awaited endpoint is ready, and returns true.
fn wait_for_driver(wait: Wait<'_>) -> bool {
    let driver = wait.driver();
    driver.is_some_and(|driver| driver.wait(&|| wait.is_ready(), wait.limit()))
}

/// Sleeps until the awaited endpoint is ready, or until the deadline. Returns whether it is ready.
fn sleep(wait: Wait<'_>, deadline: Option<Instant>) -> bool {
    if !wait.arm(Waiter::Thread(current())) {
        return true;
    }
    while !wait.is_ready() {
        if !deadline::sleep(deadline) {
            drop(wait.disarm());
            return wait.is_ready();
        }
    }
    true
}

/// Spins and then yields for a while, until something is found.
#[inline]
fn poll<T>(wait: Wait<'_>, find: impl Fn() -> Option<T>) -> Option<T> {
    let mut before = if wait.peer_cpu().is_current() {
        BeforeSleep::without_spinning()
    } else {
        BeforeSleep::new()
    };
    while before.pass(1) {
        let found = find();
        if found.is_some() {
            return found;
        }
    }
    None
}
