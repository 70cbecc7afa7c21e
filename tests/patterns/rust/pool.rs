//! A pool of workers, one of which dies with its job.

use crate::protocols::jobs;
use duologue::{Closed, PortSet};
use std::thread;

fn work(mut worker: jobs::client::Idle, mut most: usize) -> Result<(), Closed> {
    let mut result = None;
    loop {
        match worker.ready(result)?.recv()? {
            jobs::Waiting::Job(number, next) if most > 0 => {
                most -= 1;
                result = Some(number * number);
                worker = next;
            }
            jobs::Waiting::Job(..) | jobs::Waiting::Stop => return Ok(()),
        }
    }
}

/// Adds the results. The set holds each worker with its job, which another worker gets if this one is lost.
fn run(mut workers: PortSet<jobs::server::Idle, Option<u64>>, mut jobs: Vec<u64>) -> u64 {
    let mut total = 0;
    let mut idle: Vec<jobs::server::Waiting> = Vec::new();
    while let Some((job, asked)) = workers.recv() {
        match asked {
            Ok(jobs::Idle::Ready { result, next }) => {
                total += result.unwrap_or(0);
                idle.push(next);
            }
            Err(_lost) => jobs.extend(job),
        }
        while !jobs.is_empty() {
            let Some(worker) = idle.pop() else { break };
            let job = jobs.remove(0);
            match worker.job(job) {
                Ok(next) => drop(workers.insert(next, Some(job))),
                Err(_lost) => jobs.push(job),
            }
        }
    }
    idle.into_iter().for_each(|worker| drop(worker.stop()));
    total
}

pub fn main() {
    let mut workers = PortSet::new();
    let threads: Vec<_> = [0, 1_000, 1_000]
        .into_iter()
        .map(|most| {
            let (server, client) = jobs::init();
            workers.insert(server, None);
            thread::spawn(move || work(client, most))
        })
        .collect();
    assert_eq!(run(workers, (1..=10).collect()), 385);
    for thread in threads {
        thread
            .join()
            .expect("no panic")
            .expect("the pool does not close sessions");
    }
}
