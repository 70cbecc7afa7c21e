//! Receiving from any number of endpoints.
//!
//! A member is *hot* when a look at it may be worth while: it is new, it gave a message and came back, or it rang.
//! Hot members are looked at without leaving a waiter, so their senders run at the full speed of a pipe that nobody waits
//! for. A look in vain makes a member *tried*, and when there is nothing hot, or after a number of messages, the set
//! leaves a waiter with every tried member, whose bell (see `doorbell`) then makes it hot again. Members with a waiter
//! cost nothing, save where the barrier is lost (see `barrier`): then those whose waiter may be missed are looked at again each time.
//! So per message a member is looked at twice in vain and armed once at most, which is constant.
//!
//! A member that gave a message and came back *has the floor*: it is kept apart from the others, so that a session which
//! says much is received from at little more than the cost of its pipe.

mod doorbell;
mod members;

use std::fmt;
use std::future::Future;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll, Waker};
use std::time::{Duration, Instant};

use crate::error::{Closed, TryRecvError};
use crate::give_way::give_way;
use crate::ports::Receive;
use crate::relook::{self, Pause};
use crate::sync::{current, spin_loop};
use crate::wait::Waiter;
use crate::watched::barrier;
use doorbell::{Doorbell, Panel, BELLS};
use members::{List, Members};

/// How many messages one session may give in a row while others may have some, too.
const BURST: u32 = 64;

/// How many looks at members are worth the sleep that they may save.
const LOOKS: usize = if cfg!(loom) { 0 } else { 100 };

/// How often to let other threads run before sleeping.
const YIELDS: u32 = if cfg!(loom) { 0 } else { 4 };

/// A set of receiving endpoints, from which messages are received as they come.
///
/// Every endpoint comes with a value of the program's own, which is given back with the message, or with the news that
/// the peer is gone. The endpoint that follows the message is in the message: to go on with the session, insert it again.
/// Inserting, removing and receiving take constant time, however many endpoints there are, and messages need no allocation.
///
/// A session that has more to say is heard again at once, up to 64 messages in a row; then the others have their turn.
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
    /// Whether the set left a waiter at the doorbell and did not take it back.
    sleeps: bool,
    /// What a waker of a member is to its sender, by who waited for the set last. A thread pays for a barrier when it
    /// sleeps, one for all members, and the senders go on storing; a task would pay with each time that it is pending.
    kind: fn(Waker) -> Waiter,
    floor: Floor<(R, T)>,
    /// How many messages were received since the tried members were looked at again.
    received: u32,
    /// How long a task waits before it looks again, where a waiter may be missed.
    pause: Pause,
}

/// The session that gave the last message.
struct Floor<V> {
    session: usize,
    /// How many more it may give in a row. While there are some, its place among the members is kept.
    left: u32,
    at: u32,
    generation: u32,
    /// Its endpoint, if it came back.
    member: Option<V>,
}

/// Names an endpoint in a [`PortSet`], as long as it is there.
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
            pause: Pause::default(),
        }
    }

    /// Adds an endpoint, and the value that comes back with its message. The key is for [`remove`](PortSet::remove).
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

    /// Gives up the place that is kept, if there is one.
    fn yield_floor(&mut self) {
        if self.floor.left > 0 {
            self.floor.left = 0;
            self.members.release(self.floor.at, self.floor.generation);
        }
    }

    /// Takes an endpoint out again, with its value. `None` if it is not there any more.
    pub fn remove(&mut self, key: PortKey) -> Option<(R, T)> {
        let floor = &mut self.floor;
        if (floor.at, floor.generation) == (key.at, key.generation) && floor.member.is_some() {
            return floor.member.take();
        }
        if self.members.generation(key.at) != Some(key.generation) {
            return None;
        }
        let (mut port, with) = self.members.remove(key.at)?;
        port.watch().0.disarm();
        Some((port, with))
    }

    /// How many endpoints are in the set.
    pub fn len(&self) -> usize {
        self.members.len() + usize::from(self.floor.member.is_some())
    }

    /// Whether there is no endpoint in the set.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Waits for a message of any endpoint, and takes that endpoint out: gives its value, and the message or the news
    /// that its peer is gone and everything it sent has been read. `None`, at once, if the set is empty.
    #[inline]
    pub fn recv(&mut self) -> Option<(T, Result<R::Message, Closed>)> {
        match self.go_on() {
            Some(received) => Some(received),
            None => self.wait(None),
        }
    }

    /// Like [`recv`](PortSet::recv), but never waits: `None` also if nothing has come yet.
    #[inline]
    pub fn try_recv(&mut self) -> Option<(T, Result<R::Message, Closed>)> {
        match self.go_on() {
            Some(received) => Some(received),
            None => self.look(),
        }
    }

    /// The next message of the member that has the floor.
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

    /// Puts the member that had the floor to those that were looked at in vain.
    #[cold]
    fn hear_others(&mut self, member: (R, T)) {
        let Floor { at, generation, .. } = self.floor;
        self.floor.left = 0;
        self.members.fill(at, member, generation);
        self.members.append(List::Tried, at);
    }

    /// A message of any member.
    fn look(&mut self) -> Option<(T, Result<R::Message, Closed>)> {
        self.wake_up();
        let members = &mut self.members;
        members.append_all(List::Unsure, List::Hot);
        // SAFETY: this is the set; it does not sleep, and it keeps its panels.
        unsafe {
            self.doorbell.answer(|at| {
                // A place that became free in the meantime, or was taken by another member, rings once in vain.
                let at = u32::try_from(at).unwrap_or(u32::MAX);
                if members.get_mut(at).is_some() {
                    members.append(List::Hot, at);
                }
            });
        }
        while let Some(at) = self.members.first(List::Hot) {
            let (port, _) = self.members.get_mut(at)?;
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

    /// Like [`recv`](PortSet::recv), but waits no longer than this: `None` also if nothing came.
    pub fn recv_timeout(&mut self, patience: Duration) -> Option<(T, Result<R::Message, Closed>)> {
        self.wait(Instant::now().checked_add(patience))
    }

    /// A future that does what [`recv`](PortSet::recv) does. It can be dropped at any time; nothing is lost.
    pub fn recv_async(&mut self) -> PortSetRecv<'_, R, T> {
        PortSetRecv { set: self }
    }

    fn wait(&mut self, deadline: Option<Instant>) -> Option<(T, Result<R::Message, Closed>)> {
        self.kind = Waiter::Bell;
        let (mut looks, mut yields) = (0, 0);
        let mut pause = Pause::default();
        while !self.is_empty() {
            if let Some(received) = self.try_recv() {
                return Some(received);
            }
            looks += self.members.count(List::Tried) + 1;
            if looks < LOOKS {
                spin_loop();
                self.members.append_all(List::Tried, List::Hot);
            } else if yields < YIELDS && self.members.count(List::Tried) < LOOKS {
                yields = if give_way() { yields + 1 } else { YIELDS };
                self.members.append_all(List::Tried, List::Hot);
            } else if !self.settle() && self.sleep(Waiter::Thread(current())) {
                let mut limit = (self.members.count(List::Unsure) > 0).then_some(pause);
                if !relook::sleep(deadline, &mut limit) {
                    return self.try_recv();
                }
                pause = limit.unwrap_or_default();
            }
        }
        None
    }

    /// Leaves a waiter with all tried members, and makes hot those that are ready after all. Says whether there is
    /// something hot.
    fn settle(&mut self) -> bool {
        let mut next = self.members.first(List::Tried);
        let mut needs_barrier = false;
        while let Some(at) = next {
            let waker = self.waker(at as usize);
            if let Some((port, _)) = self.members.get_mut(at) {
                needs_barrier |= port.watch().0.announce((self.kind)(waker));
            }
            next = self.members.next(at);
        }
        let is_certain = !needs_barrier || barrier();
        while let Some(at) = self.members.first(List::Tried) {
            self.members.unlink(at);
            let Some((port, _)) = self.members.get_mut(at) else {
                continue;
            };
            let watched = port.watch().0;
            if !watched.confirm(is_certain) {
                self.members.append(List::Hot, at);
            } else if !is_certain && watched.needs_barrier() {
                self.members.append(List::Unsure, at);
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

    /// Leaves a waiter for the next ring; false if somebody rang.
    fn sleep(&mut self, waiter: Waiter) -> bool {
        self.wake_up();
        // SAFETY: this is the set, and no waiter of it is left.
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

/// Tells sessions apart.
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
            if let Some(received) = set.try_recv() {
                set.pause = Pause::default();
                return Poll::Ready(Some(received));
            }
            if !set.settle() && set.sleep(Waiter::Task(context.waker().clone())) {
                if set.members.count(List::Unsure) > 0 {
                    relook::wake_after(set.pause.next(), context.waker());
                }
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
