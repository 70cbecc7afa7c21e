//! Word count of a large text, whose parts go to two workers.

use super::{OURS, TWO_THREADS};
use crate::harness::{Case, Family, Job, Place};
use crate::protocols::parts;
use duologue::PortSet;
use std::collections::HashMap;
use std::sync::Mutex;

/// How many megabytes the text has; an operation counts one of them.
const SIZE: u64 = 100;

/// How many bytes a part has at least.
const PART: usize = 250_000;

/// The words of the text that differ.
const DIFFERENT: u64 = 10_000;

/// What arrives is the number of words and the number of different ones.
pub fn families() -> Vec<Family> {
    let sum = |size| checked(&text(size).iter().fold(Totals::new(), count));
    vec![
        Family::new(format!("word count of {SIZE} MB"), "MB", sum)
            .exactly(SIZE, 4)
            .case(rayon())
            .case(over_sessions())
            .case(over_crossbeam())
            .case(Case::new("one thread", |size| {
                vec![Job::new(Place::Anywhere, move || {
                    checked(&text(size).iter().fold(Totals::new(), count))
                })]
            })),
    ]
}

type Part = &'static str;

type Totals = HashMap<Part, u64>;

/// The parts of a text with this many megabytes, of which common words are a large part. It is made once for a size, and stays.
fn text(size: u64) -> &'static [Part] {
    static MADE: Mutex<Vec<(u64, &'static [Part])>> = Mutex::new(Vec::new());
    let mut made = MADE.lock().expect("no case panics");
    if let Some((_, parts)) = made.iter().find(|(of, _)| *of == size) {
        return parts;
    }
    let mut state = 0x9e37_79b9_7f4a_7c15_u64;
    let mut random = move |below: u64| {
        state ^= state << 13;
        state ^= state >> 7;
        state ^= state << 17;
        ((state >> 32) * below) >> 32
    };
    let mut words = Vec::new();
    for number in 0..DIFFERENT {
        let mut word = number.to_string();
        for _ in 0..random(8) {
            word.push((b'a' + random(26) as u8) as char);
        }
        words.push(word);
    }
    let (mut parts, mut part) = (Vec::new(), String::new());
    let (mut bytes, all) = (0, size as usize * 1_000_000);
    while bytes < all {
        let most = random(DIFFERENT) + 1;
        part += &words[random(most) as usize];
        part.push(' ');
        if part.len() >= PART.min(all - bytes) {
            bytes += part.len();
            parts.push(&*std::mem::take(&mut part).leak());
        }
    }
    let parts: &[Part] = parts.leak();
    made.push((size, parts));
    parts
}

fn count(mut totals: Totals, part: &Part) -> Totals {
    for word in part.split_ascii_whitespace() {
        *totals.entry(word).or_default() += 1;
    }
    totals
}

fn merged(mut all: Totals, some: Totals) -> Totals {
    for (word, times) in some {
        *all.entry(word).or_default() += times;
    }
    all
}

fn checked(totals: &Totals) -> u64 {
    totals.values().sum::<u64>() + totals.len() as u64
}

/// rayon divides the parts among its two threads.
fn rayon() -> Case {
    use rayon::prelude::*;
    Case::new("rayon", |size| {
        vec![Job::new(Place::Anywhere, move || {
            TWO_THREADS.install(|| {
                let parts = text(size).par_iter();
                let counted = parts.fold(Totals::new, count);
                checked(&counted.reduce(Totals::new, merged))
            })
        })]
    })
}

const OPEN: &str = "all stay to the end";

/// A session with each worker, in which the worker asks for parts: for the next one before it counts one, so that it arrives meanwhile.
fn over_sessions() -> Case {
    use parts::{Asking, Part as Answer, Totals as End, init};
    Case::new(OURS, |size| {
        let sessions = [(); 2].map(|()| init::<Part, Totals>());
        let (servers, workers): (Vec<_>, Vec<_>) = sessions.into_iter().unzip();
        let work = |worker: parts::client::Asking<Part, Totals>| {
            Job::new(Place::Anywhere, move || {
                let mut totals = Totals::new();
                let mut asked = worker.ask().expect(OPEN);
                loop {
                    match asked.recv().expect(OPEN) {
                        Answer::Part(part, next) => {
                            asked = next.ask().expect(OPEN);
                            totals = count(totals, &part);
                        }
                        Answer::None(end) => {
                            end.totals(totals).expect(OPEN);
                            return 0;
                        }
                    }
                }
            })
        };
        let mut jobs: Vec<Job> = workers.into_iter().map(work).collect();
        jobs.push(Job::new(Place::Anywhere, move || {
            let mut asking: PortSet<_> = servers.into_iter().map(|server| (server, ())).collect();
            let mut parts = text(size).iter();
            let mut ending = Vec::new();
            while let Some(((), asked)) = asking.recv() {
                let Asking::Ask(worker) = asked.expect(OPEN);
                match parts.next() {
                    Some(part) => drop(asking.insert(worker.part(part).expect(OPEN), ())),
                    None => ending.push(worker.none().expect(OPEN)),
                }
            }
            let totals = ending.into_iter().map(|worker| {
                let End::Totals(totals) = worker.recv().expect(OPEN);
                totals
            });
            checked(&totals.reduce(merged).expect("there are workers"))
        }));
        jobs
    })
}

/// One channel that both workers take parts from, and one for their totals.
fn over_crossbeam() -> Case {
    Case::new("crossbeam", |size| {
        let (queue, parts) = crossbeam_channel::unbounded::<Part>();
        let (totals_out, totals) = crossbeam_channel::unbounded::<Totals>();
        let work = || {
            let (parts, totals) = (parts.clone(), totals_out.clone());
            Job::new(Place::Anywhere, move || {
                let counted = parts
                    .iter()
                    .fold(Totals::new(), |all, part| count(all, &part));
                totals.send(counted).expect(OPEN);
                0
            })
        };
        let mut jobs = vec![work(), work()];
        jobs.push(Job::new(Place::Anywhere, move || {
            for part in text(size) {
                queue.send(part).expect(OPEN);
            }
            drop(queue);
            checked(&totals.iter().reduce(merged).expect("there are workers"))
        }));
        jobs
    })
}
