//! Many senders and one receiver, on two cores.

use super::{OURS, port_set};
use crate::harness::{Case, Family, Job, Place};
use crate::payload::Payload;
use crate::peers::blocking::*;
use crate::peers::raw::SLOTS;
use crate::protocols::stream;

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
        .case(shared::<Thingbuf>(senders))
        .case(shared::<Tokio>(senders))
        .case(shared::<AsyncChannel>(senders))
}

/// A channel whose sending end can be cloned.
trait Shared: Channel<u64, Tx: Clone> {}

impl<C: Channel<u64, Tx: Clone>> Shared for C {}

/// Work on whichever core is free.
pub fn everywhere(work: impl FnOnce() -> u64 + Send + 'static) -> Job {
    Job::new(Place::Anywhere, work)
}

/// One channel for all.
fn shared<C: Shared>(senders: u64) -> Case {
    let name = format!("{}, shared sender", C::NAME);
    Case::new(name, move |count| {
        let (tx, mut rx) = C::channel(SLOTS);
        let send = |_| {
            let mut tx = tx.clone();
            everywhere(move || {
                (0..count).for_each(|n| C::send(&mut tx, n));
                0
            })
        };
        let mut jobs: Vec<Job> = (0..senders).map(send).collect();
        jobs.push(everywhere(move || {
            (0..senders * count).fold(0_u64, |sum, _| sum.wrapping_add(C::recv(&mut rx)))
        }));
        jobs
    })
}

/// One session, whose sending end is shared by the senders.
fn one_end(senders: u64) -> Case {
    Case::new(format!("{OURS} SharedSender"), move |count| {
        let (mut server, client) = stream::init::<u64>();
        let shared = stream::client::SharedStream::from(client);
        let send = |_| {
            let shared = shared.clone();
            everywhere(move || {
                (0..count).for_each(|n| shared.send(n).expect("the receiver reads all"));
                0
            })
        };
        let mut jobs: Vec<Job> = (0..senders).map(send).collect();
        jobs.push(everywhere(move || {
            let mut sum = 0_u64;
            while let Ok(stream::Stream::Send(value, next)) = server.recv() {
                sum = sum.wrapping_add(value);
                server = next;
            }
            sum
        }));
        jobs
    })
}

/// A channel for each, and `crossbeam_channel::Select` over all.
fn selected(senders: u64) -> Case {
    Case::new("crossbeam Select", move |count| {
        let channels = (0..senders).map(|_| crossbeam_channel::bounded::<u64>(SLOTS));
        let (txs, rxs): (Vec<_>, Vec<_>) = channels.unzip();
        let send = |tx: crossbeam_channel::Sender<u64>| {
            everywhere(move || {
                (0..count).for_each(|n| tx.send(n).expect("the receiver reads all"));
                0
            })
        };
        let mut jobs: Vec<Job> = txs.into_iter().map(send).collect();
        jobs.push(everywhere(move || {
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
        }));
        jobs
    })
}

/// A ring for each, polled in turn: no waiting, no closing.
fn scanned(senders: u64) -> Case {
    Case::new("rtrb scanned (busy spin)", move |count| {
        let rings = (0..senders).map(|_| rtrb::RingBuffer::<u64>::new(SLOTS));
        let (txs, mut rxs): (Vec<_>, Vec<_>) = rings.unzip();
        let send = |mut tx| {
            everywhere(move || {
                (0..count).for_each(|n| Rtrb::send(&mut tx, n));
                0
            })
        };
        let mut jobs: Vec<Job> = txs.into_iter().map(send).collect();
        jobs.push(everywhere(move || {
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
        }));
        jobs
    })
}
