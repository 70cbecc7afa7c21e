//! The connecting side.

use std::sync::Arc;
use std::time::{Duration, Instant};

use duologue::transport::{Open, Start};

use crate::core::Terms;
use crate::listen::hello::{Answered, Hello, HEAD, MOST_ACCEPTED, SMALLEST_LIMIT};
use crate::observe::{self, Cause, Observer, Refusal, Seen};
use crate::remote::session;
use crate::transport::stream::{is_early, read_all, write_all, Stream};
use crate::transport::tls::{self, Tls};
use crate::{Address, Error, Fingerprint, TraceContext};

/// Begins a session with a listener, as the side whose first endpoint is `E`. Waits until the listener has accepted.
///
/// ```no_run
/// # mod bank { pub mod client { pub type Login = duologue::Receiver<State>; pub enum State {} } }
/// # fn show<E: duologue_net::Open>() -> Result<(), duologue_net::Error> {
/// # type Login<E> = E;
/// let client: Login<E> = duologue_net::connect("unix:/run/bank.sock")?;
/// # drop(client);
/// # Ok(())
/// # }
/// ```
///
/// # Errors
/// If the address is malformed, nothing listens there, or the listener refuses the session.
pub fn connect<E: Open>(address: &str) -> Result<E, Error> {
    Connector::new().connect(address)
}

/// How to connect: [`connect`] with options.
#[derive(Clone, Debug)]
pub struct Connector {
    timeout: Duration,
    largest: u32,
    memory: usize,
    accepts: Vec<Fingerprint>,
    token: Option<Vec<u8>>,
    trace: Option<TraceContext>,
    heartbeat: u16,
    idle: Option<Duration>,
    tls: Option<Tls>,
    observer: Option<Arc<dyn Observer>>,
    service: Option<String>,
}

impl Default for Connector {
    fn default() -> Connector {
        Connector::new()
    }
}

impl Connector {
    /// The defaults: 5 seconds to begin, payloads of up to 1 MiB that take up to 64 MiB of memory.
    #[must_use]
    pub fn new() -> Connector {
        Connector {
            timeout: Duration::from_secs(5),
            largest: 1 << 20,
            memory: 64 << 20,
            accepts: Vec::new(),
            token: None,
            trace: None,
            heartbeat: 0,
            idle: None,
            tls: None,
            observer: None,
            service: None,
        }
    }

    /// How long it may take until the session has begun. The limit does not cover the system's lookup of the host's
    /// address.
    #[must_use]
    pub fn timeout(mut self, timeout: Duration) -> Connector {
        self.timeout = timeout;
        self
    }

    /// The largest payload that this side accepts, in encoded bytes; at least 1,024.
    #[must_use]
    pub fn max_payload(mut self, bytes: u32) -> Connector {
        self.largest = bytes.max(SMALLEST_LIMIT);
        self
    }

    /// How much memory the values of one payload may take, in bytes.
    #[must_use]
    pub fn max_memory(mut self, bytes: usize) -> Connector {
        self.memory = bytes;
        self
    }

    /// Also accepts a listener with this older protocol, in addition to those that the protocol file names with
    /// `#[accepts(...)]`. `duologue breaking --against` reports whether that is sound. At most 16 are sent, these
    /// first.
    #[must_use]
    pub fn accepts(mut self, older: Fingerprint) -> Connector {
        self.accepts.push(older);
        self.accepts.truncate(MOST_ACCEPTED);
        self
    }

    /// Promises the listener that this side sends something at least once every `seconds` seconds, so that it detects
    /// when this process or the connection is gone: if nothing arrives for three times as long, the listener's session is
    /// [`Lost`](duologue::Why::Lost). 0, the default, promises nothing. Whether this side detects that the listener
    /// is gone depends on the listener's heartbeat.
    #[must_use]
    pub fn heartbeat(mut self, seconds: u16) -> Connector {
        self.heartbeat = seconds;
        self
    }

    /// How long this side waits for a message of the listener in states that have no time limit of their own. After that
    /// the session is [`Late`](duologue::Why::Late) for both sides. So it is if the listener does not read what was sent for as
    /// long, or for the limit of a state that has one. Without this limit, it waits as long as the connection lasts.
    #[must_use]
    pub fn idle_timeout(mut self, timeout: Duration) -> Connector {
        self.idle = Some(timeout);
        self
    }

    /// Sends a token, which the listener may use to decide whether it admits this side. At most 2,048 bytes are
    /// sent.
    #[must_use]
    pub fn token(mut self, token: impl Into<Vec<u8>>) -> Connector {
        let mut token = token.into();
        token.truncate(2_048);
        self.token = Some(token);
        self
    }

    /// Sends the trace that the session belongs to. The listener's observer gets it, and so does the function that decides
    /// whether this side is admitted.
    #[must_use]
    pub fn trace_context(mut self, context: TraceContext) -> Connector {
        self.trace = Some(context);
        self
    }

    /// The certificates for addresses `tls://host:port`. Other addresses do not use them.
    #[cfg(feature = "tls")]
    #[must_use]
    pub fn tls(mut self, tls: Tls) -> Connector {
        self.tls = Some(tls);
        self
    }

    /// The name of the service that this side wants, where another program has named the address. A certificate is then checked for this
    /// name instead of the host, and a connector that has certificates uses no address without TLS.
    #[must_use]
    pub fn service(mut self, name: &str) -> Connector {
        self.service = Some(name.to_owned());
        self
    }

    /// See [`timeout`](Connector::timeout).
    #[must_use]
    pub fn connect_timeout(&self) -> Duration {
        self.timeout
    }

    /// The fingerprints of the protocols that this side understands, as the side whose first endpoint is `E`: its own, and the older ones
    /// that it accepts.
    #[must_use]
    pub fn fingerprints<E: Open>(&self) -> Vec<Fingerprint> {
        let own = [Fingerprint(E::State::FINGERPRINT)];
        own.into_iter().chain(self.accepted::<E>()).collect()
    }

    /// Reports to this observer which sessions begin, turn and end, and which do not begin.
    #[must_use]
    pub fn observer(mut self, observer: Arc<dyn Observer>) -> Connector {
        self.observer = Some(observer);
        self
    }

    /// Begins a session with the listener at this address.
    ///
    /// # Errors
    /// As for [`connect`].
    pub fn connect<E: Open>(&self, address: &str) -> Result<E, Error> {
        let deadline = Instant::now() + self.timeout;
        let address: Address =
            (address.parse()).inspect_err(|error| self.failed::<E>(None, error))?;
        let begun = self.connect_at(&address, deadline);
        begun.inspect_err(|error| self.failed::<E>(Some(&address), error))
    }

    fn connect_at<E: Open>(&self, address: &Address, deadline: Instant) -> Result<E, Error> {
        let Some(host) = address.tls_host() else {
            if self.service.is_some() && self.tls.is_some() {
                let cause = format!("`{address}` has no TLS, and this side has certificates");
                return Err(Error::Tls { cause });
            }
            let socket = address.connect(deadline)?;
            return self.begin(Box::new(socket), Some(address), deadline);
        };
        let tls = self.tls.as_ref().ok_or_else(|| Error::NoCertificates {
            address: address.to_string(),
        })?;
        let socket = address.connect(deadline)?;
        let host = self.service.as_deref().unwrap_or(host);
        let stream = tls.connect(socket, host, deadline)?;
        self.begin(stream, Some(address), deadline)
    }

    /// The older protocols that this side accepts.
    fn accepted<E: Open>(&self) -> Vec<Fingerprint> {
        let mut accepts = self.accepts.clone();
        accepts.extend(E::ACCEPTS);
        accepts.truncate(MOST_ACCEPTED);
        accepts
    }

    /// Begins a session over a connection that the program provides.
    ///
    /// # Errors
    /// If the other side refuses the session or is not a Duologue listener.
    pub fn connect_over<E: Open>(&self, stream: impl Stream) -> Result<E, Error> {
        let begun = self.begin(Box::new(stream), None, Instant::now() + self.timeout);
        begun.inspect_err(|error| self.failed::<E>(None, error))
    }

    /// Reports that there is no session.
    fn failed<E: Open>(&self, peer: Option<&Address>, error: &Error) {
        let refusal = Refusal {
            accepted: false,
            protocol: Some(E::State::PROTOCOL),
            peer,
            cause: if let Error::Refused { verdict, .. } = error {
                Cause::Verdict(*verdict)
            } else {
                Cause::Error(error)
            },
        };
        observe::refused(self.observer.as_ref(), &refusal);
    }

    fn begin<E: Open>(
        &self,
        stream: Box<dyn Stream>,
        peer: Option<&Address>,
        deadline: Instant,
    ) -> Result<E, Error> {
        let mut name = E::State::PROTOCOL;
        while name.len() > 255 {
            name = name.split_once('.').map_or("", |(_, rest)| rest);
        }
        let own = Fingerprint(E::State::FINGERPRINT);
        let hello = Hello {
            receives_first: !E::SENDS_FIRST,
            fingerprint: own,
            largest: self.largest,
            seconds: self.heartbeat,
            name: name.to_owned(),
            accepts: self.accepted::<E>(),
            context: self.trace.map(TraceContext::to_bytes),
            token: self.token.clone(),
        };
        let deadline = Some(deadline);
        // A listener that refuses may close without reading all of this. Its answer can still be read.
        let written = write_all(&*stream, &hello.encode(), deadline);
        let mut head = [0; HEAD];
        if let Err(error) = read_all(&*stream, &mut head, deadline) {
            // In TLS 1.3, this side learns only now that its certificate was rejected.
            if let Some(failure) = tls::failure(&error) {
                return Err(failure);
            }
            if is_tls_alert(&head) {
                return Err(Error::SpeaksTls);
            }
            let is_late = is_early(&error) || written.is_err_and(|error| is_early(&error));
            return Err(if is_late {
                Error::TimedOut
            } else {
                Error::NoAnswer
            });
        }
        let length = Answered::length(&head).ok_or(Error::NotDuologue)?;
        let mut rest = [0; 26];
        let rest = &mut rest[..length];
        read_all(&*stream, rest, deadline).map_err(|error| match tls::failure(&error) {
            Some(failure) => failure,
            // A part of an answer, which has come too slowly.
            None if is_early(&error) => Error::TimedOut,
            None => Error::NoAnswer,
        })?;
        let answer = match Answered::decode(&head, rest).ok_or(Error::NotDuologue)? {
            Answered::Begins(answer) => answer,
            Answered::Refuses { verdict, wait } => {
                let wait = u64::from(wait);
                return Err(Error::Refused {
                    verdict,
                    retry_after: (wait > 0).then(|| Duration::from_millis(wait)),
                });
            }
        };
        let fits = match answer.verdict {
            0 => answer.fingerprint == own,
            1 => true,
            2 => hello.accepts.contains(&answer.fingerprint),
            _ => false,
        };
        if !fits {
            return Err(Error::NotDuologue);
        }
        let terms = Terms {
            accepted: false,
            theirs: answer.largest as usize,
            ours: self.largest as usize,
            memory: self.memory,
            our_heartbeat: self.heartbeat,
            their_heartbeat: answer.seconds,
            idle: self.idle,
        };
        let seen = self.observer.as_ref().map(|observer| Seen {
            observer: Arc::clone(observer),
            peer: peer.cloned(),
            fingerprint: answer.fingerprint,
            is_older: answer.verdict == 2,
            trace: self.trace,
        });
        Ok(session::open(stream, terms, seen, None))
    }
}

/// Whether these bytes, too few for an answer, are an alert from a listener that speaks TLS.
fn is_tls_alert(head: &[u8; HEAD]) -> bool {
    matches!(head, [0x15, 3, ..])
}
