//! One piece of work on a session: it takes frames from what was read and publishes their messages, it forwards what the side
//! in this process has sent, and it has a list of what has to be done after it.
//!
//! # What checks the ring next
//!
//! Inside an unbounded run the side does not wake the far end (see `link::message::apart` in the runtime), so another thread has
//! to check the ring. Whenever a piece of work is done and the far end receives, one of these holds; each leads to another
//! check by a thread that works:
//!
//! 1. *The far end is armed* where the next message, or the end, is published. What the side does there wakes it, which
//!    sets `again` and then works, or leaves that to the thread that already works.
//! 2. *`flush` has an entry*, or the thread that has worked is about to make one: `Work::flushes`.
//! 3. *There are bytes to write*, and `watch` writes them when the connection accepts more, or `flush` tries again:
//!    `Work::writes`. Both then forward.
//!
//! [`Core::forward`] is done in one of two ways. If it has found nothing, `arms` has established 1 or 2. If
//! at least [`COLLECTED`] bytes are pending, which could not be written, it has established 3. But 3 ends when the bytes are
//! written, also if that is done in the same work. So the shell, when it writes after forwarding, forwards again if bytes
//! were pending.
//!
//! `flush` clears its mark of an entry before it works. So if a thread finds the mark after it has worked, the check that is
//! due comes after what that thread did.

use std::task::Waker;
use std::time::{Duration, Instant};

use duologue::transport::{Armed, Arrival, FarEnd, Forwarded, Role, Size, Why, Woken};

use super::{Core, Next, State, Step, FAR_AHEAD};
use crate::observe::Direction;

/// What tells the time.
pub(crate) type Clock = fn() -> Instant;

/// How long a thread waits until the connection accepts what it writes.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum Patience {
    None,
    /// For a limited time at each write. What is not written by then is lost.
    Brief,
    Endless,
}

/// How the work is done, and what has to be done once no lock is held.
pub(crate) struct Work {
    clock: Clock,
    /// How long this thread waits until the connection accepts what it writes.
    pub(crate) patience: Patience,
    /// How much is forwarded to a connection that accepts nothing.
    pub(super) enough: usize,
    /// The connection did not accept everything, and this thread does not try again.
    pub(crate) refused: bool,
    /// Whether something was forwarded.
    pub(super) has_forwarded: bool,
    /// The first waiter; nearly always the only one, for which nothing is allocated.
    pub(crate) woken: Option<Woken>,
    pub(crate) more_woken: Vec<Woken>,
    /// The side that was held back.
    pub(crate) released: Option<Waker>,
    /// A far end that disconnects.
    pub(crate) far: Option<FarEnd>,
    /// The connection has to be closed.
    pub(crate) closes: bool,
    /// What was collected has to be written after a while.
    pub(crate) flushes: bool,
    /// The rest has to be written when the connection accepts more.
    pub(crate) writes: bool,
    /// When [`Core::tick`](super::Core::tick) has to be called.
    pub(crate) check_at: Option<Instant>,
    /// Something waits for the session's observer.
    pub(crate) reports: bool,
    /// A buffer is larger than an idle session needs.
    pub(crate) shrinks: bool,
}

impl Work {
    /// `never_waits`: the side in this process does not wait where it sends, so this thread does not either.
    pub(crate) fn new(patience: Patience, never_waits: bool, clock: Clock) -> Work {
        let mut work = Work {
            clock,
            patience,
            enough: COLLECTED,
            refused: false,
            has_forwarded: false,
            woken: None,
            more_woken: Vec::new(),
            released: None,
            far: None,
            closes: false,
            flushes: false,
            writes: false,
            check_at: None,
            reports: false,
            shrinks: false,
        };
        if never_waits {
            work.never_waits();
        }
        work
    }

    /// The side in this process does not wait, from now on. How much memory the messages in the ring own is not known.
    /// A sender waits for the connection if it may; otherwise more is taken out of the ring, and it is held back by how
    /// much that is.
    pub(crate) fn never_waits(&mut self) {
        self.patience = Patience::None;
        self.enough = FAR_AHEAD;
    }

    /// Forwarding begins.
    pub(crate) fn begin_forwarding(&mut self) {
        self.has_forwarded = false;
    }

    pub(crate) fn waits(&self) -> bool {
        self.patience != Patience::None
    }

    pub(super) fn clock(&self) -> Clock {
        self.clock
    }

    pub(crate) fn now(&self) -> Instant {
        (self.clock)()
    }

    pub(super) fn wake(&mut self, woken: Option<Woken>) {
        let Some(woken) = woken else { return };
        match &self.woken {
            None => self.woken = Some(woken),
            Some(_) => self.more_woken.push(woken),
        }
    }

    /// Whether nothing has to be done.
    pub(crate) fn is_empty(&self) -> bool {
        self.woken.is_none()
            && self.released.is_none()
            && self.far.is_none()
            && !self.closes
            && !self.flushes
            && !self.writes
            && self.check_at.is_none()
            && !self.reports
    }
}

impl Core {
    /// What was read is about to be published.
    pub(crate) fn begin_receiving(&mut self, input: &Input, work: &mut Work) {
        self.is_full = false;
        work.shrinks |= input.is_large();
    }

    /// Publishes what was read, as long as there are complete frames and free slots.
    pub(crate) fn receive(&mut self, input: &mut Input, work: &mut Work) -> Step {
        while self.is_open() {
            let bytes = input.bytes();
            let size = |tag| self.far.size(tag);
            match first_frame(bytes, self.terms.allowed(), size) {
                Frame::Message { tag, payload } => {
                    if !self.far.has_room() {
                        if !self.is_full {
                            self.is_full = true;
                            return Step::Full;
                        }
                        let Some(waker) = &self.waker else {
                            return Step::Done;
                        };
                        if self.far.arm(waker) {
                            return Step::Done;
                        }
                        continue;
                    }
                    let (length, mut more) = (payload.end, 0);
                    let (payload, following) = (&bytes[payload], &bytes[length..]);
                    let memory = self.terms.memory;
                    let name = self.tally.as_ref().map_or("", |_| self.far.name(tag));
                    let arrived = (self.far).arrive(tag, payload, following, memory, &mut more);
                    input.take(length + more);
                    // What followed has the same size.
                    let messages = 1 + (more / length) as u64;
                    match arrived {
                        Ok(Arrival::Published(woken)) => {
                            work.wake(woken);
                            self.count((Direction::Received, name), messages, length + more, work);
                            self.due = None;
                            if self.far.role() != Role::Sends {
                                return Step::Forward;
                            }
                            self.begin(work);
                        }
                        Ok(Arrival::Gone) => {
                            // After these the session ends.
                            if let (true, Some(tally)) = (more > 0, &mut self.tally) {
                                tally.add(Direction::Received, messages, length + more);
                            }
                            self.leave(Why::Left);
                        }
                        Err(malformed) => self.leave(malformed.why()),
                    }
                }
                Frame::Ignored(length) => input.take(length),
                Frame::Leave(why) => {
                    input.end(why);
                    self.close(why, work);
                }
                Frame::Broken => self.leave(Why::Broken),
                Frame::Incomplete => match input.ended() {
                    Some(why) => self.close(why, work),
                    None => return Step::Done,
                },
            }
        }
        match self.state {
            State::Ending(..) => Step::WriteLast,
            State::Open | State::Lingering(_) | State::Closed => Step::Done,
        }
    }
}

impl Core {
    /// Forwards what the side in this process has sent, and arms the far end for what it sends next.
    pub(crate) fn forward(&mut self, next: Next, work: &mut Work) -> Step {
        if self.is_open() && work.waits() && self.pending() >= COLLECTED && !work.refused {
            // A thread that must not wait has left this.
            return Step::Write;
        }
        while self.is_open() && self.far.role() == Role::Receives {
            if self.pending() >= work.enough {
                // The connection accepts nothing at the moment: the rest stays in the ring. `watch` writes what is
                // pending, or a caller that waits.
                work.writes = true;
                return Step::Done;
            }
            let largest = self.terms.theirs;
            let before = (self.out.frames(), self.out.bytes().len());
            let (forwarded, name, woken) = self.far.forward(&mut self.out, largest, COLLECTED);
            let messages = self.out.frames().wrapping_sub(before.0);
            let bytes = self.out.bytes().len() - before.1;
            work.wake(woken);
            match forwarded {
                Forwarded::Message => {
                    work.has_forwarded = true;
                    self.due = None;
                    self.count((Direction::Sent, name), messages, bytes, work);
                    let is_full = self.pending() >= COLLECTED && !work.refused;
                    if self.far.role() != Role::Receives || is_full {
                        return Step::Write;
                    }
                }
                Forwarded::Nothing if self.arms(next, work) => break,
                Forwarded::Nothing => {}
                Forwarded::Left => self.leave(Why::Left),
                Forwarded::TooLarge => {
                    if let Some(tally) = &mut self.tally {
                        tally.add(Direction::Sent, messages, bytes);
                    }
                    self.leave(Why::TooLarge);
                }
            }
        }
        match (&self.state, self.far.role()) {
            (State::Open, Role::Over) => self.end(),
            (State::Open, Role::Sends) if self.is_abandoned => self.leave(Why::Left),
            (State::Open, role) => {
                self.begin(work);
                work.flushes |= role == Role::Receives && self.pending() > 0;
                return Step::Done;
            }
            // The deadline closes the connection if the peer does not read the last bytes.
            (State::Lingering(_) | State::Closed, _) => return Step::Done,
            (State::Ending(..), _) => {}
        }
        Step::WriteLast
    }

    /// Where the far end has found nothing: makes sure that what the side in this process does next is noticed. Returns
    /// false if there is something by now.
    fn arms(&mut self, next: Next, work: &mut Work) -> bool {
        let Some(waker) = &self.waker else {
            return true;
        };
        let armed = self.far.arm_next(waker, next, work.has_forwarded);
        work.flushes |= armed == Armed::ChecksAgain;
        armed != Armed::Not
    }
}

/// The kinds of control frames.
const ALIVE: u8 = 1;
const LEAVE: u8 = 3;
const DRAIN: u8 = 4;

/// Says that this side is still there.
pub(crate) const STILL_THERE: [u8; 2] = [0, ALIVE];

/// Says why this side ends the session, as the last frame.
pub(crate) fn leave_frame(why: Why) -> [u8; 3] {
    let reason = match why {
        Why::Broken => 1,
        Why::Late => 2,
        Why::TooLarge => 3,
        Why::Left | Why::Lost | Why::Stopped => 0,
        _ => 0,
    };
    [0, LEAVE, reason]
}

/// The first frame in a sequence of bytes. Frames follow hello and answer in both directions.
pub(crate) enum Frame {
    /// It is not complete.
    Incomplete,
    /// A message: its tag, and where its payload is.
    Message {
        tag: usize,
        payload: std::ops::Range<usize>,
    },
    /// A control frame of this many bytes that needs no answer.
    Ignored(usize),
    /// The peer ends the session.
    Leave(Why),
    /// No correct peer sends this.
    Broken,
}

/// A count at the beginning of a sequence of bytes: its value and its length.
enum Count {
    Incomplete,
    Broken,
    Is(u64, usize),
}

/// Reads a count of at most `longest` bytes.
fn count(bytes: &[u8], longest: usize) -> Count {
    let mut value = 0;
    for (at, byte) in bytes.iter().take(longest).enumerate() {
        value |= u64::from(byte & 127) << (7 * at);
        if *byte < 128 {
            return match (*byte, at) {
                (0, 1..) => Count::Broken,
                _ => Count::Is(value, at + 1),
            };
        }
    }
    if bytes.len() < longest {
        Count::Incomplete
    } else {
        Count::Broken
    }
}

/// What a side allows in the frames that it reads.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Allowed {
    /// The largest payload.
    pub(crate) largest: usize,
    /// Whether the peer may ask this side to end the session: it may if it is the accepting side.
    pub(crate) drain: bool,
}

/// Reads the first frame. `size` returns, for the tag of a message that may come next, the size of its payload and the
/// protocol's limit for it.
pub(crate) fn first_frame(
    bytes: &[u8],
    allowed: Allowed,
    size: impl Fn(usize) -> Option<(Size, usize)>,
) -> Frame {
    let (tag, start) = match count(bytes, 2) {
        Count::Incomplete => return Frame::Incomplete,
        Count::Broken => return Frame::Broken,
        Count::Is(0, _) => return control(bytes, allowed.drain),
        Count::Is(number, length) => match usize::try_from(number - 1) {
            Ok(tag) => (tag, length),
            Err(_) => return Frame::Broken,
        },
    };
    let Some((size, limit)) = size(tag) else {
        return Frame::Broken;
    };
    let (length, start) = match size.fixed() {
        Some(fixed) => (fixed, start),
        None => match count(&bytes[start..], 5) {
            Count::Incomplete => return Frame::Incomplete,
            Count::Broken => return Frame::Broken,
            Count::Is(length, digits) => match usize::try_from(length) {
                Ok(length) => (length, start + digits),
                Err(_) => return Frame::Broken,
            },
        },
    };
    if length > allowed.largest.min(limit) || !size.admits(length) {
        return Frame::Broken;
    }
    let payload = start..start + length;
    if payload.end > bytes.len() {
        return Frame::Incomplete;
    }
    Frame::Message { tag, payload }
}

fn control(bytes: &[u8], drains: bool) -> Frame {
    match *bytes {
        [_] => Frame::Incomplete,
        [_, ALIVE, ..] => Frame::Ignored(2),
        [_, DRAIN, ..] if drains => Frame::Ignored(2),
        [_, LEAVE] => Frame::Incomplete,
        [_, LEAVE, reason, ..] => Frame::Leave(match reason {
            1 => Why::Broken,
            2 => Why::Late,
            3 => Why::TooLarge,
            _ => Why::Left,
        }),
        [..] => Frame::Broken,
    }
}

/// A run is written when this much has been collected, and nothing is read while this much waits.
pub(crate) const COLLECTED: usize = 64 << 10;

/// How much is read at once, at first; and the buffer that a session keeps after it was shrunk.
pub(crate) const FIRST_BUFFER: usize = 1 << 10;
/// How much is read at once after a read has filled the first buffer; and the largest buffer that an idle session keeps.
pub(crate) const SMALL_BUFFER: usize = 4 << 10;

/// What was read but has not been delivered yet, `space[start..end]`, and how long the peer has been silent.
pub(crate) struct Input {
    space: Vec<u8>,
    start: usize,
    end: usize,
    /// Whether the last read has filled the buffer.
    was_filled: bool,
    /// Why no more bytes will arrive.
    ended: Option<Why>,
    /// How long the peer may be silent.
    patience: Option<Duration>,
    /// When the peer's silence began: the time of the first read that found nothing since data last arrived.
    quiet_since: Option<Instant>,
}

impl Input {
    /// Nothing was read yet.
    pub(crate) fn new(patience: Option<Duration>) -> Input {
        Input {
            start: 0,
            end: 0,
            space: Vec::new(),
            was_filled: false,
            ended: None,
            patience,
            quiet_since: None,
        }
    }

    /// Whether the buffer is larger than an idle session needs.
    pub(crate) fn is_large(&self) -> bool {
        self.space.capacity() > SMALL_BUFFER
    }

    /// What was read.
    pub(crate) fn bytes(&self) -> &[u8] {
        &self.space[self.start..self.end]
    }

    /// The first bytes have been taken.
    pub(crate) fn take(&mut self, count: usize) {
        self.start += count;
    }

    /// Why no more bytes will arrive, if that is so.
    pub(crate) fn ended(&self) -> Option<Why> {
        self.ended
    }

    /// No more bytes will arrive.
    pub(crate) fn end(&mut self, why: Why) {
        self.ended = Some(why);
    }

    /// Whether the last read has filled the space that it had.
    pub(crate) fn was_filled(&self) -> bool {
        self.was_filled
    }

    /// Returns the memory of a buffer that is empty.
    pub(crate) fn shrink(&mut self) {
        if self.start == self.end && self.is_large() {
            (self.start, self.end) = (0, 0);
            self.was_filled = false;
            self.space.truncate(FIRST_BUFFER);
            self.space.shrink_to(FIRST_BUFFER);
        }
    }

    /// Where the next bytes are to be read.
    pub(crate) fn space(&mut self) -> &mut [u8] {
        if self.start == self.end {
            (self.start, self.end) = (0, 0);
            self.space.truncate(COLLECTED);
            self.space.shrink_to(COLLECTED);
        }
        // What is left of the last read is nearly always the beginning of one frame. Moving it costs less than a read
        // into the rest of the buffer, and at most as much as what was delivered since the last move.
        let is_full = self.end == self.space.len();
        if self.start > 0 && (is_full || self.end - self.start <= self.start) {
            self.space.copy_within(self.start..self.end, 0);
            (self.start, self.end) = (0, self.end - self.start);
        }
        if self.end == self.space.len() {
            let size = (2 * self.space.len()).max(FIRST_BUFFER);
            self.space.resize(size, 0);
        } else if self.was_filled && self.space.len() < COLLECTED {
            // More arrives at once than one read takes.
            let is_small = self.space.len() < SMALL_BUFFER;
            let size = if is_small { SMALL_BUFFER } else { COLLECTED };
            self.space.resize(size, 0);
        }
        &mut self.space[self.end..]
    }

    /// This many bytes were read: none if the connection has ended.
    pub(crate) fn received(&mut self, count: usize) {
        if count == 0 {
            return self.end(Why::Lost);
        }
        self.end += count;
        self.was_filled = self.end == self.space.len();
        self.quiet_since = None;
    }

    /// Whether the peer's silence is limited.
    pub(crate) fn limits_silence(&self) -> bool {
        self.patience.is_some()
    }

    /// Until when a read that begins now waits.
    pub(crate) fn until(&self, now: Instant) -> Option<Instant> {
        let end = |patience| self.quiet_since.unwrap_or(now) + patience;
        self.patience.map(end)
    }

    /// A read that began at this time has found nothing until now. Returns whether the peer has been silent for too long: that
    /// counts as the end. The read would have found anything that arrived before it began, even if its thread is late.
    pub(crate) fn is_silent(&mut self, began: Instant, now: Instant) -> bool {
        let Some(patience) = self.patience else {
            return false;
        };
        let since = *self.quiet_since.get_or_insert(began);
        let is_silent = now.saturating_duration_since(since) >= patience;
        if is_silent {
            self.end(Why::Lost);
        }
        is_silent
    }

    /// Why the peer ended the session, if what was read says so.
    pub(crate) fn said(&self, allowed: Allowed) -> Option<Why> {
        let mut bytes = self.bytes();
        loop {
            match first_frame(bytes, allowed, |_| None) {
                Frame::Ignored(length) => bytes = &bytes[length..],
                Frame::Leave(why) => return Some(why),
                Frame::Incomplete | Frame::Message { .. } | Frame::Broken => return None,
            }
        }
    }
}
