//! Taking a side of a region.

use std::future::Future;
use std::marker::PhantomData;
use std::os::fd::AsFd;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll};
use std::time::{Duration, Instant};

use duologue::transport::{Fingerprint, Open, Start};

use crate::lock::SideLock;
use crate::meet::{Agreed, Awaited, Meeting, Wanted};
use crate::memory::Memory;
use crate::region::is_sound;
use crate::session;
use crate::terms::Terms;
use crate::{Error, Region};

/// The smallest limit for payloads.
const SMALLEST_LIMIT: usize = 1_024;

/// Takes the side of the session in this region whose first endpoint is `E`, and waits for the other side.
///
/// ```no_run
/// # fn show<E: duologue_shm::Open>() -> Result<(), duologue_shm::Error> {
/// # type Login<E> = E;
/// let region = duologue_shm::Region::open("/bank")?;
/// let client: Login<E> /* bank::client::Login */ = duologue_shm::attach(&region)?;
/// # drop(client);
/// # Ok(())
/// # }
/// ```
///
/// # Errors
/// If this is not a region, the side is or was taken, or the other side has another protocol.
pub fn attach<E: Open>(region: &Region) -> Result<E, Error> {
    Attach::new().attach(region)
}

/// How to attach: [`attach`] with options.
#[derive(Clone, Debug)]
pub struct Attach {
    timeout: Option<Duration>,
    accepts: Vec<Fingerprint>,
    largest: usize,
    memory: Option<usize>,
    region: usize,
    peer: Option<u32>,
}

impl Default for Attach {
    fn default() -> Attach {
        Attach::new()
    }
}

impl Attach {
    /// The defaults: waits for the other side as long as it takes; payloads of up to 64 MiB, whose values take up to four
    /// times as much memory; regions of up to 1 GiB.
    #[must_use]
    pub fn new() -> Attach {
        Attach {
            timeout: None,
            accepts: Vec::new(),
            largest: 64 << 20,
            memory: None,
            region: 1 << 30,
            peer: None,
        }
    }

    /// How long to wait for the other side.
    #[must_use]
    pub fn timeout(mut self, timeout: Duration) -> Attach {
        self.timeout = Some(timeout);
        self
    }

    /// Also accepts a side with this older protocol, in addition to those that the protocol file names with
    /// `#[accepts(...)]`. `duologue breaking --against` reports whether that is sound.
    #[must_use]
    pub fn accepts(mut self, older: Fingerprint) -> Attach {
        self.accepts.push(older);
        self
    }

    /// The largest payload that this side accepts, in encoded bytes; at least 1,024.
    #[must_use]
    pub fn max_payload(mut self, bytes: usize) -> Attach {
        self.largest = bytes.max(SMALLEST_LIMIT);
        self
    }

    /// How much memory the values of one payload may take, in bytes.
    #[must_use]
    pub fn max_memory(mut self, bytes: usize) -> Attach {
        self.memory = Some(bytes);
        self
    }

    /// The largest region to attach to, in bytes. It is mapped as a whole, and the peer can fill it.
    #[must_use]
    pub fn max_region(mut self, bytes: usize) -> Attach {
        self.region = bytes;
        self
    }

    /// The process that will take the other side, such as a child that has not been waited for yet. If it ends without
    /// having attached, the result is [`Error::PeerLeft`].
    #[must_use]
    pub fn peer(mut self, process: u32) -> Attach {
        self.peer = Some(process);
        self
    }

    /// Takes the side whose first endpoint is `E`, and waits for the other side.
    ///
    /// # Errors
    /// As for [`attach`].
    pub fn attach<E: Open>(&self, region: &Region) -> Result<E, Error> {
        let mut attaching = self.attach_async::<E>(region)?;
        attaching.begin(attaching.meeting.wait())
    }

    /// Takes the side whose first endpoint is `E`, for a task that waits for the other side: with any executor, and without a
    /// thread for each session.
    ///
    /// # Cancel safety
    ///
    /// The future holds the side. Dropping it before it completes gives the side up. To go on waiting after a time limit, poll a
    /// reference to the future.
    ///
    /// # Errors
    /// Those of [`attach`] that do not depend on the other side. The future returns the others.
    pub fn attach_async<E: Open>(&self, region: &Region) -> Result<Attaching<E>, Error> {
        let wanted = Wanted {
            deadline: (self.timeout).and_then(|timeout| Instant::now().checked_add(timeout)),
            awaited: Awaited::of(self.peer)?,
            accepts: [&self.accepts[..], E::ACCEPTS].concat(),
            fingerprint: E::State::FINGERPRINT,
            largest: self.largest as u64,
        };
        let region = region.as_fd();
        if !is_sound(region) {
            return Err(Error::NotARegion);
        }
        let place = usize::from(!E::SENDS_FIRST);
        let lock = SideLock::take(region, place)?;
        let memory = Memory::of(region, self.region)?;
        Ok(Attaching {
            meeting: Meeting::begin(memory, place, lock, wanted)?,
            ours: self.largest,
            memory: self.memory.unwrap_or(self.largest.saturating_mul(4)),
            endpoint: PhantomData,
        })
    }
}

/// The future of [`Attach::attach_async`]: the first endpoint, once the other side has attached as well.
#[must_use = "futures do nothing unless they are awaited, and the side is given up if this is dropped"]
pub struct Attaching<E> {
    meeting: Arc<Meeting>,
    ours: usize,
    memory: usize,
    endpoint: PhantomData<fn() -> E>,
}

impl<E: Open> Attaching<E> {
    /// Begins the session on which both sides have agreed.
    fn begin(&mut self, agreed: Result<Agreed, Error>) -> Result<E, Error> {
        let Agreed { alive, largest } = agreed?;
        let terms = Terms {
            theirs: largest,
            ours: self.ours,
            memory: self.memory,
        };
        Ok(session::open(self.meeting.end(), alive, terms))
    }
}

impl<E: Open> Future for Attaching<E> {
    type Output = Result<E, Error>;

    fn poll(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Result<E, Error>> {
        let agreed = self.meeting.poll(context.waker());
        agreed.map(|agreed| self.begin(agreed))
    }
}

impl<E> Drop for Attaching<E> {
    fn drop(&mut self) {
        self.meeting.give_up();
    }
}
