//! Whether a server can be used: a protocol that a listener serves next to those of the program, at the same address.
//!
//! A server makes a [`Health`], gives it to [`Listener::health`](crate::Listener::health), and says which of its services can
//! be used. A client asks once with [`check`], or learns of each change with [`watch`].
//!
//! ```no_run
//! use duologue_net::health::{self, Health, Status};
//! use duologue_net::{Connector, Listener};
//!
//! # fn show() -> Result<(), duologue_net::Error> {
//! // The server:
//! let health = Health::new();
//! health.set("bank", Status::NotServing);
//! let mut listener = Listener::bind("unix:/run/bank.sock")?;
//! listener.health(&health);
//!
//! // Later, from any thread:
//! health.set("bank", Status::Serving);
//!
//! // The client:
//! let status = health::check(&Connector::new(), "unix:/run/bank.sock", "bank")?;
//! # let _ = status;
//! # Ok(())
//! # }
//! ```
//!
//! The protocol is `runtime/health.proto` in the repository, so the other side may be written in another language.

use std::collections::BTreeMap;
use std::fmt;
use std::sync::{Arc, Condvar, Mutex, MutexGuard};
use std::time::{Duration, Instant};

use duologue::transport::{Open, Start};
use duologue::{Closed, TryRecvError};

use crate::{sync, Connector, Error, Fingerprint, Verdict};

#[rustfmt::skip]
mod protocol;

use protocol::health::{client, server, Answer, Ask};
pub use protocol::Status;

/// How long a client that waits for a change has no answer.
const PERIOD: Duration = Duration::from_secs(20);

/// How often the server checks whether it drains, while it is the client's turn, which is never long for most clients.
const LOOK: Duration = Duration::from_millis(100);

/// How many times it does so after it has begun to drain. Until then, a client that handles a change can still ask, and learns it.
const LAST_LOOKS: u32 = 5;

/// Which services of a server can be used. Copies share their content.
///
/// The whole server has the empty name, and can be used unless the program says otherwise. All other names are those that
/// the program sets; a protocol's name is a good one.
#[derive(Clone, Default)]
pub struct Health(Arc<Services>);

#[derive(Default)]
struct Services {
    /// Those that the program has set.
    statuses: Mutex<BTreeMap<String, Status>>,
    changed: Condvar,
}

impl Health {
    /// The server can be used, and has no services with a name.
    #[must_use]
    pub fn new() -> Health {
        Health::default()
    }

    /// Sets the status of a service, or with an empty name of the whole server. All clients that watch it are notified.
    /// [`Status::Unknown`] removes a service.
    pub fn set(&self, service: &str, status: Status) {
        let mut statuses = self.0.statuses();
        if status == Status::Unknown && !service.is_empty() {
            statuses.remove(service);
        } else {
            statuses.insert(service.to_owned(), status);
        }
        drop(statuses);
        self.0.changed.notify_all();
    }

    /// The status of a service, or with an empty name of the whole server.
    #[must_use]
    pub fn status(&self, service: &str) -> Status {
        status_in(&self.0.statuses(), service)
    }

    /// A listener that serves this drains, as its state already says.
    pub(crate) fn wake(&self) {
        // Under the lock, so that a thread that has seen the earlier state already waits.
        let statuses = self.0.statuses();
        self.0.changed.notify_all();
        drop(statuses);
    }

    /// The status of a service, once it is not `known` or this period has passed. `None` if the server drains.
    pub(crate) fn next(
        &self,
        service: &str,
        known: Option<&Status>,
        period: Duration,
        is_draining: &dyn Fn() -> bool,
    ) -> Option<Status> {
        let began = Instant::now();
        let mut statuses = self.0.statuses();
        loop {
            if is_draining() {
                return None;
            }
            let status = status_in(&statuses, service);
            let left = period.saturating_sub(began.elapsed());
            if known != Some(&status) || left.is_zero() {
                return Some(status);
            }
            let all = &*self.0;
            statuses = sync::wait(&all.statuses, &all.changed, statuses, Some(left));
        }
    }

    /// Answers one client, for a listener.
    pub(crate) fn serve(&self, ask: server::Ask, is_draining: &dyn Fn() -> bool) {
        // A client that is gone does not need its answer.
        let _ended = self.answer(ask, is_draining);
    }

    fn answer(&self, mut ask: server::Ask, is_draining: &dyn Fn() -> bool) -> Result<(), Closed> {
        let mut looks = 0;
        loop {
            let asked = match ask.recv_timeout(LOOK) {
                Err(TryRecvError::Closed(closed)) => return Err(closed),
                // Dropping it ends the session.
                Err(TryRecvError::Empty(_)) if looks == LAST_LOOKS => return Ok(()),
                Err(TryRecvError::Empty(same)) => {
                    looks += u32::from(is_draining());
                    ask = same;
                    continue;
                }
                Ok(asked) => asked,
            };
            let (service, known, answer) = match asked {
                Ask::Check { service, next } => (service, None, next),
                Ask::Wait {
                    service,
                    status,
                    next,
                } => (service, Some(status), next),
                Ask::Quit => return Ok(()),
            };
            ask = match self.next(&service, known.as_ref(), PERIOD, is_draining) {
                Some(status) => answer.status(status)?,
                None => return Ok(answer.draining()?),
            };
        }
    }
}

impl Services {
    fn statuses(&self) -> MutexGuard<'_, BTreeMap<String, Status>> {
        sync::lock(&self.statuses)
    }
}

/// That of the protocol of health checks.
pub(crate) fn fingerprint() -> Fingerprint {
    fn of<E: Open>() -> Fingerprint {
        Fingerprint(E::State::FINGERPRINT)
    }
    of::<client::Ask>()
}

fn status_in(statuses: &BTreeMap<String, Status>, service: &str) -> Status {
    let usual = if service.is_empty() {
        Status::Serving
    } else {
        Status::Unknown
    };
    statuses.get(service).cloned().unwrap_or(usual)
}

impl fmt::Debug for Health {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_map().entries(self.0.statuses().iter()).finish()
    }
}

/// Asks the server at this address for the status of a service, or with an empty name of the whole server. A server that
/// drains is [`Status::NotServing`]. The name has at most 256 bytes.
///
/// # Errors
/// If there is no session, as for [`Connector::connect`], or if it ends without an answer: [`Error::Ended`].
pub fn check(connector: &Connector, address: &str, service: &str) -> Result<Status, Error> {
    let Some(ask) = begin(connector, address)? else {
        return Ok(Status::NotServing);
    };
    let answer = ask.check(service.to_owned()).map_err(Closed::from);
    match answer
        .and_then(client::Answer::recv)
        .map_err(Error::Ended)?
    {
        Answer::Status(status, ask) => {
            // It has answered, so it does not matter whether it is still there.
            let _ended = ask.quit();
            Ok(status)
        }
        Answer::Draining => Ok(Status::NotServing),
    }
}

/// Like [`check`], and returns every status that follows, too: [`Watch::next`] waits for it.
///
/// # Errors
/// As for [`Connector::connect`].
pub fn watch(connector: &Connector, address: &str, service: &str) -> Result<Watch, Error> {
    let ask = begin(connector, address)?;
    Ok(Watch {
        state: ask.map_or(State::Drains, State::Asks),
        service: service.to_owned(),
        known: None,
    })
}

/// A session with the server; `None` if it accepts no more because it drains.
fn begin(connector: &Connector, address: &str) -> Result<Option<client::Ask>, Error> {
    match connector.connect(address) {
        Err(Error::Refused {
            verdict: Verdict::Draining,
            ..
        }) => Ok(None),
        begun => begun.map(Some),
    }
}

/// The statuses of a service, from now on. The first one is the current one, and each differs from the one before. The last
/// one is [`Status::NotServing`] if the server drains; otherwise it ends with the reason why the session is over.
///
/// A server that says nothing for a minute is [`Late`](duologue::Why::Late), and so is a program that does not ask for the
/// next status within a minute.
#[derive(Debug)]
#[must_use = "a dropped watch ends its session"]
pub struct Watch {
    state: State,
    service: String,
    known: Option<Status>,
}

#[derive(Debug)]
enum State {
    Asks(client::Ask),
    Drains,
    Over,
}

impl Iterator for Watch {
    type Item = Result<Status, Closed>;

    fn next(&mut self) -> Option<Result<Status, Closed>> {
        loop {
            let status = match std::mem::replace(&mut self.state, State::Over) {
                State::Over => return None,
                State::Drains => Status::NotServing,
                State::Asks(ask) => match self.ask(ask) {
                    Err(closed) => return Some(Err(closed)),
                    Ok(Answer::Draining) => Status::NotServing,
                    Ok(Answer::Status(status, ask)) => {
                        self.state = State::Asks(ask);
                        status
                    }
                },
            };
            if self.known.as_ref() != Some(&status) {
                self.known = Some(status.clone());
                return Some(Ok(status));
            }
        }
    }
}

impl Watch {
    fn ask(&self, ask: client::Ask) -> Result<Answer, Closed> {
        let service = self.service.clone();
        match &self.known {
            None => ask.check(service)?.recv(),
            Some(known) => ask.wait(service, known.clone())?.recv(),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::{Health, Status};
    use std::time::Duration;

    #[test]
    fn clients_that_wait_get_an_answer_though_nothing_changes() {
        let health = Health::new();
        health.set("bank", Status::NotServing);
        let soon = Duration::from_millis(5);
        let same = health.next("bank", Some(&Status::NotServing), soon, &|| false);
        assert_eq!(same, Some(Status::NotServing));
        let late = Duration::from_secs(1 << 20);
        let other = health.next("bank", Some(&Status::Serving), late, &|| false);
        assert_eq!(other, Some(Status::NotServing));
        assert_eq!(health.next("bank", None, late, &|| true), None);
    }
}
