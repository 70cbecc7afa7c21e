//! The accepting side.

mod admitted;
mod health;
mod next;
mod shared;
mod silent;

use std::fmt;
use std::io;
use std::sync::{Arc, Condvar, Mutex};
use std::thread;
use std::time::{Duration, Instant};

use duologue::transport::{Open, Start};
use rustix::event::{eventfd, EventfdFlags};

use crate::listen::handshake::{Begun, Peer, Policy, Served, Value};
use crate::listen::hello::SMALLEST_LIMIT;
use crate::observe::Observer;
use crate::remote::session;
use crate::transport::address::{Bound, Incoming};
use crate::transport::stream::{is_late, Socket, Stream};
use crate::transport::tls::Tls;
use crate::{sync, Address, Error, Fingerprint};

use shared::{Counts, Member, Place, Ready, Shared, State};
pub use shared::{Drain, Load};
use silent::{Silent, Waiting};

/// Accepts sessions at an address.
///
/// Either give it one handler per protocol, each of which runs on a thread of its own, and [`run`](Listener::run) it:
///
/// ```no_run
/// # fn teller<E>(_: E) {}
/// # fn show<Login: duologue_net::Open + 'static>() -> Result<(), duologue_net::Error> {
/// let mut listener = duologue_net::Listener::bind("unix:/run/bank.sock")?;
/// listener.serve(|login: Login| teller(login));
/// listener.run()
/// # }
/// ```
///
/// Or [`accept`](Listener::accept) sessions one by one. A hello is read on a thread of its own, so a peer that stalls
/// does not hold up others.
pub struct Listener {
    bound: Option<Bound>,
    address: Address,
    shared: Arc<Shared>,
    silent: Silent,
    handlers: Vec<Arc<Handler>>,
    /// The certificates, if the address is for sessions over TLS.
    tls: Option<Tls>,
}

/// A protocol that is served by a handler.
struct Handler {
    served: Served,
    start: Box<dyn Fn(Ready, Value) + Send + Sync>,
}

/// Clients that watch the health of the server learn at once that it accepts no further sessions. A hello that is still being read is
/// refused. The program's functions may own what stops the listener, which owns its policy: without this they would own each other.
impl Drop for Listener {
    fn drop(&mut self) {
        self.drain().begin();
        let closed = Policy {
            admits: Arc::new(|_| false),
            ..Policy::default()
        };
        let policy = std::mem::replace(&mut *self.shared.policy(), closed);
        // Nobody will accept these: their peers find that they are lost.
        let begun = self.shared.state().drop_begun();
        // Where no lock is held: this runs code of the program.
        drop((policy, begun));
    }
}

impl fmt::Debug for Listener {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Listener({})", self.address)
    }
}

impl Listener {
    /// Listens at this address. Port 0 asks for a free port, which [`address`](Listener::address)
    /// reports.
    ///
    /// A Unix socket's file is removed when the listener is dropped. A file left behind by a program that was
    /// killed is replaced.
    ///
    /// # Errors
    /// If the address is malformed or in use, or begins with `tls:`, which requires `Listener::bind_tls`.
    pub fn bind(address: &str) -> Result<Listener, Error> {
        Listener::bind_at(address.parse()?, None)
    }

    /// Like [`bind`](Listener::bind), with certificates for an address `tls://host:port`. Other addresses do not use them.
    ///
    /// # Errors
    /// If the address is malformed or in use.
    #[cfg(feature = "tls")]
    pub fn bind_tls(address: &str, tls: Tls) -> Result<Listener, Error> {
        Listener::bind_at(address.parse()?, Some(tls))
    }

    fn bind_at(address: Address, tls: Option<Tls>) -> Result<Listener, Error> {
        let tls = tls.filter(|_| address.is_tls());
        if address.is_tls() && tls.is_none() {
            let address = address.to_string();
            return Err(Error::NoCertificates { address });
        }
        Listener::bind_to(address.bind()?, tls)
    }

    fn bind_to(bound: Bound, tls: Option<Tls>) -> Result<Listener, Error> {
        let flags = EventfdFlags::CLOEXEC | EventfdFlags::NONBLOCK;
        let event = eventfd(0, flags).map_err(io::Error::from);
        Ok(Listener {
            address: bound.address(),
            bound: Some(bound),
            shared: Arc::new(Shared {
                policy: Mutex::new(Policy::default()),
                event: event.map_err(Error::io("listen"))?,
                state: Mutex::new(State::default()),
                ended: Condvar::new(),
            }),
            silent: Silent::new().map_err(Error::io("listen"))?,
            handlers: Vec::new(),
            tls,
        })
    }

    /// The address, in the form that [`connect`](crate::connect) takes.
    #[must_use]
    pub fn address(&self) -> &Address {
        &self.address
    }

    /// How many sessions may be open at once; 1,024 unless set. Further hellos are refused as
    /// [`Full`](crate::Verdict::Full).
    pub fn max_sessions(&mut self, count: usize) -> &mut Listener {
        self.shared.policy().max_sessions = count;
        self
    }

    /// How many connections one peer may have at once, in the handshake or with a session; not limited unless set. A peer is
    /// an IPv4 address, the first 64 bits of an IPv6 address or, over a Unix socket, a user of this system. A
    /// further connection is refused as [`Full`](crate::Verdict::Full) before its hello is read; over TLS it is closed.
    pub fn max_per_peer(&mut self, count: usize) -> &mut Listener {
        self.shared.policy().max_per_peer = Some(count);
        self
    }

    /// How many hellos may be read at once; 64 unless set. Further connections wait.
    pub fn max_handshakes(&mut self, count: usize) -> &mut Listener {
        self.shared.policy().max_handshakes = count.max(1);
        self
    }

    /// How many connections may wait that have sent nothing yet; 512 unless set. They take a descriptor each, and no thread.
    /// A further connection takes the place of the one that has waited longest, which is closed.
    pub fn max_silent(&mut self, count: usize) -> &mut Listener {
        self.shared.policy().max_silent = count;
        self
    }

    /// How long the handshake may take, including that of TLS; 5 seconds unless set. A connection that sends nothing is closed
    /// after this time, but only while the listener waits for connections.
    pub fn hello_timeout(&mut self, timeout: Duration) -> &mut Listener {
        self.shared.policy().timeout = timeout;
        self
    }

    /// The largest payload that this side accepts, in encoded bytes; 1 MiB unless set, at least 1,024.
    pub fn max_payload(&mut self, bytes: u32) -> &mut Listener {
        self.shared.policy().largest = bytes.max(SMALLEST_LIMIT);
        self
    }

    /// How much memory the values of one payload may take, in bytes; 64 MiB unless set.
    pub fn max_memory(&mut self, bytes: usize) -> &mut Listener {
        self.shared.policy().memory = bytes;
        self
    }

    /// Promises the peers of sessions that begin after this call that this side sends something at least once
    /// every `seconds` seconds; 0, the default, promises nothing. See [`Connector::heartbeat`](crate::Connector::heartbeat).
    pub fn heartbeat(&mut self, seconds: u16) -> &mut Listener {
        self.shared.policy().heartbeat = seconds;
        self
    }

    /// How long this side waits for a message in states that have no time limit of their own; not limited unless set. After
    /// that the session is [`Late`](duologue::Why::Late) for both sides. So it is if the peer does not read what was sent
    /// for as long, or for the limit of a state that has one. For sessions that begin after this call.
    pub fn idle_timeout(&mut self, timeout: Duration) -> &mut Listener {
        self.shared.policy().idle = Some(timeout);
        self
    }

    /// Sets the function that decides, given a hello, whether the peer is admitted: by its address, user,
    /// certificate or token. By default, all peers are.
    pub fn admit(
        &mut self,
        admits: impl Fn(&Peer<'_>) -> bool + Send + Sync + 'static,
    ) -> &mut Listener {
        self.shared.policy().admits = Arc::new(admits);
        self
    }

    /// Calls this for each connection that does not get as far as a hello: TLS could not begin, or the other side speaks
    /// TLS and this one does not. For logs; it is called on the connection's thread.
    pub fn on_failure(&mut self, report: impl Fn(&Error) + Send + Sync + 'static) -> &mut Listener {
        self.shared.policy().failed = Some(Arc::new(report));
        self
    }

    /// Reports to this observer what happens in sessions that begin from now on, and which connections do not become a
    /// session.
    pub fn observer(&mut self, observer: Arc<dyn Observer>) -> &mut Listener {
        self.shared.policy().observer = Some(observer);
        self
    }

    /// Serves a protocol: for each session, calls the handler with its first endpoint, on a thread of its own. Also
    /// accepts clients with the older protocols that the protocol file names with `#[accepts(...)]`.
    pub fn serve<E: Open + 'static>(
        &mut self,
        handler: impl Fn(E) + Send + Sync + 'static,
    ) -> &mut Listener {
        self.serve_accepting(&[], handler)
    }

    /// Like [`serve`](Listener::serve), and also accepts clients with these older protocols, which the protocol file
    /// need not name. `duologue breaking --against` reports whether that is sound.
    pub fn serve_accepting<E: Open + 'static>(
        &mut self,
        older: &[Fingerprint],
        handler: impl Fn(E) + Send + Sync + 'static,
    ) -> &mut Listener {
        self.serve_side(Served::of::<E>(older), move |first, ()| handler(first))
    }

    /// What the listener has to do at the moment. Other threads ask [`drain`](Listener::drain).
    #[must_use]
    pub fn load(&self) -> Load {
        self.drain().load()
    }

    /// Lets other threads stop this listener.
    #[must_use]
    pub fn drain(&self) -> Drain {
        Drain(Arc::clone(&self.shared))
    }

    /// Accepts sessions and runs their handlers, until the listener is drained and all sessions have ended.
    ///
    /// # Errors
    /// If the system can no longer accept connections.
    pub fn run(&mut self) -> Result<(), Error> {
        let handlers = self.handlers.clone();
        loop {
            let Some(waiting) = self.next(None, None, &State::is_drained)? else {
                self.silent.clear();
                let shared = &*self.shared;
                let mut state = shared.state();
                while state.sessions > 0 {
                    state = sync::wait(&shared.state, &shared.ended, state, None);
                }
                return Ok(());
            };
            let handlers = handlers.clone();
            self.handshake(waiting, move |shared, stream, peer, deadline, place| {
                let served = handlers.iter().map(|handler| &handler.served);
                let policy = shared.policy().clone();
                let mut permit = None;
                let mut take_permit = || {
                    permit = Some(Counts::session(shared, [|state| &mut state.sessions])?);
                    Ok(())
                };
                let begun = policy.answer(&*stream, peer, served, &mut take_permit, deadline);
                let Begun {
                    which,
                    terms,
                    value,
                    seen,
                } = begun?;
                let member = Box::new(Member::of(shared, None, place));
                Some(Box::new(move || {
                    let _permit = permit;
                    (handlers[which].start)((stream, terms, seen, Some(member)), value);
                }))
            });
        }
    }

    /// Accepts one session, as the side whose first endpoint is `E`. Waits until one begins, and refuses connections
    /// that ask for any other session. A hello that arrives while the program is not accepting is answered the
    /// next time it accepts.
    ///
    /// # Errors
    /// If the system can no longer accept connections, or the listener is draining.
    pub fn accept<E: Open>(&mut self) -> Result<E, Error> {
        self.accept_accepting(&[], None)
    }

    /// Like [`accept`](Listener::accept), and waits at most for this duration.
    ///
    /// # Errors
    /// [`Error::TimedOut`] if no session began in time; and as for [`accept`](Listener::accept).
    pub fn accept_within<E: Open>(&mut self, patience: Duration) -> Result<E, Error> {
        self.accept_accepting(&[], Some(patience))
    }

    /// Like [`accept`](Listener::accept), and also accepts clients with these older protocols, as
    /// [`serve_accepting`](Listener::serve_accepting) does. Waits at most for this duration, if there is one.
    ///
    /// # Errors
    /// As for [`accept_within`](Listener::accept_within).
    pub fn accept_accepting<E: Open>(
        &mut self,
        older: &[Fingerprint],
        patience: Option<Duration>,
    ) -> Result<E, Error> {
        let accepted = self.accept_side(&Served::of::<E>(older), patience);
        accepted.map(|(first, ())| first)
    }

    /// Accepts a session of this side, whose first endpoint is `E` and to whose peers its function gives a `V`.
    fn accept_side<E: Open, V: 'static>(
        &mut self,
        wanted: &Served,
        patience: Option<Duration>,
    ) -> Result<(E, V), Error> {
        let deadline = patience.and_then(|patience| Instant::now().checked_add(patience));
        let is_over = |state: &State| state.is_drained() || state.has_begun::<V>(wanted);
        let mut has_accepted = false;
        loop {
            let mut state = self.shared.state();
            let begun = state.take_begun(wanted);
            let is_drained = state.is_drained();
            drop(state);
            if let Some(((stream, terms, seen, held), value)) = begun {
                let first = session::open(stream, terms, seen, held);
                return Ok((first, value));
            }
            if is_drained {
                self.silent.clear();
                return Err(Error::Drained);
            }
            // Peers that keep connecting do not prolong the wait.
            if has_accepted && is_late(deadline) {
                return Err(Error::TimedOut);
            }
            let Some(waiting) = self.next(Some(wanted), deadline, &is_over)? else {
                continue;
            };
            has_accepted = true;
            let served = waiting.served.clone();
            let served = served.unwrap_or_else(|| wanted.clone());
            self.handshake(waiting, move |shared, stream, peer, deadline, place| {
                let policy = shared.policy().clone();
                let mut permit = None;
                let mut take_permit = || {
                    permit = Some(Counts::session(
                        shared,
                        [|state| &mut state.beginning, |state| &mut state.accepted],
                    )?);
                    Ok(())
                };
                let begun = policy.answer(&*stream, peer, [&served], &mut take_permit, deadline);
                let [beginning, accepted] = permit.map_or([None, None], |both| both.map(Some));
                if let Some(Begun {
                    terms, value, seen, ..
                }) = begun
                {
                    let member = Box::new(Member::of(shared, accepted, place)) as _;
                    let begun = (served, (stream, terms, seen, Some(member)), value);
                    let refused = shared.state().begin(begun);
                    // As where the listener is dropped.
                    drop(refused);
                }
                // Only now: until then, the listener must not count as drained.
                drop(beginning);
                None
            });
        }
    }

    /// The next connection on which something has arrived; `None` once `ends` is true of the state.
    fn next(
        &mut self,
        served: Option<&Served>,
        deadline: Option<Instant>,
        ends: &dyn Fn(&State) -> bool,
    ) -> Result<Option<Waiting>, Error> {
        let Some(bound) = &self.bound else {
            return Ok(None);
        };
        next::next(
            bound,
            &self.shared,
            &mut self.silent,
            served,
            deadline,
            ends,
        )
    }

    /// On a separate thread: begins TLS if the address is `tls://`, reads the hello and answers it, and runs the action that
    /// `answer` returns.
    fn handshake(
        &self,
        waiting: Waiting,
        answer: impl FnOnce(
                &Arc<Shared>,
                Box<dyn Stream>,
                Option<Address>,
                Instant,
                Option<Place>,
            ) -> Option<Box<dyn FnOnce()>>
            + Send
            + 'static,
    ) {
        let shared = Arc::clone(&self.shared);
        let reads = Counts::one(&shared, &mut shared.state(), |state| &mut state.handshakes);
        let tls = self.tls.clone();
        let Waiting {
            incoming: Incoming { socket, peer, .. },
            deadline,
            place,
            ..
        } = waiting;
        let thread = thread::Builder::new().name("duologue-session".to_owned());
        let from = peer.clone();
        let started = thread.spawn(move || {
            let start = match secured(socket, tls.as_ref(), deadline) {
                Ok(stream) => answer(&shared, stream, peer, deadline, place),
                Err(error) => {
                    let policy = shared.policy().clone();
                    policy.report(&error, peer.as_ref());
                    None
                }
            };
            drop(reads);
            if let Some(start) = start {
                start();
            }
        });
        if let Err(source) = started {
            // The connection is closed.
            let policy = self.shared.policy().clone();
            let error = Error::io("start a thread for a connection")(source);
            policy.refuse(from.as_ref(), &error);
        }
    }
}

/// The stream of the session: the socket, or TLS over it once its handshake is over.
fn secured(socket: Socket, tls: Option<&Tls>, deadline: Instant) -> Result<Box<dyn Stream>, Error> {
    match tls {
        Some(tls) => tls.accept(socket, deadline),
        None => Ok(Box::new(socket)),
    }
}

/// Accepts a session over a connection that the program provides, as the side whose first endpoint is
/// `E`.
///
/// # Errors
/// If the other side's hello is not accepted.
pub fn accept_over<E: Open>(stream: impl Stream) -> Result<E, Error> {
    let served = Served::of::<E>(&[]);
    let policy = Policy::default();
    match policy.answer(&stream, None, [&served], &mut || Ok(()), policy.deadline()) {
        Some(Begun { terms, .. }) => Ok(session::open(Box::new(stream), terms, None, None)),
        None => Err(Error::NoSession {
            protocol: E::State::PROTOCOL,
        }),
    }
}
