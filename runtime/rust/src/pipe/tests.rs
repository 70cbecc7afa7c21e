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

#[test]
fn lines_are_made_ready_before_the_receiver_looks_there() {
    // Different layouts, so that no block is ready from the time before.
    let slots = [
        Slot::new().fit::<[u64; 1]>(),
        Slot::new().fit::<[u64; 2]>(),
        Slot::new().fit::<[u64; 3]>(),
        Slot::new().fit::<[u64; 4]>(),
    ];
    for (case, slot) in slots.into_iter().enumerate() {
        let layout = Layout::of(slot, Capacity::Unbounded);
        assert!(layout.ready() < layout.lines());
        let (swaps, turns) = (case & 1 == 1, case & 2 == 2);
        let (mut first, mut second) = begun(layout, 1, swaps);
        if turns {
            (second, first) = pass(first, second, 0, Then::Turn);
        }
        // What is not ready may look like messages of this very run.
        let message = first.at.with();
        for line in layout.ready()..layout.lines() {
            // SAFETY: the session has these lines, and nobody looks there.
            unsafe {
                Cell::word(first.cell, &layout, line)
                    .cast_mut()
                    .cast::<u64>()
                    .write(message);
            };
        }
        let messages = (layout.lines() * layout.per_line() * 2) as u64;
        for number in 0..messages {
            let nothing = matches!(second.find(), Found::Nothing(_));
            assert!(nothing, "message {number} before it was sent");
            (first, second) = pass(first, second, number, Then::Stay);
        }
        second.free();
    }
}
