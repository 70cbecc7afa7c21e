//! Agreeing with the peer on the protocol: `runtime/shared-memory.md`, "Handshake".

use std::os::fd::OwnedFd;
use std::sync::atomic::Ordering::{AcqRel, Acquire, Relaxed, SeqCst};
use std::sync::{Arc, Mutex, MutexGuard};
use std::task::{Poll, Waker};
use std::time::{Duration, Instant};

use duologue::transport::{guarded, sync, BeforeSleep, Fingerprint};
use rustix::event::{poll, PollFd, PollFlags};
use rustix::process::{pidfd_open, Pid, PidfdFlags};

use crate::end::{registers_barrier, timespec, Alive, End, Sleepers, PERIOD};
use crate::helper::{self, Helped, Served};
use crate::lock::SideLock;
use crate::memory::{Memory, LEFT};
use crate::Error;

/// The verdicts on the peer's protocol.
const EQUAL: u32 = 1;
const ACCEPTS: u32 = 2;
const UNKNOWN: u32 = 3;

/// What this side wants, and how long it waits.
pub(crate) struct Wanted {
    pub(crate) deadline: Option<Instant>,
    pub(crate) awaited: Awaited,
    pub(crate) accepts: Vec<Fingerprint>,
    pub(crate) fingerprint: [u8; 16],
    /// The largest payload that it accepts.
    pub(crate) largest: u64,
}

/// What a session needs for which both sides have agreed.
pub(crate) struct Agreed {
    pub(crate) alive: Alive,
    /// The largest payload that the peer accepts.
    pub(crate) largest: usize,
}

/// A side that has announced itself and waits for the other.
pub(crate) struct Meeting {
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
    pub(crate) fn begin(
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

    pub(crate) fn end(&self) -> Arc<End> {
        Arc::clone(&self.end)
    }

    fn state(&self) -> MutexGuard<'_, State> {
        sync::lock(&self.state)
    }

    /// Waits until both sides have given their verdicts.
    pub(crate) fn wait(&self) -> Result<Agreed, Error> {
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
    pub(crate) fn poll(self: &Arc<Meeting>, waker: &Waker) -> Poll<Result<Agreed, Error>> {
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
    pub(crate) fn give_up(&self) {
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
pub(crate) enum Awaited {
    Unknown,
    Ended,
    Running(OwnedFd),
}

impl Awaited {
    pub(crate) fn of(process: Option<u32>) -> Result<Awaited, Error> {
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
