//! The state that a listener shares with its threads: which sessions exist, and whether more may
//! begin.

use std::collections::{HashMap, VecDeque};
use std::fmt;
use std::sync::{Arc, Condvar, Mutex, MutexGuard, Weak};
use std::time::{Duration, Instant};

use rustix::fd::OwnedFd;

use crate::core::Terms;
use crate::error::Verdict;
use crate::health::Health;
use crate::listen::handshake::{Policy, Served, Value};
use crate::observe::Seen;
use crate::remote::session::{Held, Holds, Session};
use crate::sync;
use crate::transport::address::Origin;
use crate::transport::stream::Stream;

/// A connection on which a session has begun.
pub(super) type Ready = (Box<dyn Stream>, Terms, Option<Seen>, Held);

/// A session that waits for `accept` to take it, with the side that it is for.
type Unaccepted = (Served, Ready, Value);

/// What the listener shares with its threads.
pub(super) struct Shared {
    pub(super) policy: Mutex<Policy>,
    /// Signaled when something changes that `run` or `accept` waits for.
    pub(super) event: OwnedFd,
    pub(super) state: Mutex<State>,
    pub(super) ended: Condvar,
}

#[derive(Default)]
pub(super) struct State {
    /// How many hellos are being read.
    pub(super) handshakes: usize,
    /// Sessions of handlers that have not ended.
    pub(super) sessions: usize,
    pub(super) is_draining: bool,
    /// Sessions for `accept` whose hello has been read, and which have neither begun nor been refused.
    pub(super) beginning: usize,
    /// Sessions that wait for `accept` to take them.
    begun: VecDeque<Unaccepted>,
    /// The listener is gone, so nothing takes a session that has begun.
    is_dropped: bool,
    /// What is served of the server's health.
    pub(super) health: Vec<Health>,
    /// Sessions for `accept` that are not over, whether or not it has taken them.
    pub(super) accepted: usize,
    /// How many connections each peer has, if that is limited.
    peers: HashMap<Origin, usize>,
    /// The sessions that are not over, by the numbers of their [`Member`]s.
    open: HashMap<u64, Weak<Session>>,
    /// How many members there have been.
    members: u64,
    /// The time for draining is over: sessions are ended, also those that begin now.
    is_cut: bool,
}

impl State {
    /// Whether the listener is drained: no further session may begin, and none is left.
    pub(super) fn is_drained(&self) -> bool {
        self.is_draining && self.sessions == 0 && self.beginning == 0
    }

    /// Whether all sessions have ended, and all handlers have returned.
    fn has_ended(&self) -> bool {
        self.sessions == 0 && self.accepted == 0 && self.open.is_empty()
    }

    /// Why no further session may begin, if there may be this many.
    fn refusal(&self, most: usize) -> Result<(), Verdict> {
        if self.is_draining {
            return Err(Verdict::Draining);
        }
        if self.sessions + self.accepted >= most {
            return Err(Verdict::Full);
        }
        Ok(())
    }

    /// Leaves a session to `accept`. Returns it if there will be none; the caller drops it where it holds no lock.
    #[must_use = "drop it where no lock is held"]
    pub(super) fn begin(&mut self, begun: Unaccepted) -> Option<Unaccepted> {
        if self.is_dropped {
            return Some(begun);
        }
        self.begun.push_back(begun);
        None
    }

    /// The listener is gone. Returns the sessions that it has not accepted; the caller drops them where it holds no lock.
    #[must_use = "drop them where no lock is held"]
    pub(super) fn drop_begun(&mut self) -> VecDeque<Unaccepted> {
        self.is_dropped = true;
        std::mem::take(&mut self.begun)
    }

    /// Whether a session waits for an `accept` of this side, with a value of this type.
    pub(super) fn has_begun<V: 'static>(&self, served: &Served) -> bool {
        self.position::<V>(served).is_some()
    }

    /// Takes a session that waits for an `accept` of this side, with a value of this type.
    pub(super) fn take_begun<V: 'static>(&mut self, served: &Served) -> Option<(Ready, V)> {
        let at = self.position::<V>(served)?;
        let (_, ready, value) = self.begun.remove(at)?;
        Some((ready, *value.downcast().ok()?))
    }

    fn position<V: 'static>(&self, served: &Served) -> Option<usize> {
        let is_it = |(of, _, value): &Unaccepted| of.is_side(served) && value.is::<V>();
        self.begun.iter().position(is_it)
    }
}

impl Shared {
    pub(super) fn state(&self) -> MutexGuard<'_, State> {
        sync::lock(&self.state)
    }

    pub(super) fn policy(&self) -> MutexGuard<'_, Policy> {
        sync::lock(&self.policy)
    }

    pub(super) fn signal(&self) {
        let _full = rustix::io::write(&self.event, &1_u64.to_ne_bytes());
    }
}

/// What a [`Listener`](crate::Listener) has to do at a moment.
#[non_exhaustive]
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Load {
    /// How many sessions count toward [`max_sessions`](crate::Listener::max_sessions).
    pub sessions: usize,
    /// Whether further sessions are refused because there are that many.
    pub is_full: bool,
    /// Whether further sessions are refused because the listener drains, or is gone.
    pub is_draining: bool,
}

/// Stops a [`Listener`](crate::Listener) from another thread.
#[derive(Clone)]
pub struct Drain(pub(super) Arc<Shared>);

impl Drain {
    /// Accepts no further sessions: hellos are refused, and [`Listener::run`](crate::Listener::run) returns once all
    /// open sessions have ended.
    pub fn begin(&self) {
        let mut state = self.0.state();
        state.is_draining = true;
        let served = state.health.clone();
        drop(state);
        self.0.signal();
        for health in served {
            health.wake();
        }
    }

    /// What the listener has to do at the moment.
    #[must_use]
    pub fn load(&self) -> Load {
        let most = self.0.policy().max_sessions;
        let state = self.0.state();
        let sessions = state.sessions + state.accepted;
        Load {
            sessions,
            is_full: sessions >= most,
            is_draining: state.is_draining,
        }
    }

    /// Like [`begin`](Drain::begin), and waits until all sessions have ended and all handlers have returned, at most for
    /// `patience`. Then it ends the sessions that are left: their endpoints are [`Lost`](duologue::Why::Lost), and their peers
    /// find that this side has left. Returns whether nothing was left.
    #[must_use]
    pub fn within(&self, patience: Duration) -> bool {
        self.begin();
        let began = Instant::now();
        let mut state = self.0.state();
        loop {
            if state.has_ended() {
                return true;
            }
            let left = patience.saturating_sub(began.elapsed());
            if left.is_zero() {
                break;
            }
            state = sync::wait(&self.0.state, &self.0.ended, state, Some(left));
        }
        state.is_cut = true;
        let left: Vec<_> = state.open.values().filter_map(Weak::upgrade).collect();
        // Nobody has accepted these: their peers find that they are lost.
        let waiting = std::mem::take(&mut state.begun);
        // Sessions take the lock when they end.
        drop(state);
        drop(waiting);
        for session in left {
            session.cut();
        }
        false
    }
}

impl fmt::Debug for Drain {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Drain")
    }
}

/// Counts one of what a listener has, as long as it exists. It does not keep the listener's state, which may own it.
pub(super) struct Counts {
    shared: Weak<Shared>,
    of: fn(&mut State) -> &mut usize,
}

impl Counts {
    /// One more of these.
    pub(super) fn one(
        shared: &Arc<Shared>,
        state: &mut State,
        of: fn(&mut State) -> &mut usize,
    ) -> Counts {
        *of(state) += 1;
        Counts {
            shared: Arc::downgrade(shared),
            of,
        }
    }

    /// Counts a further session as each of these, or returns why it may not begin.
    pub(super) fn session<const N: usize>(
        shared: &Arc<Shared>,
        of: [fn(&mut State) -> &mut usize; N],
    ) -> Result<[Counts; N], Verdict> {
        let most = shared.policy().max_sessions;
        let mut state = shared.state();
        state.refusal(most)?;
        Ok(of.map(|of| Counts::one(shared, &mut state, of)))
    }
}

impl Drop for Counts {
    fn drop(&mut self) {
        if let Some(shared) = self.shared.upgrade() {
            *(self.of)(&mut shared.state()) -= 1;
            shared.ended.notify_all();
            shared.signal();
        }
    }
}

/// The listener's part of a session, which knows when it begins and when it is over. It does not keep the listener's state, which
/// may own it.
pub(super) struct Member {
    shared: Weak<Shared>,
    number: u64,
    _accepted: Option<Counts>,
    _place: Option<Place>,
}

impl Member {
    pub(super) fn of(
        shared: &Arc<Shared>,
        accepted: Option<Counts>,
        place: Option<Place>,
    ) -> Member {
        let mut state = shared.state();
        state.members += 1;
        Member {
            shared: Arc::downgrade(shared),
            number: state.members,
            _accepted: accepted,
            _place: place,
        }
    }
}

impl Holds for Member {
    fn begun(&self, session: &Arc<Session>) {
        let Some(shared) = self.shared.upgrade() else {
            return;
        };
        let mut state = shared.state();
        state.open.insert(self.number, Arc::downgrade(session));
        let is_cut = state.is_cut;
        drop(state);
        if is_cut {
            session.cut();
        }
    }
}

impl Drop for Member {
    fn drop(&mut self) {
        if let Some(shared) = self.shared.upgrade() {
            shared.state().open.remove(&self.number);
            shared.ended.notify_all();
        }
    }
}

/// A connection that counts toward the limit of its peer. It does not keep the listener's state, which may own it.
pub(super) struct Place {
    shared: Weak<Shared>,
    origin: Origin,
}

impl Place {
    /// Counts a further connection of this peer, unless it has as many as it may have.
    pub(super) fn take(shared: &Arc<Shared>, origin: Origin, most: usize) -> Option<Place> {
        let mut state = shared.state();
        let count = state.peers.get(&origin).map_or(0, |count| *count);
        if count >= most {
            return None;
        }
        state.peers.insert(origin, count + 1);
        Some(Place {
            shared: Arc::downgrade(shared),
            origin,
        })
    }
}

impl Drop for Place {
    fn drop(&mut self) {
        let Some(shared) = self.shared.upgrade() else {
            return;
        };
        let mut state = shared.state();
        let Some(count) = state.peers.get_mut(&self.origin) else {
            return;
        };
        *count -= 1;
        if *count == 0 {
            state.peers.remove(&self.origin);
        }
    }
}
