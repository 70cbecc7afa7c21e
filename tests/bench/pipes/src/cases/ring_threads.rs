//! A ring of threads: each passes on what it gets, and there are as many tokens as threads.

use super::OURS;
use crate::harness::{Case, Family, Job, Place};
use crate::payload::triangle;
use crate::peers::blocking::*;
use crate::protocols::stream::{Stream, client, init, server};
use std::thread::yield_now;

/// Rings of 4 and of 100 threads, on both cores. More threads than that are not sensible: that is what tasks are for.
pub fn families() -> Vec<Family> {
    [4, 100].map(of).into()
}

fn of(threads: u64) -> Family {
    let name = format!("ring of {threads} threads");
    let sum = move |laps| triangle(threads).wrapping_mul(laps);
    Family::new(name, "message", sum)
        .units(threads)
        .slices(50, 5)
        .case(Case::new("sched_yield", move |laps| {
            let yields = |token: u64| {
                Job::new(Place::Anywhere, move || {
                    (0..laps).for_each(|_| yield_now());
                    laps.wrapping_mul(token)
                })
            };
            (0..threads).map(yields).collect()
        }))
        .case(Case::new(OURS, move |laps| {
            let sessions = (0..threads).map(|_| init::<u64>());
            let (mut servers, clients): (Vec<_>, Vec<_>) = sessions.unzip();
            servers.rotate_right(1);
            let pairs = (0..).zip(servers.into_iter().zip(clients));
            let jobs = pairs.map(|(token, (server, client))| {
                Job::new(Place::Anywhere, move || {
                    session(server, client, token, laps)
                })
            });
            jobs.collect()
        }))
        .case(channels::<Kanal>(threads))
        .case(channels::<Crossbeam>(threads))
        .case(channels::<StdSync>(threads))
        .case(channels::<Std>(threads))
        .case(channels::<Flume>(threads))
}

const OPEN: &str = "no thread ends before the others";

/// Sends a token, then passes on what comes, and keeps the last one.
fn session(server: server::Stream<u64>, client: client::Stream<u64>, token: u64, laps: u64) -> u64 {
    let mut client = client.send(token).expect(OPEN);
    let (mut server, mut sum) = (server, 0_u64);
    for lap in 1..=laps {
        let Stream::Send(token, next) = server.recv().expect(OPEN);
        server = next;
        sum = sum.wrapping_add(token);
        if lap < laps {
            client = client.send(token).expect(OPEN);
        }
    }
    sum
}

fn channels<C: Channel<u64>>(threads: u64) -> Case {
    Case::new(C::NAME, move |laps| {
        let channels = (0..threads).map(|_| C::channel(4));
        let (txs, mut rxs): (Vec<_>, Vec<_>) = channels.unzip();
        rxs.rotate_right(1);
        let pairs = (0..).zip(rxs.into_iter().zip(txs));
        let jobs = pairs.map(|(token, (mut rx, mut tx))| {
            Job::new(Place::Anywhere, move || {
                C::send(&mut tx, token);
                let mut sum = 0_u64;
                for lap in 1..=laps {
                    let token = C::recv(&mut rx);
                    sum = sum.wrapping_add(token);
                    if lap < laps {
                        C::send(&mut tx, token);
                    }
                }
                sum
            })
        });
        jobs.collect()
    })
}
