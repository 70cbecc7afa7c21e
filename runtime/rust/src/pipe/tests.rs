//! Positions at which epochs start again, which no conversation reaches in a test's time.

use super::*;
use crate::layout::{Capacity, Slot};
use crate::position::RENEWAL;

/// A session with either policy, at an epoch that no conversation reaches in a test's time.
fn begun(layout: Layout, epoch: u32, swaps: bool) -> (Pipe, Pipe) {
    let (cell, _) = Cell::begin(layout, 0);
    let (first, second) = sides(cell, epoch, swaps);
    (first.sending(true), second.sending(true))
}

/// Sends and reads one message.
fn pass(from: Pipe, to: Pipe, value: u64, then: Then) -> (Pipe, Pipe) {
    let layout = *from.layout();
    let Sent::Published(from) = from.send(&layout, 3, value, then) else {
        panic!("nobody waits and nobody left")
    };
    let Found::Message(word) = to.find() else {
        panic!("a message was sent")
    };
    assert_eq!(to.index(&layout, word), 3);
    let (got, to) = if then == Then::Stay {
        let in_segment = to.next_in_segment(&layout);
        let next = in_segment.unwrap_or_else(|| to.again().next_segment());
        // SAFETY: a message was found, and it is the `u64` sent above.
        let (got, next) = unsafe { to.take_in_run::<u64>(&layout, next) };
        if in_segment.is_none() {
            to.report_segment();
        }
        (got, Some(next))
    } else {
        // SAFETY: as above.
        unsafe { to.take_last::<u64>(&layout, word, then == Then::Turn) }
    };
    assert_eq!(got, value);
    let to = to.expect("the session goes on");
    (from.sending(true), to.sending(true))
}

#[test]
fn stamps_are_renewed_at_a_turn() {
    let layout = Layout::of(Slot::new().fit::<u64>(), Capacity::Bounded(7));
    for swaps in [false, true] {
        renew(begun(layout, RENEWAL - 6, swaps));
    }
}

fn renew((mut first, mut second): (Pipe, Pipe)) {
    for round in 0..20 {
        assert!(
            matches!(second.find(), Found::Nothing(_)),
            "an old message came back"
        );
        for step in 0..round % 7 {
            (first, second) = pass(first, second, round * 10 + step, Then::Stay);
            assert!(
                matches!(second.find(), Found::Nothing(_)),
                "an old message came back"
            );
        }
        (second, first) = pass(first, second, round, Then::Turn);
    }
    first.leave();
    assert!(matches!(second.find(), Found::Closed));
    second.free();
}

#[test]
fn epochs_wrap_in_a_lap() {
    let layout = Layout::of(Slot::new().fit::<u64>(), Capacity::Bounded(4));
    for swaps in [false, true] {
        wrap(begun(layout, 2 * RENEWAL - 1, swaps));
    }
}

fn wrap((mut first, mut second): (Pipe, Pipe)) {
    for value in 0..20 {
        (first, second) = pass(first, second, value, Then::Stay);
        assert!(
            matches!(second.find(), Found::Nothing(_)),
            "an old message came back"
        );
    }
    assert!(second.die().is_ok());
    let layout = *first.layout();
    let sent = first.send(&layout, 0, 1_u64, Then::Stay);
    assert!(matches!(sent, Sent::Noticed(Err(1))));
}
