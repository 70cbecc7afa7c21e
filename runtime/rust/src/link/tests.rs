//! Positions at which epochs go back or wrap around, which no conversation reaches in the time of a test.

use super::message::{Forwards, Sent, Step, Then, Unsent};
use super::peer::Space;
use super::wait::Wait;
use crate::floor::layout::{Capacity, Layout, Part, Slot};
use crate::floor::waiting::Waiter;
use crate::ring::observer::Names;
use crate::ring::pipe::{Found, Pipe};
use crate::ring::position::{renewed, RENEWAL};
use crate::ring::words::LineWord;
use std::sync::atomic::Ordering::Relaxed;
use std::sync::Arc;
use std::task::{Wake, Waker};
use std::time::{Duration, Instant};

/// A session that swaps or stores, in its large block, at an epoch that no conversation reaches in the time of a test.
fn begun(layout: Layout, epoch: u32, swaps: bool) -> (Pipe, Pipe) {
    begun_in(Part::Large, layout, epoch, swaps)
}

/// The same in one of its blocks.
fn begun_in(part: Part, layout: Layout, epoch: u32, swaps: bool) -> (Pipe, Pipe) {
    let (first, second) = Pipe::pair_at(layout, part, epoch, swaps);
    (first.sending(true), second.sending(true))
}

/// Takes the number that was found in this word. The session continues after it.
fn take(from: Pipe, word: LineWord, then: Then) -> (u64, Pipe) {
    let layout = *from.layout();
    // SAFETY: by the caller, a message was found, and all are `u64`.
    let got = unsafe { from.read::<u64>(&layout) };
    let next = if then == Then::Stay {
        match from.next_in_segment(&layout) {
            Some(next) => from.moved(next),
            None => {
                let next = from.copy().next_segment(word);
                from.report_segment(word);
                next
            }
        }
    } else {
        from.after_turn(&layout, word)
    };
    (got, next.sending(true))
}

/// A message without its payload.
fn step(index: u8, then: Then) -> Step {
    const NAMES: &Names = &Names {
        state: "",
        message: "",
        next: None,
    };
    Step {
        index,
        then,
        names: NAMES,
    }
}

/// Sends a message to a receiver that is connected and does not wait.
fn send(from: Pipe, value: u64, then: Then) -> Pipe {
    let layout = *from.layout();
    match from.send(&layout, true, &step(3, then), value, Forwards::Sender) {
        Sent::Published(next) | Sent::Noticed(Ok((next, None))) => next.sending(true),
        Sent::Noticed(_) => panic!("no waiter and no disconnect"),
    }
}

/// Sends and reads one message.
fn pass(from: Pipe, to: Pipe, value: u64, then: Then) -> (Pipe, Pipe) {
    let layout = *from.layout();
    let from = send(from, value, then);
    let Found::Message(word) = to.find() else {
        panic!("a message was sent")
    };
    assert_eq!(to.index(&layout, word), 3);
    let (got, to) = take(to, word, then);
    assert_eq!(got, value);
    (from, to)
}

#[test]
fn stamps_are_renewed_at_a_turn() {
    let layout = Layout::of(Slot::new().fit::<u64>(), Capacity::Bounded(7));
    for swaps in [false, true] {
        for epoch in [
            RENEWAL - 6,
            RENEWAL,
            RENEWAL + 5,
            2 * RENEWAL - 2,
            2 * RENEWAL - 1,
        ] {
            renew(begun(layout, epoch, swaps));
        }
    }
}

#[test]
fn a_block_is_used_again_after_any_epoch() {
    let slot = Slot::new().fit::<u64>();
    for capacity in [Capacity::Bounded(7), Capacity::Unbounded] {
        let layout = Layout::of(slot, capacity);
        for epoch in [1, RENEWAL - 1, RENEWAL, RENEWAL + 7, 2 * RENEWAL - 1] {
            let part = layout.first_part();
            let (mut first, mut second) = begun_in(part, layout, epoch, false);
            for value in 0..6 {
                (first, second) = pass(first, second, value, Then::Stay);
            }
            let block = first.session();
            first.leave();
            second.free();
            let (first, second) = Pipe::pair(layout);
            let (first, second) = (first.sending(true), second.sending(true));
            if cfg!(all(feature = "pool", not(miri))) {
                assert_eq!(
                    (first.session(), first.at().epoch()),
                    (block, renewed(epoch))
                );
            }
            renew((first, second));
        }
    }
}

#[test]
fn a_turn_after_a_lap_that_came_round_finds_no_old_messages() {
    let layout = Layout::of(Slot::new().fit::<u64>(), Capacity::Bounded(4));
    for swaps in [false, true] {
        let (mut first, mut second) = begun(layout, 2 * RENEWAL - 1, swaps);
        for value in 0..layout.lines() * layout.per_line() {
            (first, second) = pass(first, second, value as u64, Then::Stay);
        }
        assert_eq!(first.at().epoch(), 0);
        (second, first) = pass(first, second, 0, Then::Turn);
        assert_eq!(first.at().epoch(), 1);
        renew((second, first));
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
    assert!(second.die(&mut None).is_ok());
    let layout = *first.layout();
    let sent = first.send(&layout, true, &step(0, Then::Stay), 1_u64, Forwards::Sender);
    let Sent::Noticed(Err(Unsent { payload: 1, left })) = sent else {
        panic!("the receiver is gone")
    };
    left.end();
}

/// Makes everything after the near lines look like messages of this very run.
fn spoil(pipe: &Pipe, layout: &Layout) {
    for line in layout.near()..layout.lines() {
        pipe.word_of(layout, line)
            .store(pipe.at().with(), std::sync::atomic::Ordering::Relaxed);
    }
}

/// Layouts that differ, so that no block is still initialized from before. All have long laps.
fn layouts() -> [Layout; 4] {
    let slots = [
        Slot::new().fit::<[u64; 1]>(),
        Slot::new().fit::<[u64; 2]>(),
        Slot::new().fit::<[u64; 3]>(),
        Slot::new().fit::<[u64; 150]>(),
    ];
    slots.map(|slot| {
        let layout = Layout::of(slot, Capacity::Unbounded);
        assert!(layout.near() < layout.lines());
        layout
    })
}

/// Reads each message at once, and returns the furthest line.
fn keep_up(layout: Layout) -> usize {
    let (mut first, mut second) = begun(layout, 1, false);
    spoil(&first, &layout);
    let mut furthest = 0;
    for number in 0..(layout.lines() * layout.per_line() * 3) as u64 {
        let nothing = matches!(second.find(), Found::Nothing(_));
        assert!(nothing, "message {number} before it was sent");
        (first, second) = pass(first, second, number, Then::Stay);
        furthest = furthest.max(second.at().line());
    }
    second.free();
    furthest
}

#[test]
fn a_receiver_that_keeps_up_sees_short_laps_only() {
    for layout in layouts() {
        assert_eq!(keep_up(layout), layout.near() - 1);
    }
}

/// A conversation in one direction, in which neither side ever waits.
struct Walk {
    layout: Layout,
    sender: Option<Pipe>,
    receiver: Option<Pipe>,
    sent: u64,
    read: u64,
    /// The furthest line.
    furthest: usize,
}

impl Walk {
    /// In a session of which only the near lines are initialized, or that begins in a small block.
    fn begin(part: Part, layout: Layout, epoch: u32, swaps: bool) -> Walk {
        let (first, second) = begun_in(part, layout, epoch, swaps);
        if part == Part::Large {
            spoil(&first, &layout);
        }
        Walk {
            layout,
            sender: Some(first),
            receiver: Some(second),
            sent: 0,
            read: 0,
            furthest: 0,
        }
    }

    /// Sends unless the ring is full, and returns whether it did.
    fn send(&mut self, then: Then) -> bool {
        let sender = self.sender.take().expect("it is connected");
        if let Space::Full(_) = sender.space() {
            self.sender = Some(sender);
            return false;
        }
        let next = send(sender, self.sent, then);
        self.sent += 1;
        self.furthest = self.furthest.max(next.at().line());
        self.sender = Some(next);
        true
    }

    /// Receives what is there, and returns whether anything was.
    fn receive(&mut self) -> bool {
        let receiver = self.receiver.take().expect("it is connected");
        let Found::Message(word) = receiver.find() else {
            assert_eq!(self.read, self.sent, "a message is missing");
            self.receiver = Some(receiver);
            return false;
        };
        assert!(self.read < self.sent, "a message that nobody sent");
        assert_eq!(receiver.index(&self.layout, word), 3);
        let (got, next) = take(receiver, word, Then::Stay);
        assert_eq!(got, self.read);
        self.read += 1;
        self.receiver = Some(next);
        true
    }

    /// The sender sends its last message of the run, and the receiver reads up to it and becomes the sender.
    fn turn(&mut self) {
        while !self.send(Then::Turn) {
            self.receive();
        }
        while self.read + 1 < self.sent {
            assert!(self.receive());
        }
        let receiver = self.receiver.take().expect("it is connected");
        let Found::Message(word) = receiver.find() else {
            panic!("the last message of the run is missing")
        };
        let (got, next) = take(receiver, word, Then::Turn);
        assert_eq!(got, self.read);
        self.read += 1;
        self.receiver = self.sender.replace(next);
    }

    /// The sender disconnects, and the receiver reads everything before it finds that out.
    fn end(mut self) {
        self.sender.take().expect("it is connected").leave();
        loop {
            let receiver = self.receiver.as_ref().expect("it is connected");
            if let Found::Closed = receiver.find() {
                break;
            }
            assert!(self.receive());
        }
        assert_eq!(self.read, self.sent, "closed before a message");
        self.receiver.take().expect("it is connected").free();
    }
}

#[test]
fn laps_of_all_lengths_lose_nothing_however_far_the_receiver_lags() {
    let mut chance = 1_u64;
    let mut below = |bound: usize| {
        chance = chance
            .wrapping_mul(6_364_136_223_846_793_005)
            .wrapping_add(1);
        (chance >> 33) as usize % bound
    };
    for layout in layouts() {
        let room = layout.lines() * layout.per_line();
        let near = layout.near() * layout.per_line();
        let half = room / 2;
        // How many walks reached each of the two ends.
        let mut reached = [0; 2];
        for round in 0..90 {
            // Some begin where epochs wrap around.
            let epoch = [1, RENEWAL - 2, 2 * RENEWAL - 3][round % 3];
            let part = [Part::Large, Part::Small][round / 3 % 2];
            let mut walk = Walk::begin(part, layout, epoch, round % 2 == 1);
            let (most_sent, most_read) = if round < 30 {
                ([near / 4; 4], [near; 4])
            } else {
                (
                    [near / 3, near, half, 2 * room],
                    [near, half, room, 2 * room],
                )
            };
            for _ in 0..below(40) {
                let most = most_sent[below(4)];
                for _ in 0..below(most) {
                    if !walk.send(Then::Stay) {
                        break;
                    }
                }
                let most = most_read[below(4)];
                for _ in 0..below(most) {
                    if !walk.receive() {
                        break;
                    }
                }
                if below(8) == 0 {
                    walk.turn();
                }
            }
            let ends = [layout.near(), layout.lines()];
            if let Some(end) = ends.iter().position(|end| walk.furthest < *end) {
                reached[end] += 1;
            }
            walk.end();
        }
        assert!(reached[0] > 0 && reached[1] > 0);
    }
}

#[test]
fn no_ring_is_free_before_anything_was_read() {
    for layout in layouts() {
        let epochs = [1, RENEWAL - 1, RENEWAL, RENEWAL + 1, 2 * RENEWAL - 1];
        let parts = [(Part::Large, 0), (Part::Small, layout.small())];
        for (epoch, (part, before)) in epochs
            .iter()
            .flat_map(|epoch| parts.map(|part| (*epoch, part)))
        {
            let mut walk = Walk::begin(part, layout, epoch, false);
            while walk.sent <= 2 * (layout.lines() * layout.per_line()) as u64
                && walk.send(Then::Stay)
            {}
            let room = (before + layout.lines()) * layout.per_line();
            assert!(walk.sent <= room as u64, "in epoch {epoch}");
            while walk.receive() {}
            walk.end();
        }
    }
}

#[test]
fn stamps_that_many_short_laps_left_out_are_cleared() {
    let layout = layouts()[0];
    let mut walk = Walk::begin(Part::Large, layout, 2, false);
    // A long lap, so that the lines are initialized.
    while walk.send(Then::Stay) {}
    while walk.receive() {}
    let sender = walk.sender.as_ref().expect("it is connected");
    // As many short laps as make the lines look like those of this very run again.
    spoil(sender, &layout);
    // SAFETY: nothing else accesses the count.
    unsafe { *sender.laps().skipped.get() = RENEWAL };
    // Past the early end, and not up to the next: what comes after the last message must not look like a message.
    let line = |walk: &Walk| walk.sender.as_ref().map(|sender| sender.at().line());
    while line(&walk) != Some(layout.near() + 2) {
        assert!(walk.send(Then::Stay));
    }
    while walk.receive() {}
    walk.end();
}

/// The waker of a task that is polled by hand.
struct Unwoken;

impl Wake for Unwoken {
    fn wake(self: Arc<Unwoken>) {}
}

/// Sends and reads one message, for which the receiver waits.
fn pass_awaited(from: Pipe, to: Pipe, value: u64) -> (Pipe, Pipe) {
    let layout = *from.layout();
    assert!(Wait::for_message(&to).arm(Waiter::Bell(Waker::from(Arc::new(Unwoken)))));
    let sent = from.send(&layout, true, &step(3, Then::Stay), value, Forwards::Sender);
    let Sent::Noticed(Ok((from, Some(pending)))) = sent else {
        panic!("the receiver waits")
    };
    assert!(pending.fetch().is_some());
    let Found::Message(word) = to.find() else {
        panic!("a message was sent")
    };
    let (got, to) = take(to, word, Then::Stay);
    assert_eq!(got, value);
    (from.sending(true), to)
}

#[test]
fn a_session_stays_small_as_long_as_the_receiver_waits_in_each_half_of_a_lap() {
    for layout in layouts() {
        let half = (layout.half() * layout.per_line()) as u64;
        for swaps in [false, true] {
            for epoch in [1, RENEWAL - 2, 2 * RENEWAL - 3] {
                let (mut first, mut second) = begun_in(Part::Small, layout, epoch, swaps);
                let small = first.session();
                for value in 0..13 * half {
                    assert!(matches!(second.find(), Found::Nothing(_)));
                    (first, second) = match value % half == half / 2 {
                        true => pass_awaited(first, second, value),
                        false => pass(first, second, value, Then::Stay),
                    };
                    assert_eq!((first.session(), second.session()), (small, small));
                }
                renew((first, second));
            }
        }
    }
}

#[test]
fn what_a_side_notes_for_itself_moves_to_the_large_block_with_it() {
    let soon = Some(Instant::now() + Duration::from_secs(1_000));
    for late in [false, true] {
        let layout = layouts()[0];
        let (mut first, mut second) = begun_in(Part::Small, layout, 1, false);
        let number = (!late).then(|| first.number());
        let small = first.session();
        let sent = (layout.small() * layout.per_line()) as u64 + 1;
        for value in 0..sent {
            first = send(first, value, Then::Stay);
        }
        assert_ne!(first.session(), small);
        // While the sides are in different blocks.
        second.set_limit(soon);
        assert!(second.announce_leaving().is_none() && !first.credit().load(Relaxed).is_leaving());
        assert_eq!(second.number(), number.unwrap_or(first.number()));
        for value in 0..sent {
            assert_eq!(second.session() == small, value + 1 < sent);
            let Found::Message(word) = second.find() else {
                panic!("message {value}")
            };
            let got;
            (got, second) = take(second, word, Then::Stay);
            assert_eq!(got, value);
        }
        assert_eq!((first.session(), first.limit()), (second.session(), None));
        assert_eq!((second.limit(), second.number()), (soon, first.number()));
        assert!(first.credit().load(Relaxed).is_leaving());
        first.leave();
        second.free();
    }
}

#[test]
fn a_sender_at_the_end_of_a_small_block_finds_that_the_receiver_is_gone() {
    let layout = layouts()[0];
    let lap = (layout.small() * layout.per_line()) as u64;
    for swaps in [false, true] {
        // With less than everything read, the receiver may be gone before it has seen the rest.
        let (mut first, mut second) = begun_in(Part::Small, layout, 1, swaps);
        first.set_limit(Some(Instant::now() + Duration::from_secs(1_000)));
        for value in 0..lap - 1 {
            (first, second) = pass(first, second, value, Then::Stay);
        }
        assert!(second.die(&mut None).is_ok());
        let sent = first.send(&layout, true, &step(0, Then::Stay), 7_u64, Forwards::Sender);
        let Sent::Noticed(Err(Unsent { payload: 7, left })) = sent else {
            panic!("the receiver is gone")
        };
        left.end();
    }
}

#[cfg(all(feature = "pool", not(miri)))]
mod hostile {
    use super::*;

    /// A waker that panics when it is dropped.
    struct Hostile;

    impl Wake for Hostile {
        fn wake(self: Arc<Hostile>) {}
    }

    impl Drop for Hostile {
        fn drop(&mut self) {
            panic!("a hostile waker");
        }
    }

    #[test]
    fn a_waiter_that_nobody_woke_and_that_panics_does_not_keep_the_block() {
        let waiter = || Waiter::Task(Arc::new(Hostile).into());
        // Registered by the peer, or by this side in its flags.
        type Leaves<'a> = &'a dyn Fn(&Pipe, &Pipe);
        let leaves: [Leaves<'_>; 2] = [
            // SAFETY: nothing else uses the session, and no flag is raised.
            &|first, _| unsafe { (*first.slot()).put(waiter()) },
            &|_, second| {
                let _ = Wait::for_message(second).announce(waiter());
            },
        ];
        for leave in leaves {
            let layout = Layout::of(Slot::new().fit::<u64>(), Capacity::Bounded(7));
            let (first, second) = begun(layout, 1, false);
            leave(&first, &second);
            let session = second.session();
            let freed = std::panic::catch_unwind(std::panic::AssertUnwindSafe(|| second.free()));
            assert!(freed.is_err(), "the waker was dropped");
            let (_first, second) = Pipe::pair(layout);
            assert_eq!(second.session(), session);
            second.free();
        }
    }
}
