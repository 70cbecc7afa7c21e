//! Taking a side of a region, and agreeing with the peer on the protocol: `runtime/shared-memory.md`, "Handshake".

use std::future::Future;
use std::marker::PhantomData;
use std::os::fd::{AsFd, OwnedFd};
use std::pin::Pin;
use std::sync::atomic::Ordering::{AcqRel, Acquire, Relaxed, SeqCst};
use std::sync::{Arc, Mutex, MutexGuard};
use std::task::{Context, Poll, Waker};
use std::time::{Duration, Instant};

use duologue::transport::{guarded, sync, BeforeSleep, Fingerprint, Open, Start};
use rustix::event::{poll, PollFd, PollFlags};
use rustix::process::{pidfd_open, Pid, PidfdFlags};

use crate::end::{registers_barrier, timespec, Alive, End, Sleepers, PERIOD};
use crate::helper::{self, Helped, Served};
use crate::lock::SideLock;
use crate::memory::{Memory, LEFT};
use crate::messages::Terms;
use crate::region::is_sound;
use crate::session;
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

/// The verdicts on the peer's protocol.
const EQUAL: u32 = 1;
const ACCEPTS: u32 = 2;
const UNKNOWN: u32 = 3;

/// What this side wants, and how long it waits.
struct Wanted {
    deadline: Option<Instant>,
    awaited: Awaited,
    accepts: Vec<Fingerprint>,
    fingerprint: [u8; 16],
    /// The largest payload that it accepts.
    largest: u64,
}

/// What a session needs for which both sides have agreed.
struct Agreed {
    alive: Alive,
    /// The largest payload that the peer accepts.
    largest: usize,
}

/// A side that has announced itself and waits for the other.
struct Meeting {
    end: Arc<End>,
    state: Mutex<State>,
    helped: Helped,
}

struct State {
    wanted: Wanted,
    has_barrier: bool,
    /// Until the session begins, or there will be none.
    alive: Option<Alive>,
    /// This side's verdict on what the peer has announced, and the largest payload that the peer accepts.
    judged: Option<(u32, usize)>,
    /// What the task finds when it is polled again.
    result: Option<Result<Agreed, Error>>,
    waker: Option<Waker>,
    sleepers: Sleepers,
}

impl Meeting {
    /// Announces that this side is here.
    fn begin(
        memory: Memory,
        place: usize,
        lock: SideLock,
        wanted: Wanted,
    ) -> Result<Arc<Meeting>, Error> {
        let end = End::new(memory, place);
        let has_barrier = registers_barrier();
        let hello = &end.own().hello;
        // The state orders what is written after it; nothing depends on the order of this step alone.
        if (hello.state.compare_exchange(0, 1, AcqRel, Relaxed)).is_err() {
            return Err(Error::Taken);
        }
        hello.has_barrier.store(u32::from(has_barrier), Relaxed);
        hello.largest.store(wanted.largest, Relaxed);
        for (word, bytes) in hello.fingerprint.iter().zip(halves(wanted.fingerprint)) {
            word.store(u64::from_ne_bytes(bytes), Relaxed);
        }
        // SeqCst includes Release: the peer that reads this sees the rest.
        hello.state.store(2, SeqCst);
        end.wake_peer();
        Ok(Arc::new(Meeting {
            end: Arc::new(end),
            state: Mutex::new(State {
                wanted,
                has_barrier,
                alive: Some(Alive::new(lock)),
                judged: None,
                result: None,
                waker: None,
                sleepers: Sleepers::default(),
            }),
            helped: Helped::default(),
        }))
    }

    fn end(&self) -> Arc<End> {
        Arc::clone(&self.end)
    }

    fn state(&self) -> MutexGuard<'_, State> {
        sync::lock(&self.state)
    }

    /// Waits until both sides have given their verdicts.
    fn wait(&self) -> Result<Agreed, Error> {
        let mut before = match self.end.may_spin() {
            true => BeforeSleep::new(),
            false => BeforeSleep::without_spinning(),
        };
        loop {
            if let Some(result) = self.state().advance(&self.end) {
                return result;
            }
            if before.pass(1) {
                continue;
            }
            let flags = self.announce();
            let result = self.state().advance(&self.end);
            if result.is_none() {
                let deadline = self.state().wanted.deadline;
                let now = Instant::now();
                let left = deadline.map_or(PERIOD, |end| end.saturating_duration_since(now));
                self.end.sleep(flags, left.min(PERIOD));
            }
            self.retract();
            if let Some(result) = result {
                return result;
            }
        }
    }

    /// The same for a task, which is woken when it is time to poll again.
    fn poll(self: &Arc<Meeting>, waker: &Waker) -> Poll<Result<Agreed, Error>> {
        // What a waker does when it is cloned or dropped is the program's, so the lock is not held.
        let own = waker.clone();
        let mut state = self.state();
        let result = state.result.take();
        if let Some(result) = result.or_else(|| state.advance(&self.end)) {
            drop(state);
            guarded(|| drop(own));
            return Poll::Ready(result);
        }
        let waker = state.waker.replace(own);
        drop(state);
        guarded(|| drop(waker));
        helper::watch(self);
        Poll::Pending
    }

    /// Gives the side up, unless the session has begun.
    fn give_up(&self) {
        let mut state = self.state();
        let result = state.result.take();
        let (alive, waker) = (state.alive.take(), state.waker.take());
        drop(state);
        let alive = alive.or(result.and_then(|result| Some(result.ok()?.alive)));
        if alive.is_some() {
            self.end.set(LEFT);
        }
        guarded(|| drop(waker));
    }
}

impl State {
    /// Goes on without waiting. Returns the result once there is one.
    fn advance(&mut self, end: &End) -> Option<Result<Agreed, Error>> {
        let peer = &end.peer().hello;
        // Acquire, here and below: what the peer has written before.
        let has_come = || peer.state.load(Acquire) >= 2;
        let has_verdict = || peer.verdict.load(Acquire) != 0;
        if self.judged.is_none() {
            if !has_come() {
                let error = self.has_failed(end)?;
                // What the peer has written before it ended is read.
                return (!has_come()).then(|| self.fail(end, error));
            }
            self.judged = Some(self.judge(end));
        }
        let (verdict, largest) = self.judged?;
        if !has_verdict() {
            let error = self.has_failed(end)?;
            return (!has_verdict()).then(|| self.fail(end, error));
        }
        let theirs = peer.verdict.load(Acquire);
        if verdict == UNKNOWN && theirs != ACCEPTS {
            return Some(self.fail(end, Error::OtherProtocol));
        }
        if self.has_barrier {
            end.use_barrier();
        }
        let alive = self.alive.take()?;
        Some(Ok(Agreed { alive, largest }))
    }

    /// This side's verdict, which it gives to the peer, and the largest payload that the peer accepts.
    fn judge(&mut self, end: &End) -> (u32, usize) {
        let peer = &end.peer().hello;
        // Each is read once.
        self.has_barrier &= peer.has_barrier.load(Relaxed) == 1;
        let largest = usize::try_from(peer.largest.load(Relaxed)).unwrap_or(usize::MAX);
        let mut theirs = [0; 16];
        for (into, word) in theirs.chunks_exact_mut(8).zip(&peer.fingerprint) {
            into.copy_from_slice(&word.load(Relaxed).to_ne_bytes());
        }
        let verdict = match theirs == self.wanted.fingerprint {
            true => EQUAL,
            false if self.wanted.accepts.contains(&Fingerprint(theirs)) => ACCEPTS,
            false => UNKNOWN,
        };
        // SeqCst: before the peer's flags are read.
        end.own().hello.verdict.store(verdict, SeqCst);
        end.wake_peer();
        (verdict, largest)
    }

    /// Why there will be no session, if that is clear although the peer has not answered.
    fn has_failed(&mut self, end: &End) -> Option<Error> {
        let is_gone = match (end.peer().hello.state.load(Acquire), &mut self.alive) {
            (0, _) => end.has_left() || self.wanted.awaited.has_ended(),
            (_, Some(alive)) => alive.gone(end).is_some(),
            (_, None) => true,
        };
        if is_gone {
            return Some(Error::PeerLeft);
        }
        let is_late = |deadline: Instant| deadline <= Instant::now();
        (self.wanted.deadline).and_then(|deadline| is_late(deadline).then_some(Error::TimedOut))
    }

    /// There will be no session.
    fn fail(&mut self, end: &End, error: Error) -> Result<Agreed, Error> {
        if self.alive.take().is_some() {
            end.set(LEFT);
        }
        Err(error)
    }
}

/// The side as the helper sees it.
impl Served for Meeting {
    fn end(&self) -> &End {
        &self.end
    }

    fn helped(&self) -> &Helped {
        &self.helped
    }

    fn serve(self: Arc<Meeting>) -> (bool, bool) {
        let mut state = self.state();
        if state.waker.is_none() || state.result.is_some() {
            return (false, false);
        }
        state.result = state.advance(&self.end);
        if state.result.is_none() {
            return (true, false);
        }
        let waker = state.waker.take();
        drop(state);
        guarded(|| waker.into_iter().for_each(Waker::wake));
        (false, false)
    }

    fn flush(self: Arc<Meeting>) {}

    fn is_watched(&self) -> bool {
        let state = self.state();
        state.waker.is_some() && state.result.is_none()
    }

    fn announce(&self) -> u32 {
        self.end.announce(&mut self.state().sleepers)
    }

    fn retract(&self) {
        self.end.retract(&mut self.state().sleepers);
    }
}

fn halves(fingerprint: [u8; 16]) -> [[u8; 8]; 2] {
    let mut halves = [[0; 8]; 2];
    for (into, half) in halves.iter_mut().zip(fingerprint.chunks_exact(8)) {
        into.copy_from_slice(half);
    }
    halves
}

/// The process that is to be the peer.
enum Awaited {
    Unknown,
    Ended,
    Running(OwnedFd),
}

impl Awaited {
    fn of(process: Option<u32>) -> Result<Awaited, Error> {
        let Some(process) = process else {
            return Ok(Awaited::Unknown);
        };
        let process = i32::try_from(process).ok().and_then(Pid::from_raw);
        let Some(process) = process else {
            return Ok(Awaited::Ended);
        };
        match pidfd_open(process, PidfdFlags::empty()) {
            Ok(descriptor) => Ok(Awaited::Running(descriptor)),
            Err(rustix::io::Errno::SRCH) => Ok(Awaited::Ended),
            Err(error) => Err(Error::io("observe the other side's process")(error)),
        }
    }

    /// Whether it has ended, and so will not attach.
    fn has_ended(&self) -> bool {
        match self {
            Awaited::Unknown => false,
            Awaited::Ended => true,
            Awaited::Running(descriptor) => {
                let mut polled = [PollFd::new(descriptor, PollFlags::IN)];
                let now = timespec(Duration::ZERO);
                poll(&mut polled, Some(&now)).is_ok_and(|ready| ready > 0)
            }
        }
    }
}
