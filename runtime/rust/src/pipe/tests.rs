//! Positions at which epochs start again, which no conversation reaches in a test's time.

use super::*;
use crate::position::RENEWAL;

/// Sends and reads one message.
fn pass(from: Pipe, to: Pipe, value: u64, then: Then) -> (Pipe, Pipe) {
    let Ok((from, None)) = from.send(3, value, then) else {
        panic!("nobody waits and nobody left")
    };
    assert!(matches!(to.find(), Found::Message(3)));
    // SAFETY: a message was found, and it is the `u64` sent above.
    let (got, to, None) = (unsafe { to.take::<u64>(then) }) else {
        panic!("nobody waits")
    };
    assert_eq!(got, value);
    (from, to.expect("the session goes on"))
}

#[test]
fn stamps_are_renewed_at_a_turn() {
    let room = Slot::new().fit::<u64>();
    let (mut first, mut second) = pair(room, Capacity::Bounded(3), RENEWAL - 6);
    for round in 0..20 {
        assert!(
            matches!(second.find(), Found::Nothing(_)),
            "an old message came back"
        );
        for step in 0..round % 3 {
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
    let (mut first, mut second) =
        pair(Slot::new().fit::<u64>(), Capacity::Bounded(2), u32::MAX - 1);
    for value in 0..10 {
        (first, second) = pass(first, second, value, Then::Stay);
        assert!(
            matches!(second.find(), Found::Nothing(_)),
            "an old message came back"
        );
    }
    assert!(second.die().is_ok());
    assert!(first.send(0, 1_u64, Then::Stay).is_err());
}
