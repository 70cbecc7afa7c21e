//! A shell around a core, in one thread that never waits, with a connection and a clock that the test controls.

use std::cell::Cell;
use std::collections::VecDeque;
use std::mem;
use std::panic::{catch_unwind, resume_unwind, AssertUnwindSafe};
use std::sync::atomic::{AtomicBool, Ordering::SeqCst};
use std::sync::{Arc, Mutex};
use std::task::{Wake, Waker};
use std::thread_local;
use std::time::{Duration, Instant};

use duologue::transport::{Ahead, Driver, Role, Why};

use super::counter::Program;
use super::spelled;
use crate::core::{Core, Input, Next, Patience, Step, Terms, Work, COLLECTED};

thread_local! {
    /// What the clock of this thread's test shows.
    static TIME: Cell<Option<Instant>> = const { Cell::new(None) };
}

fn clock() -> Instant {
    TIME.get().expect("the test has begun")
}

/// What the program and the far end tell the shell.
#[derive(Default)]
struct Signals {
    has_to_work: AtomicBool,
    is_abandoned: AtomicBool,
    why: Mutex<Option<Why>>,
}

impl Wake for Signals {
    fn wake(self: Arc<Signals>) {
        self.has_to_work.store(true, SeqCst);
    }
}

/// The session as its side in this process sees it: nothing waits.
struct Driven(Arc<Signals>);

impl Driver for Driven {
    fn wait(&self, is_ready: &dyn Fn() -> bool, _: Option<Instant>) -> bool {
        is_ready()
    }

    fn armed(&self, _sends: bool, _by_task: bool) {}

    fn never_waits(&self) {}

    fn collected(&self, _: Ahead) {
        self.0.has_to_work.store(true, SeqCst);
    }

    fn flush(&self) {}

    fn abandoned(&self) {
        self.0.is_abandoned.store(true, SeqCst);
        self.0.has_to_work.store(true, SeqCst);
    }

    fn why(&self) -> Why {
        self.0.why.lock().expect("no panic").unwrap_or(Why::Left)
    }
}

pub(super) struct Shell {
    pub(super) core: Core,
    input: Input,
    program: Program,
    signals: Arc<Signals>,
    began: Instant,
    /// What has arrived and was not read, and whether the connection ends after it.
    incoming: VecDeque<u8>,
    has_ended: bool,
    /// How many bytes the connection accepts, and whether it fails.
    accepts: usize,
    has_failed: bool,
    written: Vec<u8>,
    is_closed: bool,
    /// When deadlines were asked for.
    checks: Vec<Instant>,
}

impl Shell {
    /// A session of the side and with the terms that these words name.
    pub(super) fn begin(words: &[String]) -> Shell {
        let began = Instant::now();
        TIME.set(Some(began));
        let (side, terms) = words.split_first().expect("a side");
        let term = |name: &str| {
            let value = |word: &String| word.strip_prefix(name)?.strip_prefix('=')?.parse().ok();
            terms.iter().find_map(value)
        };
        let largest = term("largest").unwrap_or(1 << 20) as usize;
        let heartbeat = |name| term(name).unwrap_or(0) as u16;
        let terms = Terms {
            accepted: side == "server",
            theirs: largest,
            ours: largest,
            memory: 1 << 20,
            our_heartbeat: heartbeat("ours"),
            their_heartbeat: heartbeat("theirs"),
            idle: term("idle").map(Duration::from_millis),
        };
        let signals = Arc::new(Signals::default());
        let mut core = None;
        let program = Program::begin(side, |far| {
            core = Some(Core::new(far, terms, None, clock));
            Arc::new(Driven(Arc::clone(&signals)))
        });
        let mut core = core.expect("it was attached");
        core.wake_with(Waker::from(Arc::clone(&signals)));
        let mut shell = Shell {
            core,
            input: Input::new(terms.patience()),
            program,
            signals,
            began,
            incoming: VecDeque::new(),
            has_ended: false,
            accepts: usize::MAX,
            has_failed: false,
            written: Vec::new(),
            is_closed: false,
            checks: Vec::new(),
        };
        shell.work(|shell, work| shell.forward(work));
        shell
    }

    /// Does some work, and what has to be done after it.
    fn work(&mut self, act: impl FnOnce(&mut Shell, &mut Work)) {
        let mut work = Work::new(Patience::None, true, clock);
        act(self, &mut work);
        while self.signals.has_to_work.swap(false, SeqCst) {
            if self.signals.is_abandoned.load(SeqCst) {
                self.core.abandon();
            }
            self.forward(&mut work);
        }
        self.core.schedule(&mut work);
        self.checks.extend(work.check_at);
        *self.signals.why.lock().expect("no panic") = self.core.why();
        self.is_closed |= work.closes;
        drop(work.far);
    }

    fn forward(&mut self, work: &mut Work) {
        loop {
            match self.core.forward(Next::Later, work) {
                Step::Write => self.write(work),
                Step::WriteLast => self.write_last(work),
                Step::Done => return,
                step @ (Step::Forward | Step::Full) => panic!("unexpected: {step:?}"),
            }
        }
    }

    fn write(&mut self, work: &mut Work) {
        while self.core.pending() > 0 {
            if self.has_failed {
                return self.core.write_failed(Some(&self.input), work);
            }
            let count = self.accepts.min(self.core.pending());
            if count == 0 {
                let until = self.core.refused(Some(self.began), work);
                return assert_eq!(until, None);
            }
            self.written.extend(&self.core.output()[..count]);
            self.core.wrote(count);
            if self.accepts != usize::MAX {
                self.accepts -= count;
            }
        }
        self.core.all_written(work);
    }

    fn write_last(&mut self, work: &mut Work) {
        self.write(work);
        self.core.last_written(false, work);
    }

    /// Reads what has arrived. Returns whether there was something.
    fn read(&mut self) -> bool {
        if self.input.ended().is_some() {
            return false;
        }
        let space = self.input.space();
        let count = self.incoming.len().min(space.len());
        for byte in &mut space[..count] {
            *byte = self.incoming.pop_front().unwrap_or_default();
        }
        if count > 0 || self.has_ended {
            self.input.received(count);
            return true;
        }
        self.input.is_silent(clock(), clock())
    }

    fn publish(&mut self, work: &mut Work) {
        self.core.begin_receiving(&self.input, work);
        loop {
            match self.core.receive(&mut self.input, work) {
                Step::Full => {}
                Step::Forward => self.forward(work),
                Step::Write => self.write(work),
                Step::WriteLast => self.write_last(work),
                Step::Done => return,
            }
        }
    }

    /// Reads and publishes until nothing more arrives, or the ring is full.
    fn look(&mut self) {
        self.work(|shell, work| {
            shell.publish(work);
            while shell.core.is_open() && !shell.core.is_full() && shell.read() {
                shell.publish(work);
            }
            if shell.core.is_late(work) {
                shell.write(work);
            }
            if shell.core.role() != Role::Over && shell.core.is_late(work) {
                shell.core.leave(Why::Late);
                shell.write_last(work);
            }
        });
    }

    pub(super) fn send(&mut self, message: &str) {
        self.program = mem::replace(&mut self.program, Program::Over).send(message);
        self.work(|shell, work| shell.forward(work));
    }

    pub(super) fn recv(&mut self) -> String {
        self.look();
        let (received, next) = mem::replace(&mut self.program, Program::Over).recv();
        self.program = next;
        self.look();
        received
    }

    /// The side disconnects.
    pub(super) fn drop_side(&mut self) {
        self.program = Program::Over;
        self.work(|shell, work| shell.forward(work));
    }

    /// Writes what was collected.
    pub(super) fn flush(&mut self) {
        self.work(|shell, work| {
            let before = shell.core.pending();
            shell.write(work);
            let has_moved = shell.core.pending() < before;
            shell.core.lingers(has_moved, work);
            shell.forward(work);
            if shell.core.pending() < COLLECTED {
                shell.write(work);
            }
        });
    }

    pub(super) fn arrives(&mut self, bytes: &[u8]) {
        self.incoming.extend(bytes);
        self.look();
    }

    /// The connection ends.
    pub(super) fn ends(&mut self) {
        self.has_ended = true;
        self.look();
    }

    /// The connection accepts nothing more, now and later.
    pub(super) fn fails(&mut self) {
        self.has_failed = true;
    }

    /// The connection accepts this many bytes.
    pub(super) fn accept(&mut self, count: usize) {
        self.accepts = count;
        if count > 0 {
            self.flush();
        }
    }

    /// Time passes.
    pub(super) fn pass(&mut self, time: Duration) {
        let end = clock() + time;
        loop {
            let next = self.checks.iter().copied().min().filter(|at| *at <= end);
            let Some(at) = next else { break };
            let first = self.checks.iter().position(|check| *check == at);
            self.checks.remove(first.expect("it is there"));
            TIME.set(Some(clock().max(at)));
            let mut due = Default::default();
            self.work(|shell, work| {
                due = shell.core.tick(work);
                if due.writes {
                    shell.write(work);
                }
            });
            if due.reads {
                self.look();
            }
            let next = self.core.checked(clock());
            self.checks.extend(next);
        }
        TIME.set(Some(end));
    }

    /// How long it is until the next deadline, except that for returning memory.
    pub(super) fn deadline(&self) -> Option<Duration> {
        let all = self.core.deadlines();
        let others = all.filter(|at| Some(*at) != self.core.shrinks_at);
        others.min().map(|at| at - clock())
    }

    pub(super) fn take_written(&mut self) -> Vec<u8> {
        mem::take(&mut self.written)
    }

    /// Why the session is over.
    pub(super) fn why(&self) -> Option<String> {
        self.core.why().map(spelled)
    }

    /// Whether the connection has to be closed.
    pub(super) fn is_closed(&self) -> bool {
        self.is_closed
    }
}

/// Says where a panic occurs.
pub(super) fn while_doing<T>(what: String, act: impl FnOnce() -> T) -> T {
    catch_unwind(AssertUnwindSafe(act)).unwrap_or_else(|panic| {
        eprintln!("while doing: {what}");
        resume_unwind(panic)
    })
}
