//! Receiving from any number of endpoints.
//!
//! A member is *hot* when checking it may be worthwhile: it is new, it delivered a message and was inserted again,
//! or it rang. Hot members are checked without registering a waiter, so their senders run at the full speed of a
//! pipe without a waiter. A failed check makes a member *tried*. When no member is hot, or after a number of
//! messages, the set registers a waiter with every tried member, whose bell (see `doorbell`) then makes it hot
//! again. Members with a waiter cost nothing. So for each message, there are at most two failed checks of a member, and
//! it is armed at most once, which is constant.
//!
//! A member that delivered a message and was inserted again *has the floor*: it is kept apart from the others, so
//! that receiving from a busy session costs little more than its pipe.

mod doorbell;
mod members;

use std::fmt;
use std::future::Future;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll, Waker};
use std::time::{Duration, Instant};

use crate::floor::barrier;
use crate::floor::deadline;
use crate::floor::sync::current;
use crate::floor::waiting::{BeforeSleep, Waiter};
use crate::many::ports::Receive;
use crate::typed::error::{Closed, TryRecvError};
use doorbell::{Doorbell, Panel, BELLS};
use members::{List, Members};

/// How many messages one session may deliver in a row while other sessions may have messages, too.
const BURST: u32 = 64;

/// With this many tried members or more, checking them all again takes longer than the sleep that it may save.
const MOST_TRIED: usize = 100;

/// A set of receiving endpoints, from which messages are received as they arrive.
///
/// Every endpoint is inserted with a value of your choice, which is returned with the endpoint's message, or with
/// [`Closed`] if the peer has disconnected. The endpoint that follows is in the message: to continue the session,
/// insert that endpoint. Inserting, removing and receiving take constant time, however many endpoints there are, and
/// messages need no allocation.
///
/// If a session has more messages, they are received at once, up to 64 in a row. Then the others get their turn.
///
/// Endpoints of different states or protocols fit into one set as variants of an enum: see [`ports!`](crate::ports).
///
/// ```
/// # use duologue_runtime::{Closed, PortSet, Receive};
/// # fn greet<R: Receive>(guests: Vec<R>, next: impl Fn(R::Message) -> Option<R>) {
/// let mut set = PortSet::new();
/// for (number, guest) in guests.into_iter().enumerate() {
///     set.insert(guest, number);
/// }
/// while let Some((number, message)) = set.recv() {
///     let Ok(message) = message else { continue }; // guest `number` is gone
///     if let Some(guest) = next(message) {
///         set.insert(guest, number);
///     }
/// }
/// # }
/// ```
pub struct PortSet<R, T = ()> {
    members: Members<(R, T)>,
    panels: Vec<Arc<Panel>>,
    doorbell: Arc<Doorbell>,
    /// Whether the set has registered a waiter at the doorbell and not taken it back.
    sleeps: bool,
    /// The kind of waiter that a member's waker is to its sender, depending on whether a thread or a task last waited
    /// for the set. A thread pays for a barrier when it sleeps, one for all members, and the senders continue to store.
    /// A task would pay each time it is pending.
    kind: fn(Waker) -> Waiter,
    floor: Floor<(R, T)>,
    /// How many messages were received since the tried members were last checked again.
    received: u32,
}

/// The session that delivered the last message.
struct Floor<V> {
    session: usize,
    /// How many more messages it may deliver in a row. While this is not 0, its slot among the members is
    /// kept.
    left: u32,
    at: u32,
    generation: u32,
    /// Its endpoint, if it was inserted again.
    member: Option<V>,
}

/// Identifies an endpoint in a [`PortSet`], as long as it is there.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub struct PortKey {
    at: u32,
    generation: u32,
}

impl<R: Receive, T> PortSet<R, T> {
    /// An empty set.
    pub fn new() -> PortSet<R, T> {
        PortSet {
            members: Members::new(),
            panels: Vec::new(),
            doorbell: Doorbell::new(),
            sleeps: false,
            kind: Waiter::Bell,
            floor: Floor {
                session: 0,
                left: 0,
                at: 0,
                generation: 0,
                member: None,
            },
            received: 0,
        }
    }

    /// Adds an endpoint, and the value that is returned with its message. The key is for [`remove`](PortSet::remove).
    #[inline]
    pub fn insert(&mut self, port: R, with: T) -> PortKey {
        let mut port = port;
        let floor = &mut self.floor;
        if floor.left == 0 || floor.member.is_some() || floor.session != session(&mut port) {
            return self.append((port, with));
        }
        floor.generation = floor.generation.wrapping_add(1);
        floor.member = Some((port, with));
        PortKey {
            at: floor.at,
            generation: floor.generation,
        }
    }

    #[inline(never)]
    fn append(&mut self, member: (R, T)) -> PortKey {
        if self.floor.member.is_none() {
            self.yield_floor();
        }
        let at = self.members.insert(member);
        self.members.append(List::Hot, at);
        let generation = self.members.generation(at).unwrap_or_default();
        PortKey { at, generation }
    }

    /// Gives up the slot that is kept, if there is one.
    fn yield_floor(&mut self) {
        if self.floor.left > 0 {
            self.floor.left = 0;
            self.members.release(self.floor.at, self.floor.generation);
        }
    }

    /// Removes an endpoint and returns it with its value. `None` if it is no longer in the set.
    pub fn remove(&mut self, key: PortKey) -> Option<(R, T)> {
        let floor = &mut self.floor;
        if (floor.at, floor.generation) == (key.at, key.generation) && floor.member.is_some() {
            return floor.member.take();
        }
        if self.members.generation(key.at) != Some(key.generation) {
            return None;
        }
        let (mut port, with) = self.members.remove(key.at)?;
        drop(port.watch().0.disarm());
        Some((port, with))
    }

    /// How many endpoints are in the set.
    pub fn len(&self) -> usize {
        self.members.len() + usize::from(self.floor.member.is_some())
    }

    /// Whether the set has no endpoints.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Blocks until any endpoint has a message, and removes that endpoint from the set. Returns the endpoint's value
    /// with the message, or with [`Closed`] if its peer has disconnected and everything it sent has been read. Returns
    /// `None` at once if the set is empty.
    ///
    /// **In a task, use [`recv_async`](PortSet::recv_async): this method blocks the thread.**
    #[inline]
    pub fn recv(&mut self) -> Option<(T, Result<R::Message, Closed>)> {
        // `Option::or_else` may be a call, and then the message is copied with wide loads right after it was stored.
        match self.go_on() {
            Some(received) => Some(received),
            None => self.wait(None),
        }
    }

    /// Like [`recv`](PortSet::recv), but never waits: also returns `None` if nothing has arrived yet.
    #[inline]
    pub fn try_recv(&mut self) -> Option<(T, Result<R::Message, Closed>)> {
        self.kind = Waiter::Bell;
        self.try_next()
    }

    fn try_next(&mut self) -> Option<(T, Result<R::Message, Closed>)> {
        match self.go_on() {
            Some(received) => Some(received),
            None => self.look(),
        }
    }

    /// Receives the next message of the member that has the floor, without waiting.
    #[inline]
    fn go_on(&mut self) -> Option<(T, Result<R::Message, Closed>)> {
        let (port, with) = self.floor.member.take()?;
        match port.try_receive() {
            Ok(message) => {
                self.received += 1;
                if self.floor.left == 1 {
                    self.yield_floor();
                } else {
                    self.floor.left -= 1;
                }
                Some((with, Ok(message)))
            }
            Err(TryRecvError::Closed(closed)) => {
                self.yield_floor();
                Some((with, Err(closed)))
            }
            Err(TryRecvError::Empty(same)) => {
                self.hear_others((same, with));
                None
            }
        }
    }

    /// Moves the member that had the floor to those that were checked without success.
    #[cold]
    fn hear_others(&mut self, member: (R, T)) {
        let Floor { at, generation, .. } = self.floor;
        self.floor.left = 0;
        self.members.fill(at, member, generation);
        self.members.append(List::Tried, at);
    }

    /// Receives a message of any member, without waiting.
    fn look(&mut self) -> Option<(T, Result<R::Message, Closed>)> {
        self.wake_up();
        let members = &mut self.members;
        // SAFETY: this is the set; it does not sleep, and it keeps its panels.
        unsafe {
            self.doorbell.answer(|at| {
                // A slot that became free in the meantime, or was taken by another member, rings once for nothing.
                let at = u32::try_from(at).unwrap_or(u32::MAX);
                if members.get_mut(at).is_some() {
                    members.append(List::Hot, at);
                }
            });
        }
        while let Some(at) = self.members.first(List::Hot) {
            let (port, _) = self.members.get_mut(at)?;
            port.watch().0.never_waits();
            if !port.is_ready() {
                self.members.append(List::Tried, at);
                continue;
            }
            let session = session(port);
            self.yield_floor();
            let (member, generation) = self.members.lift(at)?;
            self.floor = Floor {
                session,
                left: BURST,
                at,
                generation,
                member: Some(member),
            };
            if let Some(received) = self.go_on() {
                if self.received >= BURST {
                    self.received = 0;
                    self.settle();
                }
                return Some(received);
            }
        }
        None
    }

    /// Like [`recv`](PortSet::recv), but waits at most for this duration: also returns `None` if nothing has arrived by
    /// then.
    pub fn recv_timeout(&mut self, patience: Duration) -> Option<(T, Result<R::Message, Closed>)> {
        self.wait(Instant::now().checked_add(patience))
    }

    /// A future that does what [`recv`](PortSet::recv) does.
    ///
    /// # Cancel safety
    ///
    /// The future can be dropped at any time: a message that it did not return is still in its endpoint, and the endpoint
    /// is still in the set.
    pub fn recv_async(&mut self) -> PortSetRecv<'_, R, T> {
        PortSetRecv { set: self }
    }

    fn wait(&mut self, deadline: Option<Instant>) -> Option<(T, Result<R::Message, Closed>)> {
        self.kind = Waiter::Bell;
        let mut before = BeforeSleep::new();
        while !self.is_empty() {
            if let Some(received) = self.try_next() {
                return Some(received);
            }
            let tried = self.members.count(List::Tried);
            if tried < MOST_TRIED && before.pass(tried + 1) {
                self.members.append_all(List::Tried, List::Hot);
            } else if !self.settle()
                && self.sleep(Waiter::Thread(current()))
                && !deadline::sleep(deadline)
            {
                return self.try_recv();
            }
        }
        None
    }

    /// Registers a waiter with all tried members, and makes those hot that turn out to be ready. Returns whether
    /// any member is hot.
    fn settle(&mut self) -> bool {
        let mut next = self.members.first(List::Tried);
        let (mut needs_barrier, mut by_task) = (false, false);
        while let Some(at) = next {
            let waker = self.waker(at as usize);
            if let Some((port, _)) = self.members.get_mut(at) {
                let waiter = (self.kind)(waker);
                by_task = waiter.is_task();
                let wait = port.watch().0;
                needs_barrier |= wait.announce(waiter);
                #[cfg(feature = "registry")]
                wait.note_in_set();
            }
            next = self.members.next(at);
        }
        if needs_barrier {
            barrier::heavy();
        }
        while let Some(at) = self.members.first(List::Tried) {
            self.members.unlink(at);
            let Some((port, _)) = self.members.get_mut(at) else {
                continue;
            };
            if !port.watch().0.confirm(by_task) {
                self.members.append(List::Hot, at);
            }
        }
        self.members.first(List::Hot).is_some()
    }

    fn waker(&mut self, at: usize) -> Waker {
        while self.panels.len() <= at / BELLS {
            let base = self.panels.len() * BELLS;
            self.panels.push(Panel::new(&self.doorbell, base));
        }
        self.panels[at / BELLS].waker(at % BELLS)
    }

    /// Registers a waiter for the next ring; false if a member has rung.
    fn sleep(&mut self, waiter: Waiter) -> bool {
        self.wake_up();
        // SAFETY: this is the set, and it has no waiter registered.
        self.sleeps = unsafe { self.doorbell.sleep(waiter) };
        self.sleeps
    }

    fn wake_up(&mut self) {
        if self.sleeps {
            self.sleeps = false;
            // SAFETY: this is the set.
            unsafe { self.doorbell.retract() };
        }
    }
}

/// Identifies the session.
fn session(port: &mut impl Receive) -> usize {
    port.watch().0.session()
}

impl<R: Receive, T> Default for PortSet<R, T> {
    fn default() -> PortSet<R, T> {
        PortSet::new()
    }
}

impl<R: Receive, T> Extend<(R, T)> for PortSet<R, T> {
    fn extend<I: IntoIterator<Item = (R, T)>>(&mut self, ports: I) {
        for (port, with) in ports {
            self.insert(port, with);
        }
    }
}

impl<R: Receive, T> FromIterator<(R, T)> for PortSet<R, T> {
    fn from_iter<I: IntoIterator<Item = (R, T)>>(ports: I) -> PortSet<R, T> {
        let mut set = PortSet::new();
        set.extend(ports);
        set
    }
}

impl<R, T> fmt::Debug for PortSet<R, T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "PortSet({} endpoints)", self.members.len())
    }
}

/// The future of [`PortSet::recv_async`].
#[must_use = "futures do nothing unless they are awaited"]
pub struct PortSetRecv<'s, R: Receive, T> {
    set: &'s mut PortSet<R, T>,
}

impl<R: Receive, T> Future for PortSetRecv<'_, R, T> {
    type Output = Option<(T, Result<R::Message, Closed>)>;

    fn poll(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Self::Output> {
        let set = &mut *self.set;
        set.kind = Waiter::Task;
        while !set.is_empty() {
            if let Some(received) = set.try_next() {
                return Poll::Ready(Some(received));
            }
            if !set.settle() && set.sleep(Waiter::Task(context.waker().clone())) {
                return Poll::Pending;
            }
        }
        Poll::Ready(None)
    }
}

impl<R: Receive, T> Drop for PortSetRecv<'_, R, T> {
    fn drop(&mut self) {
        self.set.wake_up();
    }
}
