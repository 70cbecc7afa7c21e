//! The sessions that other processes begin with a listener.

use std::collections::{BTreeMap, VecDeque};
use std::fmt;
use std::io;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::sync::atomic::AtomicBool;
use std::sync::atomic::Ordering::SeqCst;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, Weak};
use std::time::{Duration, Instant};

use rustix::event::{eventfd, EventfdFlags};

use super::discovery::Service;
use super::endpoint::Endpoint;
use super::exchange::{subject, Hub, GROUP};
use super::link::BrokerStream;
use super::{Inbox, Servers, Subscription};
use crate::error::Verdict;
use crate::hello::refusal;
use crate::stream::{write_all, Stream};
use crate::{Error, Fingerprint};

/// How many sessions may wait until the listener takes them.
const MOST_WAITING: usize = 256;

/// How long a listener that drains waits for sessions that are requested at the same moment.
const SETTLING: Duration = Duration::from_secs(1);

/// A session that has been requested: its stream begins with the hello.
pub(crate) type Opened = BrokerStream;

/// Where a listener gets sessions from: the subjects of its protocols.
pub(crate) struct Openings {
    hub: Arc<Hub>,
    name: String,
    waiting: Arc<Waiting>,
    served: Mutex<BTreeMap<[u8; 16], Groups>>,
    service: Arc<Service>,
    is_discoverable: AtomicBool,
    /// The subscriptions of the service, if there are any.
    announced: Mutex<Vec<Subscription>>,
}

/// The groups of one protocol. Those of a listener that is full leave `ready`, and what is in `full` stays.
struct Groups {
    inbox: Arc<Opens>,
    ready: Option<Subscription>,
    full: Option<Subscription>,
}

/// What a listener has not taken yet.
struct Waiting {
    hub: Weak<Hub>,
    /// Readable while something is there.
    event: OwnedFd,
    state: Mutex<State>,
}

#[derive(Default)]
struct State {
    opened: VecDeque<BrokerStream>,
    is_draining: bool,
    /// Whether the broker delivers nothing more.
    is_lost: bool,
}

impl fmt::Debug for Openings {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Openings({})", self.name)
    }
}

impl Openings {
    pub(super) fn new(hub: &Arc<Hub>, name: &str) -> Result<Openings, Error> {
        let flags = EventfdFlags::CLOEXEC | EventfdFlags::NONBLOCK;
        let event = eventfd(0, flags).map_err(io::Error::from);
        Ok(Openings {
            hub: Arc::clone(hub),
            name: name.to_owned(),
            waiting: Arc::new(Waiting {
                hub: Arc::downgrade(hub),
                event: event.map_err(Error::io("listen"))?,
                state: Mutex::default(),
            }),
            served: Mutex::default(),
            service: Arc::new(Service::new(&hub.post, name)?),
            is_discoverable: AtomicBool::new(false),
            announced: Mutex::default(),
        })
    }

    /// Lets programs find this listener with the service discovery of NATS, from the next call of `serve` on.
    pub(crate) fn set_discoverable(&self) {
        self.is_discoverable.store(true, SeqCst);
    }

    /// Subscribes to the subjects of these fingerprints of protocols, unless the listener has done that, or drains.
    pub(crate) fn serve(
        &self,
        protocols: impl Iterator<Item = (&'static str, Fingerprint)>,
    ) -> Result<(), Error> {
        let mut served = lock(&self.served);
        for (protocol, fingerprint) in protocols {
            if lock(&self.waiting.state).is_draining || served.contains_key(&fingerprint.0) {
                continue;
            }
            let subject = subject(&self.name, fingerprint, Servers::Ready);
            let endpoint = Arc::new(Endpoint::new(subject, protocol, fingerprint));
            let inbox = Arc::new(Opens {
                waiting: Arc::clone(&self.waiting),
                endpoint: Arc::clone(&endpoint),
            });
            let listening = self.hub.listen(&endpoint.subject, Arc::clone(&inbox) as _);
            let groups = Groups {
                inbox,
                ready: Some(listening?),
                full: None,
            };
            served.insert(fingerprint.0, groups);
            self.service.add(&endpoint);
        }
        drop(served);
        let mut announced = lock(&self.announced);
        let is_wanted = self.is_discoverable.load(SeqCst) && announced.is_empty();
        if is_wanted && !lock(&self.waiting.state).is_draining {
            *announced = self.service.announce(&self.hub)?;
        }
        Ok(())
    }

    /// Leaves the group while the listener is full, so that the broker chooses others, and comes back when it is not. What cannot be
    /// changed now is tried again at the next call.
    pub(crate) fn set_full(&self, is_full: bool) {
        let mut left = Vec::new();
        let mut served = lock(&self.served);
        if lock(&self.waiting.state).is_draining {
            return;
        }
        let join = |inbox: &Arc<Opens>, servers| {
            let subject = subject(&self.name, inbox.endpoint.fingerprint, servers);
            self.hub.join(&subject, GROUP, Arc::clone(inbox) as _).ok()
        };
        for groups in served.values_mut() {
            if is_full && groups.ready.is_some() {
                // First, so that clients always find somebody who says that all are full.
                groups.full = groups
                    .full
                    .take()
                    .or_else(|| join(&groups.inbox, Servers::Full));
                left.extend(groups.ready.take());
            } else if !is_full && groups.ready.is_none() {
                groups.ready = join(&groups.inbox, Servers::Ready);
            }
        }
        // Not under the lock, because that is code of the broker.
        drop(served);
        drop(left);
    }

    /// The name of the group.
    pub(crate) fn name(&self) -> &str {
        &self.name
    }

    /// Takes a session that has been requested.
    ///
    /// # Errors
    /// [`WouldBlock`](io::ErrorKind::WouldBlock) if there is none, and [`NotConnected`](io::ErrorKind::NotConnected) if there will be none.
    pub(crate) fn take(&self) -> io::Result<Opened> {
        let mut state = lock(&self.waiting.state);
        let taken = state.opened.pop_front();
        if state.opened.is_empty() && !state.is_lost {
            let _empty = rustix::io::read(&self.waiting.event, &mut [0; 8]);
        }
        taken.ok_or_else(|| match state.is_lost {
            true => io::Error::new(
                io::ErrorKind::NotConnected,
                "the connection to the broker is closed",
            ),
            false => io::ErrorKind::WouldBlock.into(),
        })
    }

    pub(crate) fn descriptor(&self) -> BorrowedFd<'_> {
        self.waiting.event.as_fd()
    }

    /// Waits for a short time until the system has what the sessions have sent last.
    pub(crate) fn flush(&self) {
        self.hub.flush();
    }

    /// Requests no further sessions. Those that arrive all the same are refused.
    pub(crate) fn drain(&self) {
        let opened = {
            let mut state = lock(&self.waiting.state);
            state.is_draining = true;
            std::mem::take(&mut state.opened)
        };
        self.service.end();
        drop(std::mem::take(&mut *lock(&self.announced)));
        let ended = std::mem::take(&mut *lock(&self.served));
        let was_listening = !ended.is_empty();
        drop(ended);
        for opened in opened {
            refuse(&opened, Verdict::Draining);
        }
        if was_listening {
            // What the broker has delivered until now is refused, before this process may end.
            let _unreachable = self.hub.settle(SETTLING);
        }
    }
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

fn refuse(opened: &BrokerStream, verdict: Verdict) {
    let _written = write_all(opened, &refusal(verdict, 0), Some(Instant::now()));
    opened.close();
}

/// Takes the messages that begin sessions of one protocol.
struct Opens {
    waiting: Arc<Waiting>,
    endpoint: Arc<Endpoint>,
}

impl Inbox for Opens {
    fn arrived(&self, _: &str, reply: Option<&str>, message: &[u8]) {
        let waiting = &*self.waiting;
        let Some(hub) = waiting.hub.upgrade() else {
            return;
        };
        let mut state = lock(&waiting.state);
        let verdict = if state.is_draining {
            Some(Verdict::Draining)
        } else {
            (state.opened.len() >= MOST_WAITING).then_some(Verdict::Full)
        };
        if let Some(opened) = hub.accept(reply, message, verdict) {
            state.opened.push_back(opened.counted(&self.endpoint));
            let _full = rustix::io::write(&waiting.event, &1_u64.to_ne_bytes());
        }
        // What has been opened keeps the process, too: nothing ends under the lock.
        drop(state);
        drop(hub);
    }

    fn unanswered(&self, _: &str) {}

    fn lost(&self) {
        let mut state = lock(&self.waiting.state);
        // A listener that drains waits for no further session.
        state.is_lost = !state.is_draining;
        if state.is_lost {
            let _full = rustix::io::write(&self.waiting.event, &1_u64.to_ne_bytes());
        }
    }
}
