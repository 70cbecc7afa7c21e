//! Many senders and one receiver, on two cores.

use super::ring_tasks::Task;
use super::{OURS, port_set, ring_tasks};
use crate::harness::{Case, Family, Job, Place};
use crate::payload::Payload;
use crate::peers::blocking::*;
use crate::peers::tasks;
use crate::protocols::stream::{self, Stream};
use duologue::{Endpoint, PortSet};

/// From 1 to 64 senders.
pub fn families() -> Vec<Family> {
    [1, 2, 4, 8, 16, 64].map(of).into()
}

fn of(senders: u64) -> Family {
    let name = format!("fan-in of {senders}, u64");
    let sum = move |count| u64::sum(count).wrapping_mul(senders);
    Family::new(name, "message", sum)
        .units(senders)
        .slices(50, 5)
        .case(shared::<Crossbeam>(senders))
        .case(port_set::set(senders))
        .case(one_end(senders))
        .case(scanned(senders))
        .case(selected(senders))
        .case(shared::<Kanal>(senders))
        .case(shared::<StdSync>(senders))
        .case(shared::<Std>(senders))
        .case(shared::<Flume>(senders))
        .case(shared::<Tokio>(senders))
}

/// Many senders to one receiver, as threads and, with two workers, as tasks. Each sender sends as many numbers as there are operations, and
/// ends; the receiver receives until all have ended.
pub fn msgsend(senders: u64) -> Vec<Case> {
    vec![
        port_set::set(senders),
        one_end(senders),
        shared::<Kanal>(senders),
        shared::<Crossbeam>(senders),
        set_of_tasks(senders),
        one_end_of_tasks(senders),
        channel_of_tasks::<tasks::Kanal>(senders),
        channel_of_tasks::<tasks::Tokio>(senders),
    ]
}

/// Tasks of tokio: `tasks` makes the receiver and the senders for a number of operations.
fn as_tasks(name: &str, tasks: impl Fn(u64) -> Vec<Task> + 'static) -> Case {
    ring_tasks::as_tasks(2, format!("{name}, tasks"), tasks)
}

const OPEN: &str = "the receiver reads all";

fn set_of_tasks(senders: u64) -> Case {
    as_tasks(&format!("{OURS} PortSet"), move |count| {
        let sessions = (0..senders).map(|_| stream::init::<u64>());
        let (servers, clients): (Vec<_>, Vec<_>) = sessions.unzip();
        let receiver: Task = Box::pin(async move {
            let mut set: PortSet<_> = servers.into_iter().map(|server| (server, ())).collect();
            let mut sum = 0_u64;
            while let Some(((), message)) = set.recv_async().await {
                if let Ok(Stream::Send(value, next)) = message {
                    sum = sum.wrapping_add(value);
                    set.insert(next, ());
                }
            }
            sum
        });
        let send = |mut client: stream::client::Stream<u64>| -> Task {
            Box::pin(async move {
                for n in 0..count {
                    client.ready().await;
                    client = client.send(n).expect(OPEN);
                }
                0
            })
        };
        let senders = clients.into_iter().map(send);
        senders.chain([receiver]).collect()
    })
}

fn one_end_of_tasks(senders: u64) -> Case {
    as_tasks(&format!("{OURS} SharedSender"), move |count| {
        let (mut server, client) = stream::init::<u64>();
        let shared = stream::client::SharedStream::from(client);
        let receiver: Task = Box::pin(async move {
            let mut sum = 0_u64;
            while let Ok(Stream::Send(value, next)) = server.recv_async().await {
                sum = sum.wrapping_add(value);
                server = next;
            }
            sum
        });
        let send = |_| -> Task {
            let shared = shared.clone();
            Box::pin(async move {
                for n in 0..count {
                    shared.send_async(n).await.expect(OPEN);
                }
                0
            })
        };
        (0..senders).map(send).chain([receiver]).collect()
    })
}

fn channel_of_tasks<C: tasks::Channel<u64, Tx: Clone>>(senders: u64) -> Case {
    as_tasks(C::NAME, move |count| {
        let (tx, mut rx) = C::channel(SLOTS);
        let receiver: Task = Box::pin(async move {
            let mut sum = 0_u64;
            while let Some(value) = C::next(&mut rx).await {
                sum = sum.wrapping_add(value);
            }
            sum
        });
        let send = |_| -> Task {
            let tx = tx.clone();
            Box::pin(async move {
                for n in 0..count {
                    C::send(&tx, n).await;
                }
                0
            })
        };
        (0..senders).map(send).chain([receiver]).collect()
    })
}

/// A channel whose sending end can be cloned.
trait Shared: Channel<u64, Tx: Clone> {}

impl<C: Channel<u64, Tx: Clone>> Shared for C {}

/// A job for each sender, which sends as many numbers as there are operations, and one that receives. Each is on whichever core is free.
pub fn jobs<T: Send + 'static>(
    count: u64,
    senders: impl IntoIterator<Item = T>,
    send: impl Fn(&mut T, u64) + Copy + Send + 'static,
    receive: impl FnOnce() -> u64 + Send + 'static,
) -> Vec<Job> {
    let send_all = |mut sender| {
        Job::new(Place::Anywhere, move || {
            (0..count).for_each(|n| send(&mut sender, n));
            0
        })
    };
    let sending = senders.into_iter().map(send_all);
    sending
        .chain([Job::new(Place::Anywhere, receive)])
        .collect()
}

/// One channel for all.
fn shared<C: Shared>(senders: u64) -> Case {
    let name = format!("{}, shared sender", C::NAME);
    Case::new(name, move |count| {
        let (tx, mut rx) = C::channel(SLOTS);
        let txs = (0..senders).map(|_| tx.clone());
        jobs(count, txs, C::send, move || {
            std::iter::from_fn(|| C::next(&mut rx)).fold(0, u64::wrapping_add)
        })
    })
}

/// One session, whose sending end is shared by the senders.
fn one_end(senders: u64) -> Case {
    Case::new(format!("{OURS} SharedSender"), move |count| {
        let (mut server, client) = stream::init::<u64>();
        let shared = stream::client::SharedStream::from(client);
        let all = (0..senders).map(|_| shared.clone());
        let send = |shared: &mut stream::client::SharedStream<u64>, n| shared.send(n).expect(OPEN);
        jobs(count, all, send, move || {
            let mut sum = 0_u64;
            while let Ok(Stream::Send(value, next)) = server.recv() {
                sum = sum.wrapping_add(value);
                server = next;
            }
            sum
        })
    })
}

/// A channel for each, and `crossbeam_channel::Select` over all.
fn selected(senders: u64) -> Case {
    Case::new("crossbeam Select", move |count| {
        let channels = (0..senders).map(|_| crossbeam_channel::bounded::<u64>(SLOTS));
        let (txs, rxs): (Vec<_>, Vec<_>) = channels.unzip();
        jobs(count, txs, <Crossbeam as Channel<u64>>::send, move || {
            let mut select = crossbeam_channel::Select::new();
            for rx in &rxs {
                select.recv(rx);
            }
            let (mut open, mut sum) = (rxs.len(), 0_u64);
            while open > 0 {
                let found = select.select();
                let index = found.index();
                match found.recv(&rxs[index]) {
                    Ok(value) => sum = sum.wrapping_add(value),
                    Err(_) => {
                        select.remove(index);
                        open -= 1;
                    }
                }
            }
            sum
        })
    })
}

/// A ring for each, polled in turn: no waiting, no closing.
fn scanned(senders: u64) -> Case {
    Case::new("rtrb scanned (busy spin)", move |count| {
        let rings = (0..senders).map(|_| rtrb::RingBuffer::<u64>::new(SLOTS));
        let (txs, mut rxs): (Vec<_>, Vec<_>) = rings.unzip();
        jobs(count, txs, <Rtrb as Channel<u64>>::send, move || {
            let (mut left, mut sum) = (senders * count, 0_u64);
            while left > 0 {
                for rx in &mut rxs {
                    while let Ok(value) = rx.pop() {
                        sum = sum.wrapping_add(value);
                        left -= 1;
                    }
                }
            }
            sum
        })
    })
}
