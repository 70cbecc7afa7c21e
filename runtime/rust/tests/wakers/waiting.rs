//! Every place where a task waits, with two ways for its peer to end the wait.

use super::script::Act;
use crate::golden::stream::{self, state};
use duologue::generated::{session, End, Slot};
use duologue::{Capacity, Endpoint, PortSet, Select, SharedSender};
use std::future::Future;
use std::marker::PhantomData;
use std::pin::Pin;
use std::sync::atomic::{AtomicUsize, Ordering::SeqCst};
use std::sync::Arc;
use std::task::{Context, Poll, Waker};

/// A payload that is counted while it is alive.
pub struct Counted(Arc<AtomicUsize>);

impl Counted {
    pub fn new(living: &Arc<AtomicUsize>) -> Counted {
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
pub struct Once<T>(PhantomData<fn(T)>);

state! {
    [T: Send] Once<T>, "once.only" of "", stays: false, T, |branch| branch.take::<0>().0;
    0 "only"(T) => End;
}

/// A future together with what it borrows. It can be polled again after it panicked.
pub struct Task {
    future: Option<Pin<Box<dyn Future<Output = ()>>>>,
    pub owned: Vec<Act>,
}

impl Task {
    pub fn new(future: impl Future + 'static) -> Task {
        let mut future = Box::pin(future);
        let done = std::future::poll_fn(move |context| future.as_mut().poll(context).map(drop));
        Task {
            future: Some(Box::pin(done)),
            owned: Vec::new(),
        }
    }

    /// A future that borrows this value.
    pub fn of<T: 'static, F: Future + 'static>(value: T, begin: fn(&'static mut T) -> F) -> Task {
        let value = Box::into_raw(Box::new(value));
        // SAFETY: the value lives until `drop` frees it, after the future.
        let mut task = Task::new(begin(unsafe { &mut *value }));
        // SAFETY: as above, this is the last use of it.
        task.owned
            .push(Box::new(move || drop(unsafe { Box::from_raw(value) })));
        task
    }

    pub fn poll(&mut self, waker: &Waker) -> Poll<()> {
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
pub struct Waiting {
    pub task: Task,
    pub peer: Box<dyn Peer>,
    pub living: Arc<AtomicUsize>,
}

pub trait Peer {
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
pub fn select() -> Waiting {
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

pub type Shared = SharedSender<state::Stream<Counted>>;

/// A shared sender whose ring is full.
pub fn full(living: &Arc<AtomicUsize>) -> (stream::server::Stream<Counted>, Shared) {
    let slot = Slot::new().messages(3).fit::<Counted>();
    let (sender, server) = session::<state::Stream<Counted>>(slot, Capacity::Bounded(1));
    let shared = SharedSender::new(sender);
    while shared.try_send::<0>(Counted::new(living)).is_ok() {}
    (server, shared)
}

pub fn send_to(shared: &Shared, living: &Arc<AtomicUsize>) -> Task {
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

pub type Place = (&'static str, fn() -> Waiting);

pub const PLACES: [Place; 7] = [
    ("in a word", in_a_word),
    ("in a run", in_a_run),
    ("ready", ready),
    ("for room", for_room),
    ("select", select),
    ("port set", port_set),
    ("shared", shared),
];
