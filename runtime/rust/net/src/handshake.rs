//! What an accepting side answers to a hello.

use std::sync::Arc;
use std::time::{Duration, Instant};

use duologue::transport::{Open, Start};

use crate::error::Verdict;
use crate::hello::{refusal, Answer, Hello, HEAD};
use crate::session::Terms;
use crate::stream::{read_all, write_all, Stream};
use crate::{Error, Fingerprint};

/// Decides whether a side is admitted.
type Admits = dyn Fn(&Peer<'_>) -> bool + Send + Sync;

/// Called with what went wrong.
type Reports = dyn Fn(&Error) + Send + Sync;

/// The first byte from a peer that begins TLS. The second byte is 3, the major version.
const TLS_HANDSHAKE: u8 = 0x16;

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
    pub(crate) admits: Arc<Admits>,
    pub(crate) failed: Option<Arc<Reports>>,
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
            admits: Arc::new(|_| true),
            failed: None,
        }
    }
}

/// A protocol, and the side of it that is served.
#[derive(Clone, Debug)]
pub(crate) struct Served {
    fingerprint: Fingerprint,
    older: Vec<Fingerprint>,
    sends_first: bool,
}

impl Served {
    /// Whether this is the same side of the same protocol.
    pub(crate) fn is_side(&self, other: &Served) -> bool {
        self.fingerprint == other.fingerprint && self.sends_first == other.sends_first
    }

    pub(crate) fn of<E: Open>(older: &[Fingerprint]) -> Served {
        Served {
            fingerprint: Fingerprint(E::State::FINGERPRINT),
            older: older.to_owned(),
            sends_first: E::SENDS_FIRST,
        }
    }
}

/// A session that is about to begin.
pub(crate) struct Begun {
    /// Which of the protocols it is.
    pub(crate) which: usize,
    pub(crate) terms: Terms,
}

impl Policy {
    /// Reports a connection that did not get as far as a hello.
    pub(crate) fn report(&self, error: &Error) {
        if let Some(failed) = &self.failed {
            failed(error);
        }
    }

    /// The deadline of a handshake that begins now.
    pub(crate) fn deadline(&self) -> Instant {
        let now = Instant::now();
        now.checked_add(self.timeout).unwrap_or(now + FOREVER)
    }

    /// Reads the hello and answers it. `take_place` counts the session toward the limit, or returns why it may not begin.
    pub(crate) fn answer<'s>(
        &self,
        stream: &dyn Stream,
        served: impl IntoIterator<Item = &'s Served>,
        take_place: &mut dyn FnMut() -> Result<(), Verdict>,
        deadline: Instant,
    ) -> Option<Begun> {
        let deadline = Some(deadline);
        let served: Vec<&Served> = served.into_iter().collect();
        let decided = self.decide(stream, &served, take_place, deadline);
        let (answer, begun) = match decided {
            Ok((answer, begun)) => (answer.encode(), Some(begun)),
            Err(Some(verdict)) => (refusal(verdict, 0), None),
            Err(None) => {
                stream.close();
                return None;
            }
        };
        let written = write_all(stream, &answer, deadline);
        if begun.is_none() {
            stream.close();
        }
        begun.filter(|_| written.is_ok())
    }

    /// Decides in the order that `docs/wire.md` specifies. `Err(None)`: close without an answer.
    fn decide(
        &self,
        stream: &dyn Stream,
        served: &[&Served],
        take_place: &mut dyn FnMut() -> Result<(), Verdict>,
        deadline: Option<Instant>,
    ) -> Result<(Answer, Begun), Option<Verdict>> {
        let mut head = [0; HEAD];
        read_all(stream, &mut head, deadline).map_err(|_| None)?;
        if head.starts_with(&[TLS_HANDSHAKE, 3]) {
            self.report(&Error::SpeaksTls);
        }
        let mut rest = vec![0; Hello::length(&head)?];
        read_all(stream, &mut rest, deadline).map_err(|_| None)?;
        let hello = Hello::decode(head[9], &rest).ok_or(Some(Verdict::Malformed))?;
        take_place().map_err(Some)?;
        let by = |verdict: u8, is_it: &dyn Fn(&Served) -> bool| {
            let which = served.iter().position(|served| is_it(served))?;
            Some((verdict, which))
        };
        let own = by(0, &|served| served.fingerprint == hello.fingerprint);
        let older = || by(1, &|served| served.older.contains(&hello.fingerprint));
        let theirs = || by(2, &|served| hello.accepts.contains(&served.fingerprint));
        let found = own.or_else(older).or_else(theirs);
        let (verdict, which) = found.ok_or(Some(Verdict::UnknownProtocol))?;
        // Both sides of one protocol may be served.
        let fingerprint = served[which].fingerprint;
        let fits = |served: &&Served| {
            served.fingerprint == fingerprint && served.sends_first == hello.receives_first
        };
        let which = served
            .iter()
            .position(fits)
            .ok_or(Some(Verdict::SameSide))?;
        let peer = Peer {
            protocol: &hello.name,
            fingerprint: hello.fingerprint,
            token: hello.token.as_deref(),
        };
        if !(self.admits)(&peer) {
            return Err(Some(Verdict::NotAdmitted));
        }
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
        };
        Ok((answer, Begun { which, terms }))
    }
}
