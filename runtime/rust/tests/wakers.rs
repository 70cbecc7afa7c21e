//! Hostile wakers: when they are cloned, woken or dropped, they panic, or use and drop what the runtime is working on.
//! Each kind is tried wherever a waker is stored.
#![cfg(not(duologue_loom))]

extern crate duologue_runtime as duologue;

#[path = "sessions/golden.rs"]
mod golden;

use std::cell::RefCell;
use std::future::Future;
use std::marker::PhantomData;
use std::mem::ManuallyDrop;
use std::panic::{catch_unwind, AssertUnwindSafe};
use std::pin::Pin;
use std::rc::Rc;
use std::sync::atomic::{AtomicUsize, Ordering::SeqCst};
use std::sync::Arc;
use std::task::{Context, Poll, RawWaker, RawWakerVTable, Waker};

use duologue::{
    session, Branch, Capacity, Endpoint, PortSet, Select, SharedSender, Slot, State, Transition,
};
use golden::stream::{self, state};

/// What is done to a waker.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum When {
    Cloned,
    Woken,
    Dropped,
}

type Act = Box<dyn FnOnce()>;

/// What a waker does, and how often it was woken. Each of its wakers is a share.
#[derive(Default)]
struct Script {
    acts: RefCell<Vec<(When, Act)>>,
    woken: AtomicUsize,
}

impl Script {
    fn waker(self: &Rc<Script>) -> Waker {
        let data = Rc::into_raw(self.clone()).cast();
        // SAFETY: the functions of the table keep the shares as `RawWaker` requires. No waker leaves this thread.
        unsafe { Waker::from_raw(RawWaker::new(data, &TABLE)) }
    }

    /// Calls `act` once, the next time that `when` happens to one of its wakers.
    fn then(&self, when: When, act: impl FnOnce() + 'static) {
        let mut acts = self.acts.borrow_mut();
        acts.push((when, Box::new(act)));
    }

    fn panics(&self, when: When) {
        self.then(when, || panic!("a hostile waker"));
    }

    fn act(&self, when: When) {
        let mut acts = self.acts.borrow_mut();
        let at = acts.iter().position(|(of, _)| *of == when);
        let act = at.map(|at| acts.remove(at).1);
        drop(acts);
        if let Some(act) = act {
            act();
        }
    }
}

static TABLE: RawWakerVTable = RawWakerVTable::new(
    |data| {
        // SAFETY: the data is that of a waker, which keeps its share.
        let script = ManuallyDrop::new(unsafe { Rc::from_raw(data.cast::<Script>()) });
        script.act(When::Cloned);
        let _ = ManuallyDrop::new(Rc::clone(&script));
        RawWaker::new(data, &TABLE)
    },
    |data| {
        // SAFETY: the data is that of a waker, which gives up its share.
        let script = unsafe { Rc::from_raw(data.cast::<Script>()) };
        script.woken.fetch_add(1, SeqCst);
        script.act(When::Woken);
    },
    |data| {
        // SAFETY: the data is that of a waker, which keeps its share.
        let script = ManuallyDrop::new(unsafe { Rc::from_raw(data.cast::<Script>()) });
        script.woken.fetch_add(1, SeqCst);
        script.act(When::Woken);
    },
    |data| {
        // SAFETY: the data is that of a waker, which gives up its share.
        let script = unsafe { Rc::from_raw(data.cast::<Script>()) };
        script.act(When::Dropped);
    },
);

/// A payload that is counted while it is alive.
struct Counted(Arc<AtomicUsize>);

impl Counted {
    fn new(living: &Arc<AtomicUsize>) -> Counted {
        living.fetch_add(1, SeqCst);
        Counted(living.clone())
    }
}

impl Drop for Counted {
    fn drop(&mut self) {
        self.0.fetch_sub(1, SeqCst);
    }
}

/// `once<T> { only(T) -> ! }`: a message that is always swapped.
struct Once<T>(PhantomData<fn(T)>);

impl<T: Send> State for Once<T> {
    type Message = T;
    const NAME: &'static str = "once.only";
    const STAYS: bool = false;

    fn open(branch: Branch<Self>) -> T {
        branch.take::<0>().0
    }
}

impl<T: Send> Transition<0> for Once<T> {
    type Payload = T;
    type Next = duologue::End;
}

/// A future together with what it borrows. It can be polled again after it panicked.
struct Task {
    future: Option<Pin<Box<dyn Future<Output = ()>>>>,
    owned: Vec<Act>,
}

impl Task {
    fn new(future: impl Future + 'static) -> Task {
        let mut future = Box::pin(future);
        let done = std::future::poll_fn(move |context| future.as_mut().poll(context).map(drop));
        Task {
            future: Some(Box::pin(done)),
            owned: Vec::new(),
        }
    }

    /// A future that borrows this value.
    fn of<T: 'static, F: Future + 'static>(value: T, begin: fn(&'static mut T) -> F) -> Task {
        let value = Box::into_raw(Box::new(value));
        // SAFETY: the value lives until `drop` frees it, after the future.
        let mut task = Task::new(begin(unsafe { &mut *value }));
        // SAFETY: as above, this is the last use of it.
        task.owned
            .push(Box::new(move || drop(unsafe { Box::from_raw(value) })));
        task
    }

    fn poll(&mut self, waker: &Waker) -> Poll<()> {
        let future = self.future.as_mut().expect("it was not dropped");
        future.as_mut().poll(&mut Context::from_waker(waker))
    }
}

impl Drop for Task {
    fn drop(&mut self) {
        struct Free(Vec<Act>);
        impl Drop for Free {
            fn drop(&mut self) {
                self.0.drain(..).for_each(|free| free());
            }
        }
        let _free = Free(std::mem::take(&mut self.owned));
        self.future = None;
    }
}

/// A task that waits, and two ways for its peer to end that.
struct Waiting {
    task: Task,
    peer: Box<dyn Peer>,
    living: Arc<AtomicUsize>,
}

trait Peer {
    /// Sends what the task waits for, or frees slots for it.
    fn go_on(self: Box<Self>);
    /// Disconnects instead.
    fn leave(self: Box<Self>) {}
}

impl<F: FnOnce()> Peer for F {
    fn go_on(self: Box<Self>) {
        self();
    }
}

fn waiting(task: Task, living: &Arc<AtomicUsize>, peer: impl FnOnce() + 'static) -> Waiting {
    Waiting {
        task,
        peer: Box::new(peer),
        living: living.clone(),
    }
}

/// A receiver that waits in a word.
fn in_a_word() -> Waiting {
    let living = Arc::default();
    let slot = Slot::new().fit::<Counted>();
    let (client, server) = session::<Once<Counted>>(slot, Capacity::Bounded(1));
    let payload = Counted::new(&living);
    waiting(Task::new(server.recv_async()), &living, || {
        drop(client.send::<0>(payload));
    })
}

/// A receiver that waits in its flags.
fn in_a_run() -> Waiting {
    let living = Arc::default();
    let (server, client) = stream::init_with(Capacity::Bounded(3));
    let payload = Counted::new(&living);
    waiting(Task::new(server.recv_async()), &living, || {
        drop(client.send(payload));
    })
}

/// A receiver that waits without being consumed.
fn ready() -> Waiting {
    let living = Arc::default();
    let (server, client) = stream::init_with(Capacity::Bounded(3));
    let payload = Counted::new(&living);
    let task = Task::of(server, |server| server.ready());
    waiting(task, &living, || {
        drop(client.send(payload));
    })
}

/// A sender that waits for space.
fn for_room() -> Waiting {
    let living = Arc::default();
    let (server, mut client) = stream::init_with(Capacity::Bounded(1));
    while client.is_ready() {
        client = client.send(Counted::new(&living)).expect("it is there");
    }
    let task = Task::of(client, |client| client.ready());
    waiting(task, &living, || {
        drop(server.recv());
    })
}

/// A select over several endpoints.
fn select() -> Waiting {
    let living = Arc::default();
    let (server, client) = stream::init_with(Capacity::Bounded(3));
    let mut ends = vec![server];
    let (mut servers, mut clients) = (Vec::new(), Vec::new());
    for _ in 0..3 {
        let (server, client) = stream::init_with(Capacity::Bounded(3));
        servers.push(server);
        clients.push(client);
    }
    ends.append(&mut servers);
    let payload = Counted::new(&living);
    let ends = Box::into_raw(Box::new(ends));
    // SAFETY: they live until the task drops them, after its future.
    let select = Select::from_iter(unsafe { &mut *ends });
    let mut task = Task::of(select, |select| select.ready_async());
    // SAFETY: as above, this is the last use of them.
    task.owned
        .push(Box::new(move || drop(unsafe { Box::from_raw(ends) })));
    waiting(task, &living, || {
        drop(client.send(payload));
        drop(clients);
    })
}

/// A port set that sleeps at its doorbell.
fn port_set() -> Waiting {
    let living = Arc::default();
    let (server, client) = stream::init_with(Capacity::Bounded(3));
    let (other, other_client) = stream::init_with(Capacity::Bounded(3));
    let set = PortSet::from_iter([(server, 1), (other, 2)]);
    let payload = Counted::new(&living);
    let task = Task::of(set, |set| set.recv_async());
    waiting(task, &living, || {
        drop(client.send(payload));
        drop(other_client);
    })
}

type Shared = SharedSender<state::Stream<Counted>>;

/// A shared sender whose ring is full.
fn full(living: &Arc<AtomicUsize>) -> (stream::server::Stream<Counted>, Shared) {
    let slot = Slot::new().messages(3).fit::<Counted>();
    let (sender, server) = session::<state::Stream<Counted>>(slot, Capacity::Bounded(1));
    let shared = SharedSender::new(sender);
    while shared.try_send::<0>(Counted::new(living)).is_ok() {}
    (server, shared)
}

fn send_to(shared: &Shared, living: &Arc<AtomicUsize>) -> Task {
    Task::of(
        (shared.clone(), Some(Counted::new(living))),
        |(shared, payload)| shared.send_async::<0>(payload.take().expect("it is there")),
    )
}

/// A shared sender that waits in its queue.
fn shared() -> Waiting {
    let living = Arc::default();
    let (server, shared) = full(&living);
    let task = send_to(&shared, &living);
    waiting(task, &living, || {
        drop(server.recv());
    })
}

type Place = (&'static str, fn() -> Waiting);

const PLACES: [Place; 7] = [
    ("in a word", in_a_word),
    ("in a run", in_a_run),
    ("ready", ready),
    ("for room", for_room),
    ("select", select),
    ("port set", port_set),
    ("shared", shared),
];

/// Whether this panics.
fn panics(act: impl FnOnce()) -> bool {
    catch_unwind(AssertUnwindSafe(act)).is_err()
}

/// Polls until the waker stays registered: a task may first yield.
fn arm(task: &mut Task, waker: &Waker) {
    for _ in 0..3 {
        assert!(task.poll(waker).is_pending());
    }
}

/// Nothing is left: no payload, and no share of a waker except the test's own.
fn all_is_gone(place: &str, living: &AtomicUsize, scripts: &[&Rc<Script>]) {
    assert_eq!(living.load(SeqCst), 0, "{place}: payloads are left");
    for script in scripts {
        assert_eq!(Rc::strong_count(script), 1, "{place}: a waker is left");
    }
}

#[test]
fn a_panic_when_woken_loses_nothing() {
    for leaves in [false, true] {
        for (place, begin) in PLACES {
            let Waiting {
                mut task,
                peer,
                living,
            } = begin();
            let script = Rc::new(Script::default());
            arm(&mut task, &script.waker());
            script.panics(When::Woken);
            let woke = if leaves {
                panics(|| peer.leave())
            } else {
                panics(|| peer.go_on())
            };
            assert!(woke, "{place}: a waker was woken");
            let calm = Rc::new(Script::default());
            assert!(task.poll(&calm.waker()).is_ready(), "{place}");
            drop(task);
            all_is_gone(place, &living, &[&script, &calm]);
        }
    }
}

#[test]
fn a_panic_when_replaced_loses_nothing() {
    for (place, begin) in PLACES {
        let Waiting {
            mut task,
            peer,
            living,
        } = begin();
        let (script, calm) = (Rc::new(Script::default()), Rc::new(Script::default()));
        arm(&mut task, &script.waker());
        script.panics(When::Dropped);
        let _ = panics(|| assert!(task.poll(&calm.waker()).is_pending()));
        assert!(
            script.acts.borrow_mut().is_empty(),
            "{place}: it was dropped"
        );
        arm(&mut task, &calm.waker());
        let before = calm.woken.load(SeqCst);
        peer.go_on();
        assert!(calm.woken.load(SeqCst) > before, "{place}: it is woken");
        assert!(task.poll(&calm.waker()).is_ready(), "{place}");
        drop(task);
        all_is_gone(place, &living, &[&script, &calm]);
    }
}

#[test]
fn a_panic_when_given_up_loses_nothing() {
    for goes_on in [false, true] {
        for (place, begin) in PLACES {
            let Waiting {
                mut task,
                peer,
                living,
            } = begin();
            let script = Rc::new(Script::default());
            arm(&mut task, &script.waker());
            script.panics(When::Dropped);
            // The peer notices, or ends the session that is left to it.
            assert!(panics(|| drop(task)), "{place}: the waker was dropped");
            if goes_on {
                peer.go_on();
            } else {
                peer.leave();
            }
            all_is_gone(place, &living, &[&script]);
        }
    }
}

#[test]
fn a_panic_when_cloned_loses_nothing() {
    for (place, begin) in PLACES {
        let Waiting {
            mut task,
            peer,
            living,
        } = begin();
        let (script, calm) = (Rc::new(Script::default()), Rc::new(Script::default()));
        script.panics(When::Cloned);
        let waker = script.waker();
        assert!(
            panics(|| assert!(task.poll(&waker).is_pending())),
            "{place}: it is cloned"
        );
        drop(waker);
        arm(&mut task, &calm.waker());
        let before = calm.woken.load(SeqCst);
        peer.go_on();
        assert!(calm.woken.load(SeqCst) > before, "{place}: it is woken");
        assert!(task.poll(&calm.waker()).is_ready(), "{place}");
        drop(task);
        all_is_gone(place, &living, &[&script, &calm]);
    }
}

#[test]
fn a_waker_may_drop_what_it_wakes() {
    for leaves in [false, true] {
        for (place, begin) in PLACES {
            let Waiting {
                mut task,
                peer,
                living,
            } = begin();
            let script = Rc::new(Script::default());
            arm(&mut task, &script.waker());
            script.then(When::Woken, || drop(task));
            if leaves {
                peer.leave();
            } else {
                peer.go_on();
            }
            assert!(script.acts.borrow_mut().is_empty(), "{place}: it was woken");
            all_is_gone(place, &living, &[&script]);
        }
    }
}

#[test]
fn a_waker_that_is_dropped_may_end_the_session_on_the_other_side() {
    for (place, begin) in PLACES {
        let Waiting {
            mut task,
            peer,
            living,
        } = begin();
        let (script, calm) = (Rc::new(Script::default()), Rc::new(Script::default()));
        arm(&mut task, &script.waker());
        script.then(When::Dropped, || peer.leave());
        // The task finds at once that it is ready, or it is woken.
        let polled = task.poll(&calm.waker());
        assert!(
            script.acts.borrow_mut().is_empty(),
            "{place}: it was dropped"
        );
        if polled.is_pending() {
            assert!(calm.woken.load(SeqCst) > 0, "{place}: it is woken");
            assert!(task.poll(&calm.waker()).is_ready(), "{place}");
        }
        drop(task);
        all_is_gone(place, &living, &[&script, &calm]);
    }
}

#[test]
fn a_waker_may_own_another_task_of_the_same_queue() {
    for when in [When::Dropped, When::Cloned, When::Woken] {
        let living = Arc::default();
        let (server, shared) = full(&living);
        let mut task = send_to(&shared, &living);
        let mut other = send_to(&shared, &living);
        let (script, calm) = (Rc::new(Script::default()), Rc::new(Script::default()));
        arm(&mut other, &calm.waker());
        if when != When::Cloned {
            arm(&mut task, &script.waker());
        }
        let again = shared.clone();
        let payload = Counted::new(&living);
        script.then(when, move || {
            drop(other);
            let _ = again.try_send::<0>(payload);
        });
        match when {
            When::Cloned => assert!(task.poll(&script.waker()).is_pending()),
            When::Dropped => assert!(task.poll(&calm.waker()).is_pending()),
            When::Woken => assert!(server.is_ready()),
        }
        drop(server.recv());
        assert!(script.acts.borrow_mut().is_empty(), "it was {when:?}");
        drop((task, shared));
        all_is_gone("the queue", &living, &[&script, &calm]);
    }
}

#[test]
fn a_panic_does_not_keep_others_from_being_woken() {
    for leaves in [false, true] {
        let living = Arc::default();
        let (server, shared) = full(&living);
        let scripts = [(); 5].map(|()| Rc::new(Script::default()));
        let mut tasks = Vec::new();
        for (number, script) in scripts.iter().enumerate() {
            let mut task = send_to(&shared, &living);
            arm(&mut task, &script.waker());
            if number % 2 == 0 {
                script.panics(When::Woken);
            }
            tasks.push(task);
        }
        let woke = panics(|| {
            if leaves {
                drop(server)
            } else {
                drop(server.recv())
            }
        });
        assert!(woke, "the panic reaches the receiver");
        for script in &scripts {
            assert_eq!(script.woken.load(SeqCst), 1);
        }
        drop((tasks, shared));
        all_is_gone("the queue", &living, &scripts.each_ref());
    }
}

#[test]
fn a_panic_does_not_leave_the_waker_at_other_endpoints() {
    let Waiting {
        mut task,
        peer,
        living,
    } = select();
    let script = Rc::new(Script::default());
    arm(&mut task, &script.waker());
    for _ in 0..3 {
        script.panics(When::Dropped);
    }
    // The endpoints stay alive, so that dropping them does not take the waker away.
    let owned = std::mem::take(&mut task.owned);
    assert!(panics(|| drop(task)));
    assert_eq!(Rc::strong_count(&script), 1);
    owned.into_iter().for_each(|free| free());
    peer.leave();
    all_is_gone("select", &living, &[&script]);
}

#[test]
fn a_receiver_destroys_what_it_has_not_read_if_the_waker_of_its_sender_panics() {
    for capacity in [
        Capacity::Bounded(1),
        Capacity::Bounded(3),
        Capacity::Unbounded,
    ] {
        let living = Arc::default();
        let (server, mut client) = stream::init_with(capacity);
        while client.is_ready() {
            client = client.send(Counted::new(&living)).expect("it is there");
        }
        let mut task = Task::of(client, |client| client.ready());
        let script = Rc::new(Script::default());
        arm(&mut task, &script.waker());
        script.panics(When::Woken);
        assert!(panics(|| drop(server)));
        assert_eq!(living.load(SeqCst), 0);
        assert!(task.poll(&script.waker()).is_ready());
        drop(task);
        all_is_gone("a full ring", &living, &[&script]);
    }
}

#[test]
fn a_waker_of_a_forgotten_future_may_panic_in_any_later_use() {
    // A future that is forgotten leaves its waker with an endpoint that continues to be used.
    for uses in 0..3 {
        let living = Arc::default();
        let (mut server, client) = stream::init_with(Capacity::Bounded(3));
        let script = Rc::new(Script::default());
        let mut future = ManuallyDrop::new(server.ready());
        for _ in 0..3 {
            let waker = script.waker();
            let polled = Pin::new(&mut *future).poll(&mut Context::from_waker(&waker));
            assert!(polled.is_pending());
        }
        script.panics(When::Dropped);
        let _ = match uses {
            0 => panics(|| drop(server)),
            1 => panics(|| drop(server.recv_timeout(std::time::Duration::ZERO))),
            _ => panics(|| {
                drop(PortSet::from_iter([(server, ())]).recv_timeout(std::time::Duration::ZERO))
            }),
        };
        let sent = client.send(Counted::new(&living));
        assert!(sent.is_err(), "the server is gone");
        drop(sent);
        all_is_gone("forgotten", &living, &[&script]);
    }
    // Also with a sender that is dropped, is shared, or waits for space.
    for uses in 0..3 {
        let living = Arc::default();
        let slot = Slot::new().messages(3).fit::<Counted>();
        let (mut client, server) = session::<state::Stream<Counted>>(slot, Capacity::Bounded(1));
        while client.is_ready() {
            client = client
                .send::<0>(Counted::new(&living))
                .expect("it is there");
        }
        let script = Rc::new(Script::default());
        let mut future = ManuallyDrop::new(client.ready());
        let waker = script.waker();
        let polled = Pin::new(&mut *future).poll(&mut Context::from_waker(&waker));
        assert!(polled.is_pending());
        drop(waker);
        script.panics(When::Dropped);
        let payload = Counted::new(&living);
        let panicked = match uses {
            0 => panics(|| drop((client, payload))),
            // At once, and not later under the lock.
            1 => panics(|| std::mem::forget((SharedSender::new(client), payload))),
            _ => panics(|| drop(client.send::<0>(payload))),
        };
        assert!(panicked);
        let Ok(stream::Stream::Send(_, server)) = server.recv() else {
            panic!("the first message")
        };
        assert!(server.recv().is_err(), "the sender is gone");
        all_is_gone("forgotten", &living, &[&script]);
    }
}
