//! How a listener takes connections: those that have sent something begin their handshakes, and the others wait.

use std::io;
use std::sync::Arc;
use std::thread;
use std::time::{Duration, Instant};

use rustix::event::{PollFd, PollFlags};
use rustix::fd::AsFd;

use super::shared::{Place, Shared, State};
use super::silent::{Silent, Waiting};
use crate::listen::handshake::Served;
use crate::transport::address::{Bound, Incoming};
use crate::transport::stream::{is_early, is_late, poll_until};
use crate::Error;

/// The next connection on which something has arrived; `None` once `ends` is true of the state. `served`: see [`Waiting`].
pub(super) fn next(
    bound: &Bound,
    shared: &Arc<Shared>,
    silent: &mut Silent,
    served: Option<&Served>,
    deadline: Option<Instant>,
    ends: &dyn Fn(&State) -> bool,
) -> Result<Option<Waiting>, Error> {
    loop {
        // A thread that changes the state signals it afterwards, so nothing is missed between this and the poll.
        if ends(&shared.state()) {
            return Ok(None);
        }
        let (handshakes, most) = {
            let policy = shared.policy();
            (policy.max_handshakes, policy.max_silent)
        };
        let is_busy = shared.state().handshakes >= handshakes;
        if !is_busy {
            if let Some(ready) = silent.take_ready() {
                return Ok(Some(ready));
            }
        }
        while let Some(late) = silent.take_late() {
            refuse(shared, late);
        }
        // While no further handshake may begin, waiting connections may have sent something, so none of them gives way.
        let has_space = silent.len() < most || !is_busy;
        let wanted = |wants| match wants {
            true => PollFlags::IN,
            false => PollFlags::empty(),
        };
        let first = silent.deadline();
        let until = deadline.into_iter().chain(first).min();
        let mut ready = [
            PollFd::from_borrowed_fd(shared.event.as_fd(), PollFlags::IN),
            PollFd::from_borrowed_fd(silent.descriptor(), wanted(!is_busy)),
            PollFd::from_borrowed_fd(bound.descriptor(), wanted(has_space)),
        ];
        match poll_until(&mut ready, until) {
            Ok(()) => {}
            // A connection that waits is late.
            Err(error) if is_early(&error) && !is_late(deadline) => continue,
            Err(error) if is_early(&error) => return Err(Error::TimedOut),
            Err(error) => return Err(Error::io("wait for connections")(error)),
        }
        let [event, arrived, connection] = &ready;
        let has_changed = event.revents().contains(PollFlags::IN);
        let has_arrived = arrived.revents().contains(PollFlags::IN);
        let is_readable = connection.revents().contains(PollFlags::IN);
        if has_changed {
            let _empty = rustix::io::read(&shared.event, &mut [0; 8]);
        }
        // What has arrived is served before others are accepted, so that those which give way to others are silent.
        if has_arrived || !is_readable || !has_space {
            continue;
        }
        match bound.accept() {
            Ok(incoming) => {
                let Some(waiting) = count(shared, incoming, served) else {
                    continue;
                };
                if !is_busy && waiting.is_ready() {
                    return Ok(Some(waiting));
                }
                if silent.len() >= most.max(1) {
                    if let Some(first) = silent.take_first() {
                        refuse(shared, first);
                    }
                }
                // Without memory the connection is closed.
                let _added = silent.add(waiting);
                // Peers that keep connecting do not prolong the wait.
                if is_late(deadline) {
                    return Err(Error::TimedOut);
                }
            }
            Err(error) if is_fatal(&error) => {
                return Err(Error::io("accept a connection")(error));
            }
            Err(_) if is_late(deadline) => return Err(Error::TimedOut),
            Err(error) => {
                let gives_way = !is_busy && is_full(&error);
                match gives_way.then(|| silent.take_first()).flatten() {
                    Some(first) => refuse(shared, first),
                    None => thread::sleep(Duration::from_millis(5)),
                }
            }
        }
    }
}

/// The connection, unless its peer has too many.
fn count(shared: &Arc<Shared>, incoming: Incoming, served: Option<&Served>) -> Option<Waiting> {
    let (deadline, most) = {
        let policy = shared.policy();
        (policy.deadline(), policy.max_per_peer)
    };
    let place = match most {
        None => None,
        Some(most) => match Place::take(shared, incoming.origin, most) {
            Some(place) => Some(place),
            None => {
                let is_plain = !incoming.peer.as_ref().is_some_and(|peer| peer.is_tls());
                let policy = shared.policy().clone();
                policy.refuse_at_once(&incoming.socket, is_plain, incoming.peer.as_ref());
                return None;
            }
        },
    };
    Some(Waiting {
        incoming,
        deadline,
        served: served.cloned(),
        place,
    })
}

/// Closes a connection that has sent nothing.
fn refuse(shared: &Shared, silent: Waiting) {
    let policy = shared.policy().clone();
    policy.refuse(silent.incoming.peer.as_ref(), &Error::TimedOut);
}

/// Whether accepting will never work again. Other errors concern one connection or are temporary: `accept` also reports
/// pending errors of the network, and connections that a firewall forbids.
fn is_fatal(error: &io::Error) -> bool {
    let code = error.raw_os_error();
    let codes = [
        rustix::io::Errno::BADF,
        rustix::io::Errno::FAULT,
        rustix::io::Errno::INVAL,
        rustix::io::Errno::NOTSOCK,
    ];
    codes.iter().any(|known| Some(known.raw_os_error()) == code)
}

/// Whether no descriptor is free.
fn is_full(error: &io::Error) -> bool {
    let code = error.raw_os_error();
    let codes = [rustix::io::Errno::MFILE, rustix::io::Errno::NFILE];
    codes.iter().any(|known| Some(known.raw_os_error()) == code)
}

#[cfg(test)]
mod tests {
    use std::io;

    use rustix::io::Errno;

    #[test]
    fn errors_of_one_connection_are_not_fatal() {
        let is_fatal = |code: Errno| super::is_fatal(&io::Error::from(code));
        for code in [
            Errno::PERM,
            Errno::HOSTUNREACH,
            Errno::MFILE,
            Errno::CONNABORTED,
        ] {
            assert!(!is_fatal(code), "{code:?}");
        }
        assert!(is_fatal(Errno::BADF));
    }
}
