//! Two programs: word count, where each word travels as a string, and k-nucleotide, where pieces of a sequence go to four threads.

use super::{OURS, two};
use crate::harness::{Case, Family, Job, Place};
use crate::peers::blocking::*;
use crate::protocols::{nucleotides, word_count};
use std::collections::BTreeMap;
use std::collections::HashMap;

/// Each with the sum of what was counted.
pub fn families() -> Vec<Family> {
    vec![
        Family::new("word count", "word", |texts| texts * WORDS)
            .units(WORDS)
            .slices(5, 2)
            .case(count_alone())
            .case(count_over_session())
            .case(count_over_channels::<Kanal>())
            .case(count_over_channels::<Crossbeam>())
            .case(count_over_channels::<StdSync>())
            .case(count_over_channels::<Std>())
            .case(count_over_channels::<Flume>()),
        Family::new("k-nucleotide", "line", |sequences| {
            let found = LENGTHS.map(|length| LINES * (60 - length as u64 + 1));
            sequences * found.iter().sum::<u64>()
        })
        .units(LINES)
        .slices(20, 4)
        .case(nucleotides_alone())
        .case(nucleotides_over_sessions())
        .case(nucleotides_over_channels::<Kanal>())
        .case(nucleotides_over_channels::<Crossbeam>())
        .case(nucleotides_over_channels::<StdSync>())
        .case(nucleotides_over_channels::<Std>())
        .case(nucleotides_over_channels::<Flume>()),
    ]
}

/// The words of a text.
const WORDS: u64 = 2_000;

fn word(n: u64) -> String {
    const SOME: [&str; 8] = ["it", "was", "the", "best", "of", "times", "worst", "age"];
    SOME[(n.wrapping_mul(0x9e37_79b9_7f4a_7c15) >> 61) as usize].to_owned()
}

type Totals = HashMap<String, u64>;

fn add(totals: &mut Totals, word: String) {
    *totals.entry(word).or_default() += 1;
}

fn count_alone() -> Case {
    super::alone("one thread", |texts| {
        let count = |_| {
            let mut totals = Totals::new();
            (0..WORDS).for_each(|n| add(&mut totals, word(n)));
            totals.values().sum::<u64>()
        };
        (0..texts).map(count).sum()
    })
}

const OPEN: &str = "both sides stay to the end";

fn count_over_session() -> Case {
    use word_count::{Counting, Totals as Answer, init};
    two(OURS, |texts| {
        let (servers, clients): (Vec<_>, Vec<_>) = (0..texts).map(|_| init()).unzip();
        let left = move || {
            let mut sum = 0;
            for mut client in clients {
                for n in 0..WORDS {
                    client = client.count(word(n)).expect(OPEN);
                }
                let mut waiting = client.done().expect(OPEN);
                while let Answer::Total { times, next, .. } = waiting.recv().expect(OPEN) {
                    sum += times;
                    waiting = next;
                }
            }
            sum
        };
        let right = move || {
            for mut server in servers {
                let mut totals = Totals::new();
                let mut answer = loop {
                    match server.recv().expect(OPEN) {
                        Counting::Count { word, next } => {
                            add(&mut totals, word);
                            server = next;
                        }
                        Counting::Done(answer) => break answer,
                    }
                };
                for (word, times) in totals {
                    answer = answer.total(word, times).expect(OPEN);
                }
                answer.end().expect(OPEN);
            }
            0
        };
        (left, right)
    })
}

/// Words in one direction and totals in the other; `None` ends either.
fn count_over_channels<C: Channel<Option<String>> + Channel<Option<(String, u64)>>>() -> Case {
    type Words<C> = <C as Channel<Option<String>>>::Tx;
    two(<C as Channel<Option<String>>>::NAME, |texts| {
        let (mut words, mut arriving) = <C as Channel<Option<String>>>::channel(64);
        let (mut totals_out, mut totals_in) = <C as Channel<Option<(String, u64)>>>::channel(64);
        let send = |words: &mut Words<C>, word| <C as Channel<Option<String>>>::send(words, word);
        let left = move || {
            let mut sum = 0;
            for _ in 0..texts {
                (0..WORDS).for_each(|n| send(&mut words, Some(word(n))));
                send(&mut words, None);
                while let Some((_, times)) =
                    <C as Channel<Option<(String, u64)>>>::recv(&mut totals_in)
                {
                    sum += times;
                }
            }
            sum
        };
        let right = move || {
            for _ in 0..texts {
                let mut totals = Totals::new();
                while let Some(word) = <C as Channel<Option<String>>>::recv(&mut arriving) {
                    add(&mut totals, word);
                }
                let totals = totals.into_iter().map(Some).chain([None]);
                totals.for_each(|total| C::send(&mut totals_out, total));
            }
            0
        };
        (left, right)
    })
}

/// The lines of a sequence, of 60 nucleotides each, and the lengths of what is counted in them, one thread for each.
const LINES: u64 = 500;
const LENGTHS: [usize; 4] = [1, 2, 4, 6];

fn line(n: u64) -> Vec<u8> {
    let mut seed = n.wrapping_mul(0x9e37_79b9_7f4a_7c15) | 1;
    let mut next = || {
        seed ^= seed << 13;
        seed ^= seed >> 7;
        seed ^= seed << 17;
        b"ACGT"[(seed >> 62) as usize]
    };
    (0..60).map(|_| next()).collect()
}

type Frequencies = HashMap<u64, u64>;

fn count(frequencies: &mut Frequencies, line: &[u8], length: usize) {
    for window in line.windows(length) {
        let key = window
            .iter()
            .fold(0, |key, letter| key << 8 | u64::from(*letter));
        *frequencies.entry(key).or_default() += 1;
    }
}

/// What a thread answers: the most frequent, and the total count.
fn answer(frequencies: &Frequencies) -> String {
    let sorted: BTreeMap<_, _> = frequencies
        .iter()
        .map(|(key, times)| (times, key))
        .collect();
    let top = sorted.last_key_value();
    format!("{top:?} {}", frequencies.values().sum::<u64>())
}

fn total(answer: &str) -> u64 {
    let last = answer.rsplit(' ').next();
    last.and_then(|total| total.parse().ok()).expect("a number")
}

fn nucleotides_alone() -> Case {
    super::alone("one thread", |sequences| {
        let mut sum = 0;
        for _ in 0..sequences {
            let mut all = LENGTHS.map(|_| Frequencies::new());
            for n in 0..LINES {
                let line = line(n);
                for (frequencies, length) in all.iter_mut().zip(LENGTHS) {
                    count(frequencies, &line, length);
                }
            }
            sum += all.iter().map(|one| total(&answer(one))).sum::<u64>();
        }
        sum
    })
}

fn nucleotides_over_sessions() -> Case {
    use nucleotides::{Lines, Result as Answer, init};
    Case::new(OURS, |sequences| {
        let sessions = || -> (Vec<_>, Vec<_>) { (0..sequences).map(|_| init()).unzip() };
        let (servers, clients): (Vec<_>, Vec<_>) = LENGTHS.map(|_| sessions()).into_iter().unzip();
        let mut jobs: Vec<Job> = servers
            .into_iter()
            .zip(LENGTHS)
            .map(|(servers, length)| {
                Job::new(Place::Anywhere, move || {
                    for mut server in servers {
                        let mut frequencies = Frequencies::new();
                        let reply = loop {
                            match server.recv().expect(OPEN) {
                                Lines::Line(line, next) => {
                                    count(&mut frequencies, &line, length);
                                    server = next;
                                }
                                Lines::Done(reply) => break reply,
                            }
                        };
                        reply.result(answer(&frequencies)).expect(OPEN);
                    }
                    0
                })
            })
            .collect();
        jobs.push(Job::new(Place::Anywhere, move || {
            let mut clients: Vec<_> = clients.into_iter().map(Vec::into_iter).collect();
            let mut sum = 0;
            for _ in 0..sequences {
                let next = clients
                    .iter_mut()
                    .map(|clients| clients.next().expect("one each"));
                let mut open: Vec<_> = next.collect();
                for n in 0..LINES {
                    let line = line(n);
                    let send =
                        |client: nucleotides::client::Lines| client.line(line.clone()).expect(OPEN);
                    open = open.into_iter().map(send).collect();
                }
                let waiting: Vec<_> = open
                    .into_iter()
                    .map(|client| client.done().expect(OPEN))
                    .collect();
                for client in waiting {
                    let Answer::Result { frequencies: text } = client.recv().expect(OPEN);
                    sum += total(&text);
                }
            }
            sum
        }));
        jobs
    })
}

fn nucleotides_over_channels<C: Channel<Option<Vec<u8>>> + Channel<String>>() -> Case {
    Case::new(<C as Channel<String>>::NAME, |sequences| {
        let mut jobs = Vec::new();
        let (mut lines_out, mut answers_in) = (Vec::new(), Vec::new());
        for length in LENGTHS {
            let (lines, mut arriving) = <C as Channel<Option<Vec<u8>>>>::channel(64);
            let (mut answers, waiting) = <C as Channel<String>>::channel(1);
            lines_out.push(lines);
            answers_in.push(waiting);
            jobs.push(Job::new(Place::Anywhere, move || {
                for _ in 0..sequences {
                    let mut frequencies = Frequencies::new();
                    while let Some(line) = <C as Channel<Option<Vec<u8>>>>::recv(&mut arriving) {
                        count(&mut frequencies, &line, length);
                    }
                    <C as Channel<String>>::send(&mut answers, answer(&frequencies));
                }
                0
            }));
        }
        jobs.push(Job::new(Place::Anywhere, move || {
            let mut sum = 0;
            for _ in 0..sequences {
                for n in 0..LINES {
                    let line = line(n);
                    for lines in &mut lines_out {
                        <C as Channel<Option<Vec<u8>>>>::send(lines, Some(line.clone()));
                    }
                }
                for lines in &mut lines_out {
                    <C as Channel<Option<Vec<u8>>>>::send(lines, None);
                }
                for answers in &mut answers_in {
                    sum += total(&<C as Channel<String>>::recv(answers));
                }
            }
            sum
        }));
        jobs
    })
}
