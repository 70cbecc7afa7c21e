//! What an accepting side answers to a hello.

use std::any::Any;
use std::io;
use std::sync::Arc;
use std::time::{Duration, Instant};

use duologue::transport::{Open, Start};

use crate::core::Terms;
use crate::error::Verdict;
use crate::listen::hello::{refusal, Answer, Hello, HEAD};
use crate::observe::{self, Cause, Observer, Refusal, Seen};
use crate::transport::stream::{is_early, read_all, user, write_all, Stream};
use crate::{Address, Error, Fingerprint, TraceContext};

/// Decides whether a side is admitted.
type Admits = dyn Fn(&Peer<'_>) -> bool + Send + Sync;

/// What the program's function has made of a peer that it admits, for the handler of the session; `()` without one.
pub(crate) type Value = Box<dyn Any + Send>;

/// Decides whether a side is admitted to one protocol, and what its handler gets.
type AdmitsAs = dyn Fn(&Peer<'_>) -> Option<Value> + Send + Sync;

/// Called with what went wrong.
type Reports = dyn Fn(&Error) + Send + Sync;

/// The first byte from a peer that begins TLS. The second byte is 3, the major version.
const TLS_HANDSHAKE: u8 = 0x16;

/// No hello is longer.
const LONGEST_HELLO: usize = 4 << 10;

/// Replaces a time limit that is longer than the clock can represent.
const FOREVER: Duration = Duration::from_secs(1 << 30);

/// What a listener knows about the other side when it decides whether to admit it.
#[non_exhaustive]
#[derive(Debug)]
pub struct Peer<'a> {
    /// The protocol's name, as the other side states it.
    pub protocol: &'a str,
    /// The fingerprint of the other side's protocol.
    pub fingerprint: Fingerprint,
    /// The token that it sent.
    pub token: Option<&'a [u8]>,
    /// The trace that it says the session belongs to.
    pub trace: Option<TraceContext>,
    /// Where a TCP connection comes from. The other end of a Unix socket has no address.
    pub address: Option<&'a Address>,
    /// Over a Unix socket, the user of this system whose process has connected. `None` also if the system does not tell,
    /// for example about a process in another PID namespace, so do not admit a peer for having none.
    pub user: Option<u32>,
    /// Over TLS, its certificate, in DER, which an authority of the listener has issued.
    pub certificate: Option<&'a [u8]>,
}

#[cfg(feature = "tls")]
impl Peer<'_> {
    /// Whether the other side's certificate is for this name: a DNS name or an IP address among its subject alternative
    /// names. They are compared as a client compares the name of a server, so a certificate for `*.example.com` is also
    /// for `client.example.com`. Returns false without TLS.
    #[must_use]
    pub fn has_name(&self, name: &str) -> bool {
        crate::transport::tls::has_name(self.certificate, name)
    }
}

/// How hellos are answered.
#[derive(Clone)]
pub(crate) struct Policy {
    pub(crate) max_sessions: usize,
    pub(crate) max_handshakes: usize,
    pub(crate) timeout: Duration,
    pub(crate) largest: u32,
    pub(crate) memory: usize,
    pub(crate) heartbeat: u16,
    pub(crate) idle: Option<Duration>,
    /// How many connections may wait that have sent nothing.
    pub(crate) max_silent: usize,
    /// How many connections one peer may have, if that is limited.
    pub(crate) max_per_peer: Option<usize>,
    pub(crate) admits: Arc<Admits>,
    pub(crate) failed: Option<Arc<Reports>>,
    pub(crate) observer: Option<Arc<dyn Observer>>,
}

impl Default for Policy {
    fn default() -> Policy {
        Policy {
            max_sessions: 1_024,
            max_handshakes: 64,
            timeout: Duration::from_secs(5),
            largest: 1 << 20,
            memory: 64 << 20,
            heartbeat: 0,
            idle: None,
            max_silent: 512,
            max_per_peer: None,
            admits: Arc::new(|_| true),
            failed: None,
            observer: None,
        }
    }
}

/// A protocol, and the side of it that is served.
#[derive(Clone)]
pub(crate) struct Served {
    fingerprint: Fingerprint,
    older: Vec<Fingerprint>,
    sends_first: bool,
    /// In addition to that of the listener.
    admits: Option<Arc<AdmitsAs>>,
}

impl Served {
    /// Whether this is the same side of the same protocol.
    pub(crate) fn is_side(&self, other: &Served) -> bool {
        self.fingerprint == other.fingerprint && self.sends_first == other.sends_first
    }

    pub(crate) fn of<E: Open>(older: &[Fingerprint]) -> Served {
        Served {
            fingerprint: Fingerprint(E::State::FINGERPRINT),
            older: [older, E::ACCEPTS].concat(),
            sends_first: E::SENDS_FIRST,
            admits: None,
        }
    }

    pub(crate) fn admitting<V: Send + 'static>(
        mut self,
        admit: impl Fn(&Peer<'_>) -> Option<V> + Send + Sync + 'static,
    ) -> Served {
        let admits = move |peer: &Peer<'_>| admit(peer).map(|value| Box::new(value) as Value);
        self.admits = Some(Arc::new(admits));
        self
    }

    fn admit(&self, peer: &Peer<'_>) -> Option<Value> {
        match &self.admits {
            None => Some(Box::new(())),
            Some(admits) => admits(peer),
        }
    }
}

/// A session that is about to begin.
pub(crate) struct Begun {
    /// Which of the protocols it is.
    pub(crate) which: usize,
    pub(crate) terms: Terms,
    pub(crate) value: Value,
    /// If the session is observed.
    pub(crate) seen: Option<Seen>,
}

/// Why there is no hello to decide about.
enum NoHello {
    /// What came is refused with this verdict.
    Malformed(Verdict),
    /// The connection is closed without an answer.
    Silent(Cause<'static>),
}

impl Policy {
    /// Reports a connection on which TLS did not begin.
    pub(crate) fn report(&self, error: &Error, peer: Option<&Address>) {
        if let Some(failed) = &self.failed {
            failed(error);
        }
        self.refuse(peer, error);
    }

    /// Refuses a connection whose hello has not been read, without waiting. `is_plain`: the peer reads no TLS.
    pub(crate) fn refuse_at_once(
        &self,
        stream: &dyn Stream,
        is_plain: bool,
        peer: Option<&Address>,
    ) {
        let now = Some(Instant::now());
        if is_plain {
            // The peer finds the connection closed if this fails.
            let _written = write_all(stream, &refusal(Verdict::Full, 0), now);
        }
        stream.close();
        // A connection that is closed with unread data is reset. Then the peer might not find the answer.
        let _read = stream.read(&mut [0; LONGEST_HELLO], now);
        self.refused(None, peer, Cause::Verdict(Verdict::Full));
    }

    /// Reports a connection that is closed before its hello is read.
    pub(crate) fn refuse(&self, peer: Option<&Address>, error: &Error) {
        self.refused(None, peer, Cause::Error(error));
    }

    fn refused(&self, protocol: Option<&str>, peer: Option<&Address>, cause: Cause<'_>) {
        let accepted = true;
        let refusal = Refusal {
            accepted,
            protocol,
            peer,
            cause,
        };
        observe::refused(self.observer.as_ref(), &refusal);
    }

    /// The deadline of a handshake that begins now.
    pub(crate) fn deadline(&self) -> Instant {
        let now = Instant::now();
        now.checked_add(self.timeout).unwrap_or(now + FOREVER)
    }

    /// Reads the hello and answers it. `take_permit` counts the session toward the limit, or returns why it may not
    /// begin. `peer` is where the connection comes from, if that is known.
    pub(crate) fn answer<'s>(
        &self,
        stream: &dyn Stream,
        peer: Option<Address>,
        served: impl IntoIterator<Item = &'s Served>,
        take_permit: &mut dyn FnMut() -> Result<(), Verdict>,
        deadline: Instant,
    ) -> Option<Begun> {
        let deadline = Some(deadline);
        let served: Vec<&Served> = served.into_iter().collect();
        let hello = self.read_hello(stream, deadline);
        let decided = match &hello {
            Ok(hello) => self.decide(hello, stream, peer.as_ref(), &served, take_permit),
            Err(NoHello::Malformed(verdict)) => Err(*verdict),
            Err(NoHello::Silent(cause)) => {
                stream.close();
                self.refused(None, peer.as_ref(), *cause);
                return None;
            }
        };
        let name = hello.as_ref().ok().map(|hello| hello.name.as_str());
        match decided {
            Ok((answer, begun)) => {
                if let Err(source) = write_all(stream, &answer.encode(), deadline) {
                    let error = Error::io("answer a hello")(source);
                    self.refused(name, peer.as_ref(), Cause::Error(&error));
                    return None;
                }
                Some(begun)
            }
            Err(verdict) => {
                // A side that is refused may be gone already.
                let _written = write_all(stream, &refusal(verdict, 0), deadline);
                stream.close();
                self.refused(name, peer.as_ref(), Cause::Verdict(verdict));
                None
            }
        }
    }

    fn read_hello(&self, stream: &dyn Stream, deadline: Option<Instant>) -> Result<Hello, NoHello> {
        let unread = |error: io::Error| {
            NoHello::Silent(if is_early(&error) {
                Cause::Error(&Error::TimedOut)
            } else {
                Cause::NoHello
            })
        };
        let mut head = [0; HEAD];
        read_all(stream, &mut head, deadline).map_err(unread)?;
        if head.starts_with(&[TLS_HANDSHAKE, 3]) {
            if let Some(failed) = &self.failed {
                failed(&Error::SpeaksTls);
            }
            return Err(NoHello::Silent(Cause::Error(&Error::SpeaksTls)));
        }
        let length = Hello::length(&head).map_err(|refused| match refused {
            Some(verdict) => NoHello::Malformed(verdict),
            None => NoHello::Silent(Cause::NoHello),
        })?;
        let mut rest = vec![0; length];
        read_all(stream, &mut rest, deadline).map_err(unread)?;
        let malformed = NoHello::Malformed(Verdict::Malformed);
        Hello::decode(head[9], &rest).ok_or(malformed)
    }

    /// Decides in the order that `docs/wire.md` specifies.
    fn decide(
        &self,
        hello: &Hello,
        stream: &dyn Stream,
        address: Option<&Address>,
        served: &[&Served],
        take_permit: &mut dyn FnMut() -> Result<(), Verdict>,
    ) -> Result<(Answer, Begun), Verdict> {
        take_permit()?;
        let by = |verdict: u8, is_it: &dyn Fn(&Served) -> bool| {
            let which = served.iter().position(|served| is_it(served))?;
            Some((verdict, which))
        };
        let own = by(0, &|served| served.fingerprint == hello.fingerprint);
        let older = || by(1, &|served| served.older.contains(&hello.fingerprint));
        let theirs = || by(2, &|served| hello.accepts.contains(&served.fingerprint));
        let found = own.or_else(older).or_else(theirs);
        let (verdict, which) = found.ok_or(Verdict::UnknownProtocol)?;
        // Both sides of one protocol may be served, and may accept different fingerprints.
        let fingerprint = served[which].fingerprint;
        let fits = |served: &&Served| {
            served.fingerprint == fingerprint
                && served.sends_first == hello.receives_first
                && (verdict != 1 || served.older.contains(&hello.fingerprint))
        };
        let which = served.iter().position(fits).ok_or(Verdict::SameSide)?;
        let certificate = stream.certificate();
        let trace = hello.context.map(TraceContext::from_bytes);
        let peer = Peer {
            protocol: &hello.name,
            fingerprint: hello.fingerprint,
            token: hello.token.as_deref(),
            trace,
            address,
            user: user(stream),
            certificate: certificate.as_deref(),
        };
        let value = (self.admits)(&peer).then(|| served[which].admit(&peer));
        let value = value.flatten().ok_or(Verdict::NotAdmitted)?;
        let answer = Answer {
            verdict,
            fingerprint,
            largest: self.largest,
            seconds: self.heartbeat,
        };
        let terms = Terms {
            accepted: true,
            theirs: hello.largest as usize,
            ours: self.largest as usize,
            memory: self.memory,
            our_heartbeat: self.heartbeat,
            their_heartbeat: hello.seconds,
            idle: self.idle,
        };
        let seen = self.observer.as_ref().map(|observer| Seen {
            observer: Arc::clone(observer),
            peer: address.cloned(),
            fingerprint: hello.fingerprint,
            is_older: verdict == 1,
            trace,
        });
        let begun = Begun {
            which,
            terms,
            value,
            seen,
        };
        Ok((answer, begun))
    }
}
