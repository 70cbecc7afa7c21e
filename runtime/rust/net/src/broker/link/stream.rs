//! A side of a session as the program's side of it uses it: a stream of bytes.

use std::any::Any;
use std::collections::VecDeque;
use std::io;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::sync::atomic::Ordering::SeqCst;
use std::sync::{Arc, Condvar, MutexGuard, OnceLock, PoisonError};
use std::task::Waker;
use std::time::Instant;

use rustix::event::{eventfd, EventfdFlags};

use super::{cost, Ended, Link, State, To, UNHEARD};
use crate::broker::endpoint::Endpoint;
use crate::broker::packet::Kind;
use crate::broker::post::OVERHEAD;
use crate::stream::{left, Stream};
use crate::{sync, Verdict};

/// The stream of a session. It keeps the connection to the broker.
pub(crate) struct BrokerStream {
    link: Arc<Link>,
    /// Closed when this is dropped, although the link may stay for a while.
    event: OnceLock<Arc<OwnedFd>>,
    _exchange: Arc<dyn Any + Send + Sync>,
    /// What counts the session, if this is the accepting side.
    endpoint: Option<Arc<Endpoint>>,
}

/// What is known about a session that has not begun.
pub(crate) struct Attempt(Arc<Link>);

impl Attempt {
    /// Whether no server has subscribed to the protocol.
    pub(crate) fn is_unanswered(&self) -> bool {
        self.0.state().is_unanswered
    }

    /// Whether no server has confirmed the first message in time, so the broker has probably lost it.
    pub(crate) fn is_unheard(&self) -> bool {
        self.0.state().is_unheard
    }
}

impl std::fmt::Debug for BrokerStream {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "BrokerStream({})", self.link.address)
    }
}

impl BrokerStream {
    pub(in crate::broker) fn of(
        link: Arc<Link>,
        exchange: Arc<dyn Any + Send + Sync>,
    ) -> BrokerStream {
        BrokerStream {
            link,
            event: OnceLock::new(),
            _exchange: exchange,
            endpoint: None,
        }
    }

    /// Lets the endpoint count the answer to the hello.
    pub(in crate::broker) fn counted(mut self, endpoint: &Arc<Endpoint>) -> BrokerStream {
        self.endpoint = Some(Arc::clone(endpoint));
        self
    }

    pub(crate) fn attempt(&self) -> Attempt {
        Attempt(Arc::clone(&self.link))
    }
}

impl Stream for BrokerStream {
    fn read(&self, to: &mut [u8], deadline: Option<Instant>) -> io::Result<usize> {
        let link = &self.link;
        let mut state = link.state();
        loop {
            let mut count = 0;
            while count < to.len() {
                let start = state.start;
                let Some(chunk) = state.chunks.front() else {
                    break;
                };
                let rest = &chunk[start..];
                let more = rest.len().min(to.len() - count);
                to[count..count + more].copy_from_slice(&rest[..more]);
                count += more;
                if more == rest.len() {
                    let length = chunk.len();
                    state.read += cost(length);
                    state.start = 0;
                    state.chunks.pop_front();
                } else {
                    state.start += more;
                }
            }
            if count > 0 {
                if state.chunks.is_empty() && state.ended.is_none() && !state.is_cut {
                    if let Some(event) = &state.event {
                        let _empty = rustix::io::read(event, &mut [0; 8]);
                    }
                }
                let unreported = state.read - state.reported;
                if unreported >= state.ours / 2 && state.ended.is_none() {
                    link.publish(&mut state, Kind::Answer, &[]);
                }
                return Ok(count);
            }
            match state.ended {
                Some(Ended::ByPeer) => return Ok(0),
                Some(Ended::Failed) => return Err(io::ErrorKind::ConnectionReset.into()),
                None if state.is_cut => return Ok(0),
                None => {}
            }
            let unheard = state.unheard_at();
            if unheard.is_some_and(|at| left(at).is_none()) {
                state.is_unheard = true;
                return Err(io::ErrorKind::ConnectionAborted.into());
            }
            state = match unheard {
                Some(at) if deadline.is_none_or(|deadline| at < deadline) => {
                    let left = at.saturating_duration_since(Instant::now());
                    let waited = link.readable.wait_timeout(state, left);
                    waited.unwrap_or_else(PoisonError::into_inner).0
                }
                Some(_) | None => wait(&link.readable, state, deadline)?,
            };
        }
    }

    fn write(&self, bytes: &[u8], deadline: Option<Instant>) -> io::Result<usize> {
        let link = &self.link;
        let mut state = link.state();
        loop {
            if state.ended == Some(Ended::Failed) || state.is_closed {
                return Err(io::ErrorKind::BrokenPipe.into());
            }
            if let To::Servers(_) = state.to {
                // The hello. The broker's longest message is longer.
                state.used += cost(bytes.len());
                link.publish(&mut state, Kind::Open, bytes);
                state.to = To::Unknown;
                state.opened = Some(Instant::now());
                return Ok(bytes.len());
            }
            let credit = (state.theirs + state.returned).saturating_sub(state.used);
            let credit = usize::try_from(credit).unwrap_or(usize::MAX);
            let most = credit.saturating_sub(OVERHEAD);
            let quarter = usize::try_from(state.theirs / 4).unwrap_or(usize::MAX);
            // Not many short messages where one will do.
            if most >= bytes.len().min(quarter).max(1) && matches!(state.to, To::Side(..)) {
                // The header has at most 1 + 3 * 10 bytes, and that of `Accept` 11 more.
                let longest = link.post.broker.max_message() - OVERHEAD;
                let count = bytes.len().min(most).min(longest);
                let is_first = state.sent == 0;
                let kind = if is_first { Kind::Accept } else { Kind::Data };
                if let (true, To::Side(_, peer)) = (is_first, &state.to) {
                    // From now on the peer has to show that it is there.
                    peer.missed.store(0, SeqCst);
                }
                state.used += cost(count);
                link.publish(&mut state, kind, &bytes[..count]);
                return Ok(count);
            }
            state.is_blocked = true;
            state = wait(&link.writable, state, deadline)?;
        }
    }

    fn close(&self) {
        let mut state = self.link.state();
        let ends = !state.is_closed && state.ended != Some(Ended::Failed);
        if ends {
            self.link.publish(&mut state, Kind::End, &[]);
        }
        state.is_closed = true;
        drop(state);
        // The threads that work for all sessions do not wait for the broker.
        if ends && sync::may_wait() {
            self.link.post.broker.flush();
        }
    }

    fn descriptor(&self) -> Option<BorrowedFd<'_>> {
        if let Some(event) = self.event.get() {
            return Some(event.as_fd());
        }
        let flags = EventfdFlags::CLOEXEC | EventfdFlags::NONBLOCK;
        let new = Arc::new(eventfd(0, flags).ok()?);
        // Under the lock, so that whatever arrives either is seen here or raises it.
        let mut state = self.link.state();
        let event = self.event.get_or_init(|| new);
        state.event = Some(Arc::clone(event));
        if !state.chunks.is_empty() || state.ended.is_some() || state.is_cut {
            self.link.raise(&state);
        }
        Some(event.as_fd())
    }

    fn wakes_writer(&self, waker: &Waker) -> Option<bool> {
        let mut state = self.link.state();
        let waits = state.is_blocked && !state.is_closed && state.ended != Some(Ended::Failed);
        if waits {
            state.writer = Some(waker.clone());
        }
        Some(waits)
    }

    fn end_reads(&self) {
        let mut state = self.link.state();
        state.is_cut = true;
        self.link.raise(&state);
    }

    fn user(&self) -> Option<u32> {
        None
    }

    fn decided(&self, refused: Option<Verdict>) {
        if let Some(endpoint) = &self.endpoint {
            endpoint.count(refused);
        }
    }
}

impl State {
    /// When the first message counts as lost, if no server has confirmed it until then.
    fn unheard_at(&self) -> Option<Instant> {
        let waits = matches!(self.to, To::Unknown) && self.confirmed == 0;
        self.opened.filter(|_| waits).map(|at| at + UNHEARD)
    }
}

fn wait<'s>(
    changed: &Condvar,
    state: MutexGuard<'s, State>,
    deadline: Option<Instant>,
) -> io::Result<MutexGuard<'s, State>> {
    match deadline {
        None => Ok(changed.wait(state).unwrap_or_else(PoisonError::into_inner)),
        Some(deadline) => {
            let left = left(deadline).ok_or(io::ErrorKind::TimedOut)?;
            let waited = changed.wait_timeout(state, left);
            Ok(waited.unwrap_or_else(PoisonError::into_inner).0)
        }
    }
}

impl Drop for BrokerStream {
    fn drop(&mut self) {
        self.close();
        let mut state = self.link.state();
        state.is_dropped = true;
        state.read = state.arrived;
        state.chunks = VecDeque::new();
        state.event = None;
        // What the peer still sends is discarded, so it takes no memory.
        let window = state.window.take();
        drop(state);
        drop(window);
    }
}
