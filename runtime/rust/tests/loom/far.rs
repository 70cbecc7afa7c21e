//! A session whose other side belongs to a transport: runs that the sender stores, and what happens inside them.
//!
//! The transport here moves messages as `duologue-net` does, without a connection: the sender's thread works when it is
//! called, and a second thread checks the ring whenever something is due. A wake-up that is lost leaves both threads asleep, which
//! loom reports.

use std::sync::atomic::{AtomicUsize, Ordering::Relaxed};
use std::sync::Arc;
use std::task::{Wake, Waker};
use std::time::Instant;

use duologue::generated::{open_sender, Decoder, Driver, Encoder, FarEnd, Malformed, Size, Wire};
use duologue::transport::{Ahead, Armed, Forwarded, Next, Role, Why, Woken};
use duologue::Sender;
use loom::sync::atomic::{fence, AtomicBool, Ordering::SeqCst};
use loom::sync::{Condvar, Mutex, MutexGuard};
use loom::thread;

use crate::flow::{Flow, Payload};
use crate::{model, Counted};

/// A payload with a destructor.
struct Held(u8, #[allow(dead_code)] Counted);

impl Wire for Held {
    const SIZE: Size = Size::exactly(1);

    fn put(&self, out: &mut Encoder) {
        out.put(&[self.0]);
    }

    fn get(_: &mut Decoder<'_>) -> Result<Held, Malformed> {
        unreachable!("the transport only takes messages")
    }
}

struct Transport {
    core: Mutex<Core>,
    again: AtomicBool,
    seen: Mutex<Seen>,
    changed: Condvar,
}

struct Core {
    far: FarEnd,
    out: Encoder,
    waker: Option<Waker>,
}

/// What the other thread and the test wait for.
#[derive(Clone, Copy, Default)]
struct Seen {
    /// The other thread has to check.
    is_due: bool,
    /// How many bytes were forwarded.
    bytes: usize,
    has_turned: bool,
    is_over: bool,
}

/// What is done without a lock.
#[derive(Default)]
struct After {
    woken: Vec<Woken>,
    far: Option<FarEnd>,
}

impl Transport {
    fn forward(&self, core: &mut Core, after: &mut After, next: Next) {
        let mut has_forwarded = false;
        let mut is_due = false;
        while core.far.role() == Role::Receives {
            let (forwarded, _, woken) = core.far.forward(&mut core.out, usize::MAX, usize::MAX);
            after.woken.extend(woken);
            match forwarded {
                Forwarded::Message => has_forwarded = true,
                Forwarded::Nothing => {
                    let Some(waker) = &core.waker else { break };
                    match core.far.arm_next(waker, next, has_forwarded) {
                        Armed::Wakes => break,
                        Armed::ChecksAgain => {
                            is_due = true;
                            break;
                        }
                        Armed::Not => {}
                    }
                }
                Forwarded::Left | Forwarded::TooLarge => self.close(core, after),
            }
        }
        if core.far.role() == Role::Over {
            self.close(core, after);
        }
        let mut seen = self.seen();
        seen.is_due |= is_due;
        seen.bytes = core.out.bytes().len();
        seen.has_turned |= core.far.role() == Role::Sends;
        seen.is_over |= core.far.role() == Role::Over;
        self.changed.notify_all();
    }

    /// The far end disconnects.
    fn close(&self, core: &mut Core, after: &mut After) {
        if core.waker.take().is_some() {
            after.far = Some(std::mem::replace(&mut core.far, FarEnd::over()));
        }
    }

    fn seen(&self) -> MutexGuard<'_, Seen> {
        self.seen.lock().expect("nothing panics here")
    }

    fn seen_when(&self, is_enough: impl Fn(&Seen) -> bool) -> Seen {
        let mut seen = self.seen();
        while !is_enough(&seen) {
            seen = self.changed.wait(seen).expect("nothing panics here");
        }
        *seen
    }

    fn work(&self, act: impl FnOnce(&mut Core, &mut After)) {
        let core = self.core.lock().expect("nothing panics here");
        self.work_on(core, act);
        self.run_again();
    }

    fn work_on(&self, mut core: MutexGuard<'_, Core>, act: impl FnOnce(&mut Core, &mut After)) {
        let mut after = After::default();
        act(&mut core, &mut after);
        while self.again.swap(false, SeqCst) {
            self.forward(&mut core, &mut after, Next::Later);
        }
        drop(core);
        drop(after.far);
        for woken in after.woken {
            woken.wake();
        }
    }

    fn run_again(&self) {
        loop {
            fence(SeqCst);
            if !self.again.load(SeqCst) {
                return;
            }
            let Ok(core) = self.core.try_lock() else {
                return;
            };
            self.work_on(core, |_, _| {});
        }
    }

    /// Checks the ring whenever something is due, as the flushing thread does.
    fn check(&self) {
        loop {
            let is_done = |seen: &Seen| seen.is_over || seen.has_turned;
            let seen = self.seen_when(|seen| seen.is_due || is_done(seen));
            if is_done(&seen) {
                return;
            }
            self.seen().is_due = false;
            // Time passes before the next check.
            thread::yield_now();
            self.work(|core, after| self.forward(core, after, Next::Awaited));
        }
    }
}

impl Wake for Transport {
    fn wake(self: Arc<Self>) {
        // A swap, because loom lets a thread miss its own store if another thread has swapped before.
        let _was_set = self.again.swap(true, SeqCst);
        self.run_again();
    }
}

struct Driven(Arc<Transport>);

impl Driver for Driven {
    fn wait(&self, is_ready: &dyn Fn() -> bool, _: Option<Instant>) -> bool {
        self.flush();
        while !is_ready() {
            thread::yield_now();
        }
        true
    }

    fn armed(&self, _: bool, _: bool) {}

    fn never_waits(&self) {}

    fn collected(&self, ahead: Ahead) {
        let next = match ahead {
            Ahead::More => Next::Later,
            Ahead::Last | Ahead::Leaves => Next::AwaitedHere,
        };
        self.0.work(|core, after| self.0.forward(core, after, next));
    }

    fn flush(&self) {
        self.0
            .work(|core, after| self.0.forward(core, after, Next::Later));
    }

    fn abandoned(&self) {}

    fn why(&self) -> Why {
        Why::Left
    }
}

/// A session in which this many messages were already sent and forwarded.
fn begun<P: Payload>(before: u8, load: impl Fn(u8) -> P) -> (Sender<Flow<P>>, Arc<Transport>) {
    let mut transport = None;
    let mut sender = open_sender::<Flow<P>>(|far| {
        let begun = Arc::new(Transport {
            core: Mutex::new(Core {
                far,
                out: Encoder::new(),
                waker: None,
            }),
            again: AtomicBool::new(true),
            seen: Mutex::new(Seen::default()),
            changed: Condvar::new(),
        });
        begun.core.lock().expect("nothing panics here").waker = Some(Waker::from(begun.clone()));
        transport = Some(begun.clone());
        Arc::new(Driven(begun))
    });
    let transport = transport.expect("`open_sender` calls this");
    transport.run_again();
    for number in 0..before {
        sender = sender.send::<0>(load(number)).expect("the far end stays");
    }
    transport.work(|core, after| transport.forward(core, after, Next::Later));
    (sender, transport)
}

/// How a run ends.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Ends {
    Turns,
    Stops,
    Leaves,
}

/// At each position of a segment of 2 lines of 2 messages, and across its end.
const BEFORE: std::ops::Range<u8> = 0..6;

fn runs<P: Payload>(more: u8, ends: Ends, load: fn(u8) -> P) {
    for before in BEFORE {
        model(move || {
            let (mut sender, transport) = begun(before, load);
            let checking = {
                let transport = transport.clone();
                thread::spawn(move || transport.check())
            };
            for number in before..before + more {
                sender = sender.send::<0>(load(number)).expect("the far end stays");
            }
            let bytes = 2 * usize::from(before + more);
            // Only the other thread, or a wake-up, forwards what is still in the ring.
            transport.seen_when(|seen| seen.bytes == bytes);
            let last = match ends {
                Ends::Turns => {
                    let waiting = sender.send::<1>(load(0)).expect("the far end stays");
                    transport.seen_when(|seen| seen.has_turned);
                    drop(waiting);
                    2
                }
                Ends::Stops => {
                    sender.send::<2>(load(0)).expect("the far end stays");
                    transport.seen_when(|seen| seen.is_over);
                    2
                }
                Ends::Leaves => {
                    drop(sender);
                    transport.seen_when(|seen| seen.is_over);
                    0
                }
            };
            checking.join().expect("no panic");
            let mut core = transport.core.lock().expect("nothing panics here");
            let written = core.out.bytes();
            assert_eq!(written.len(), bytes + last);
            for (number, frame) in written[..bytes].chunks(2).enumerate() {
                assert_eq!(frame, [1, number as u8]);
            }
            core.waker = None;
            core.far = FarEnd::over();
        });
    }
}

#[test]
fn what_is_stored_inside_a_run_is_forwarded_and_the_turn_after_it() {
    runs::<u8>(2, Ends::Turns, |number| number);
}

#[test]
fn what_is_stored_inside_a_run_is_forwarded_and_the_end_after_it() {
    runs::<u8>(2, Ends::Stops, |number| number);
}

#[test]
fn a_sender_that_leaves_inside_a_run_is_seen_after_its_last_message() {
    runs::<u8>(1, Ends::Leaves, |number| number);
}

/// The far end disconnects inside a run, while the sender stores this many and then turns, ends or leaves.
fn far_end_leaves<P: Payload>(ends: Ends, load: impl Fn(u8) -> P + Clone + Send + Sync + 'static) {
    for before in BEFORE {
        let load = load.clone();
        model(move || {
            let (sender, transport) = begun(before, &load);
            let leaving = {
                let transport = transport.clone();
                thread::spawn(move || {
                    transport.work(|core, after| {
                        transport.close(core, after);
                        transport.seen().is_over = true;
                    });
                })
            };
            let mut next = Some(sender);
            for number in before..before + 2 {
                next = next.and_then(|sender| sender.send::<0>(load(number)).ok());
            }
            if let Some(sender) = next {
                match ends {
                    Ends::Turns => {
                        if let Ok(waiting) = sender.send::<1>(load(0)) {
                            assert!(waiting.recv().is_err(), "no answer comes");
                        }
                    }
                    Ends::Stops => drop(sender.send::<2>(load(0))),
                    Ends::Leaves => drop(sender),
                }
            }
            leaving.join().expect("no panic");
        });
    }
}

#[test]
fn a_far_end_that_leaves_inside_a_run_is_noticed() {
    for ends in [Ends::Turns, Ends::Stops, Ends::Leaves] {
        far_end_leaves::<u8>(ends, |number| number);
    }
}

#[test]
fn each_payload_is_destroyed_once_if_the_far_end_leaves_inside_a_run() {
    for ends in [Ends::Turns, Ends::Stops, Ends::Leaves] {
        let (made, drops) = (Arc::new(AtomicUsize::new(0)), Arc::new(AtomicUsize::new(0)));
        let counts = (made.clone(), drops.clone());
        far_end_leaves::<Held>(ends, move |number| {
            counts.0.fetch_add(1, Relaxed);
            Held(number, Counted(counts.1.clone()))
        });
        assert_eq!(made.load(Relaxed), drops.load(Relaxed), "{ends:?}");
    }
}
