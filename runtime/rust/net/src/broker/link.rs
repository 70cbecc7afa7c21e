//! One session over a broker, as a stream of bytes.
//!
//! # What arrives
//!
//! Messages that carry something are numbered. One that is out of order, or a count of the peer that does not fit, shows that
//! something was lost: then the stream fails, and the peer is notified until it confirms. What arrived in order before that
//! can still be read. A side that has sent something which the peer has not confirmed asks from time to time, so
//! a loss at the end is noticed as well.
//!
//! # Credit
//!
//! A side sends only as much as its peer has given credit for, so that nothing waits in the broker without limit. Each
//! message says how much of the credit has been used up by reading. So what a side sends when it is its turn also returns
//! its credit, and only a side that reads for long without sending has to return it separately.
//!
//! # Locks
//!
//! `state` is held for a short time only, also while a message is published: the order of the numbers is that of the messages.

mod stream;

use std::collections::VecDeque;
use std::os::fd::OwnedFd;
use std::sync::atomic::AtomicU32;
use std::sync::atomic::Ordering::SeqCst;
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::task::Waker;
use std::time::{Duration, Instant};

use super::packet::{Kind, Packet};
use super::post::{self, Post, Window, OVERHEAD};
pub(crate) use stream::BrokerStream;

/// How many ticks a side that has ended waits for its peer to confirm that.
const LAST_TICKS: u32 = 15;

/// A first message that no server has confirmed after this time is lost.
const UNHEARD: Duration = Duration::from_secs(1);

/// No peer is given more credit.
const MOST_CREDIT: u64 = 1 << 30;

/// A process at the other end of sessions.
pub(super) struct Peer {
    pub(super) process: String,
    /// How many ticks have passed since something arrived from it.
    pub(super) missed: AtomicU32,
}

impl Peer {
    pub(super) fn new(process: &str) -> Peer {
        Peer {
            process: process.to_owned(),
            missed: AtomicU32::new(0),
        }
    }
}

/// Where a side sends its messages.
enum To {
    /// The connecting side has sent nothing yet. Its first message goes to the subject of a protocol.
    Servers(String),
    /// The connecting side waits for the answer to its first message.
    Unknown,
    /// The address of the other side, and its process.
    Side(String, Arc<Peer>),
}

/// How the stream ended in the direction of this side.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Ended {
    /// The peer has ended it.
    ByPeer,
    /// Something was lost.
    Failed,
}

struct State {
    to: To,
    /// Numbered messages that were sent, and that the peer has confirmed.
    sent: u64,
    confirmed: u64,
    /// The credit that was used, what the peer has returned of it, and how much it gives.
    used: u64,
    returned: u64,
    theirs: u64,
    /// Whether a write waits for credit.
    is_blocked: bool,
    /// Called when there is credit again.
    writer: Option<Waker>,
    /// Numbered messages that have arrived.
    received: u64,
    /// The credit that the peer has used, what was read of it, and what the peer has been notified of.
    arrived: u64,
    read: u64,
    reported: u64,
    /// What was not read yet. The first `start` bytes of the first one were.
    chunks: VecDeque<Vec<u8>>,
    start: usize,
    ended: Option<Ended>,
    /// Whether nothing had subscribed to the subject of the first message.
    is_unanswered: bool,
    /// When the first message was published, by the connecting side.
    opened: Option<Instant>,
    /// Whether no server has confirmed it in time.
    is_unheard: bool,
    /// Whether this side has sent its end.
    is_closed: bool,
    /// Whether the program has ended the reads of this side.
    is_cut: bool,
    /// Whether the program no longer uses the stream.
    is_dropped: bool,
    /// Whether the peer is to be notified that something was lost.
    has_to_tell: bool,
    ticks_left: u32,
    /// The credit that this side gives, and its part of that of the process.
    ours: u64,
    window: Option<Window>,
    /// Readable while there is something to read. Tasks and sets need it. The stream closes it, so that sets do not report a stream
    /// which is gone.
    event: Option<Arc<OwnedFd>>,
}

/// One side of a session.
pub(super) struct Link {
    post: Arc<Post>,
    /// The address of this side.
    address: String,
    state: Mutex<State>,
    readable: Condvar,
    writable: Condvar,
}

/// What a link needs after a tick.
pub(super) struct Ticked {
    /// Whether it is still needed.
    pub(super) is_needed: bool,
    /// The process that has to learn that this one is there.
    pub(super) peer: Option<Arc<Peer>>,
}

impl Link {
    fn new(post: &Arc<Post>, address: String, window: Window, to: To) -> Link {
        Link {
            post: Arc::clone(post),
            address,
            state: Mutex::new(State {
                to,
                sent: 0,
                confirmed: 0,
                used: 0,
                returned: 0,
                theirs: 0,
                is_blocked: false,
                writer: None,
                received: 0,
                arrived: 0,
                read: 0,
                reported: 0,
                chunks: VecDeque::new(),
                start: 0,
                ended: None,
                is_unanswered: false,
                opened: None,
                is_unheard: false,
                is_closed: false,
                is_cut: false,
                is_dropped: false,
                has_to_tell: false,
                ticks_left: LAST_TICKS,
                ours: window.size as u64,
                window: Some(window),
                event: None,
            }),
            readable: Condvar::new(),
            writable: Condvar::new(),
        }
    }

    /// The connecting side. `subject`: where the servers of its protocol are.
    pub(super) fn open(post: &Arc<Post>, address: String, window: Window, subject: String) -> Link {
        Link::new(post, address, window, To::Servers(subject))
    }

    /// The accepting side, for this first message of the side at `from`, whose cost is part of `window`. Confirms the message at once:
    /// the program may take its time for the answer.
    pub(super) fn accept(
        post: &Arc<Post>,
        address: String,
        window: Window,
        from: &str,
        peer: Arc<Peer>,
        packet: &Packet<'_>,
    ) -> Option<Link> {
        if packet.number != 1 || packet.received != 0 || packet.read != 0 {
            return None;
        }
        let link = Link::new(post, address, window, To::Side(from.to_owned(), peer));
        let mut state = link.state();
        state.theirs = packet.window.min(MOST_CREDIT);
        state.received = 1;
        // The first message needs no credit, because this side has not given any.
        state.arrived = cost(packet.bytes.len());
        state.chunks.push_back(packet.bytes.to_vec());
        link.publish(&mut state, Kind::Answer, &[]);
        drop(state);
        Some(link)
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Publishes a message to the peer. A side that expects an answer says where it is.
    fn publish(&self, state: &mut State, kind: Kind, bytes: &[u8]) {
        state.sent += u64::from(kind.is_numbered());
        state.reported = state.read;
        let packet = Packet {
            kind,
            number: state.sent,
            received: state.received,
            read: state.read,
            window: state.ours,
            bytes,
        };
        let says_where = matches!(kind, Kind::Open | Kind::Accept | Kind::Ask | Kind::Lost);
        let reply = says_where.then_some(self.address.as_str());
        let subject = match &state.to {
            To::Servers(subject) if kind == Kind::Open => subject,
            To::Side(address, _) => address,
            To::Servers(_) | To::Unknown => return,
        };
        self.post.publish(subject, reply, &packet);
    }

    fn raise(&self, state: &State) {
        self.readable.notify_all();
        if let Some(event) = &state.event {
            let _full = rustix::io::write(event, &1_u64.to_ne_bytes());
        }
    }

    /// Ends both directions. `tells`: the peer has to learn it.
    fn fail(&self, state: &mut State, tells: bool) -> Option<Waker> {
        if state.ended == Some(Ended::Failed) {
            return None;
        }
        state.ended = Some(Ended::Failed);
        state.has_to_tell = tells && matches!(state.to, To::Side(..));
        if state.has_to_tell {
            self.publish(state, Kind::Lost, &[]);
        }
        self.raise(state);
        self.writable.notify_all();
        state.writer.take()
    }

    /// Ends both directions because nothing more can arrive.
    pub(super) fn lose(&self) {
        let mut state = self.state();
        let waker = self.fail(&mut state, false);
        drop(state);
        wake(waker);
    }

    /// Nothing has subscribed to the subject of the first message.
    pub(super) fn unanswered(&self) {
        let mut state = self.state();
        if matches!(state.to, To::Unknown) {
            state.is_unanswered = true;
            drop(state);
            self.lose();
        }
    }

    /// A message has arrived for this side. `from`: what it names as the address of the other. `peer_of` returns a process.
    pub(super) fn arrived(
        &self,
        packet: &Packet<'_>,
        from: Option<&str>,
        peer_of: impl FnOnce(&str) -> Arc<Peer>,
    ) {
        let mut state = self.state();
        if let (To::Unknown, Kind::Accept, Some(from)) = (&state.to, packet.kind, from) {
            if let Some(process) = post::process_of_side(from) {
                state.to = To::Side(from.to_owned(), peer_of(process));
                state.theirs = packet.window.min(MOST_CREDIT);
            }
        }
        if let To::Side(address, peer) = &state.to {
            peer.missed.store(0, SeqCst);
            // The first message was delivered to two servers.
            let other = from.filter(|from| from != address);
            let other = other.filter(|from| post::process_of_side(from).is_some());
            if let (Kind::Accept, Some(other)) = (packet.kind, other) {
                drop(state);
                let gone = Packet::plain(Kind::Gone, &[]);
                return self.post.publish(other, None, &gone);
            }
        }
        let waker = self.take(&mut state, packet);
        drop(state);
        wake(waker);
    }

    fn take(&self, state: &mut State, packet: &Packet<'_>) -> Option<Waker> {
        match packet.kind {
            Kind::Gone => {
                let waker = self.fail(state, false);
                state.has_to_tell = false;
                return waker;
            }
            Kind::Lost => {
                let waker = self.fail(state, false);
                state.has_to_tell = false;
                if let To::Side(address, _) = &state.to {
                    let gone = Packet::plain(Kind::Gone, &[]);
                    self.post.publish(address, None, &gone);
                }
                return waker;
            }
            Kind::Open | Kind::Alive => return None,
            Kind::Accept | Kind::Data | Kind::End | Kind::Ask | Kind::Answer => {}
        }
        if state.ended == Some(Ended::Failed) {
            return None;
        }
        let fits = packet.received <= state.sent && packet.read <= state.used;
        let expected = state.received + u64::from(packet.kind.is_numbered());
        if !fits || packet.number > expected {
            return self.fail(state, true);
        }
        state.confirmed = state.confirmed.max(packet.received);
        let mut waker = None;
        if packet.read > state.returned {
            state.returned = packet.read;
            state.is_blocked = false;
            self.writable.notify_all();
            waker = state.writer.take();
        }
        if packet.kind == Kind::Ask {
            self.publish(state, Kind::Answer, &[]);
        }
        // The broker has delivered it twice.
        if !packet.kind.is_numbered() || packet.number < expected {
            return waker;
        }
        let cost = cost(packet.bytes.len());
        let is_end = packet.kind == Kind::End;
        if state.ended.is_some() || !is_end && state.arrived + cost > state.read + state.ours {
            let failed = self.fail(state, true);
            return failed.or(waker);
        }
        state.received += 1;
        if is_end {
            state.ended = Some(Ended::ByPeer);
        } else {
            state.arrived += cost;
            if state.is_dropped {
                state.read = state.arrived;
                return waker;
            }
            state.chunks.push_back(packet.bytes.to_vec());
        }
        self.raise(state);
        waker
    }

    /// Called at regular intervals. `is_gone` returns whether the peer's process is. `publishes`: the broker can be reached.
    pub(super) fn tick(&self, is_gone: impl FnOnce(&Peer) -> bool, publishes: bool) -> Ticked {
        let mut state = self.state();
        let mut waker = None;
        if let To::Side(_, peer) = &state.to {
            // A connecting side does not know the process that has not answered yet, so it does not notify it.
            if state.sent > 0 && is_gone(peer) {
                waker = self.fail(&mut state, false);
                state.has_to_tell = false;
            }
        }
        let is_failed = state.ended == Some(Ended::Failed);
        if !publishes {
            // It would wait in this process until the broker is back.
        } else if state.has_to_tell {
            self.publish(&mut state, Kind::Lost, &[]);
        } else if !is_failed && (state.sent > state.confirmed || state.is_blocked) {
            self.publish(&mut state, Kind::Ask, &[]);
        }
        if state.is_dropped {
            state.ticks_left = state.ticks_left.saturating_sub(1);
        }
        let is_needed = !state.is_over() && state.ticks_left > 0;
        let peer = match &state.to {
            To::Side(_, peer) if is_needed && !is_failed => Some(Arc::clone(peer)),
            To::Side(..) | To::Servers(_) | To::Unknown => None,
        };
        drop(state);
        wake(waker);
        Ticked { is_needed, peer }
    }

    /// Whether nothing more has to be sent or received.
    pub(super) fn is_over(&self) -> bool {
        self.state().is_over()
    }
}

impl State {
    fn is_over(&self) -> bool {
        let is_done = match self.ended {
            Some(Ended::Failed) => !self.has_to_tell,
            Some(Ended::ByPeer) => self.sent == self.confirmed,
            None => matches!(self.to, To::Servers(_) | To::Unknown),
        };
        self.is_dropped && is_done
    }
}

fn wake(waker: Option<Waker>) {
    if let Some(waker) = waker {
        waker.wake();
    }
}

/// The credit that a message of this many bytes takes.
pub(super) fn cost(length: usize) -> u64 {
    (length + OVERHEAD) as u64
}
