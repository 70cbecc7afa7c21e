//! How it is measured: all cases of a family take turns in short slices, in one run.

use crate::machine::{Cost, Start, pin};
use std::thread;

/// How long a slice takes, about, in nanoseconds.
const SLICE: f64 = 10e6;

/// How many operations precede a slice, in the same session.
const WARM_UP: u64 = 20;

/// How much to measure.
#[derive(Clone, Copy)]
pub enum Effort {
    /// This many rounds.
    Rounds(usize),
    /// Each case once, as short as possible: only to see that it works.
    Quick,
}

/// Cases that do the same work.
pub struct Family {
    pub name: &'static str,
    pub unit: &'static str,
    /// The first is the limit, and the second is ours.
    pub cases: Vec<Case>,
    /// What ours may take, compared with other cases.
    pub bars: Vec<Bar>,
    /// What the bars apply to.
    pub clock: Clock,
}

#[cfg(feature = "peers")]
impl Family {
    /// Adds a case and its bar.
    pub fn add(&mut self, name: &'static str, run: fn(u64) -> Cost, bar: f64) {
        self.cases.push(Case { name, run });
        self.bars.push(Bar(name, bar));
    }
}

/// A case, by its name, and how many times as long as it ours may take.
pub struct Bar(pub &'static str, pub f64);

/// What is compared.
#[derive(Clone, Copy)]
pub enum Clock {
    /// The time until the work is done.
    Wall,
    /// The time of processors. Where all work is on one of them, other programs do not extend it.
    Cpu,
}

/// One way to do the work: a name, and a function that performs this many operations.
pub struct Case {
    pub name: &'static str,
    pub run: fn(u64) -> Cost,
}

impl Case {
    pub const fn new(name: &'static str, run: fn(u64) -> Cost) -> Case {
        Case { name, run }
    }
}

/// The costs of a case, one per round.
pub type Costs = Vec<Cost>;

/// Runs each case once per round, in reverse order in every other one, with the limit at both ends.
pub fn measure(family: &Family, effort: Effort) -> Vec<Costs> {
    let mut costs = vec![Costs::new(); family.cases.len()];
    let rounds = match effort {
        Effort::Rounds(rounds) => rounds,
        Effort::Quick => {
            for case in &family.cases {
                (case.run)(3);
            }
            return costs;
        }
    };
    let mut counts: Vec<u64> = family.cases.iter().map(calibrate).collect();
    let mut slice = |index: usize| {
        let cost = (family.cases[index].run)(counts[index]);
        counts[index] = fitting(cost);
        cost
    };
    for round in 0..rounds {
        let before = slice(0);
        let mut order: Vec<usize> = (1..family.cases.len()).collect();
        if round % 2 == 1 {
            order.reverse();
        }
        for index in order {
            costs[index].push(slice(index));
        }
        let after = slice(0);
        costs[0].push(Cost {
            wall: (before.wall * after.wall).sqrt(),
            cpu: (before.cpu * after.cpu).sqrt(),
        });
    }
    costs
}

/// How many operations of this cost a slice has.
fn fitting(cost: Cost) -> u64 {
    ((SLICE / cost.wall.max(0.1)) as u64).max(1)
}

/// How many operations of this case a slice has.
fn calibrate(case: &Case) -> u64 {
    let mut count = 100;
    loop {
        let cost = (case.run)(count);
        if cost.wall * count as f64 >= SLICE / 4.0 {
            return fitting(cost);
        }
        count *= 4;
    }
}

/// Two threads, each on a processor of its own. The left one measures; the right one ends by itself.
pub fn two(left: impl FnOnce() -> Cost + Send, right: impl FnOnce() + Send) -> Cost {
    Processors::Two.run(left, right)
}

/// The processors of two threads.
#[derive(Clone, Copy)]
pub enum Processors {
    /// Both threads on the same one.
    One,
    /// Each thread on its own.
    Two,
}

impl Processors {
    /// Runs two threads there. The left one measures; the right one ends by itself.
    pub fn run(self, left: impl FnOnce() -> Cost + Send, right: impl FnOnce() + Send) -> Cost {
        thread::scope(|scope| {
            let right = scope.spawn(|| {
                pin(match self {
                    Processors::One => 0,
                    Processors::Two => 1,
                });
                right();
            });
            let left = scope.spawn(|| {
                pin(0);
                left()
            });
            let cost = left.join().expect("the left thread does not panic");
            right.join().expect("the right thread does not panic");
            cost
        })
    }
}

/// One thread on one processor.
pub fn one(work: impl FnOnce() -> Cost + Send) -> Cost {
    two(work, || {})
}

/// Measures this many turns: each takes an end and a number, and returns the next end and the number that came back.
pub fn turns<E>(mut end: E, count: u64, mut turn: impl FnMut(E, f64) -> (E, f64)) -> Cost {
    let mut meter = Meter::new(count);
    while let Some(number) = meter.next() {
        let back;
        (end, back) = turn(end, number);
        meter.back(back);
    }
    let cost = meter.cost();
    drop(end);
    cost
}

/// Counts turns, and measures all but the first few.
pub struct Meter {
    count: u64,
    turn: u64,
    start: Start,
    sum: f64,
}

impl Meter {
    /// Measures this many turns.
    pub fn new(count: u64) -> Meter {
        Meter {
            count,
            turn: 0,
            start: Start::now(),
            sum: 0.0,
        }
    }

    /// The number for the next turn.
    pub fn next(&mut self) -> Option<f64> {
        if self.turn == WARM_UP {
            self.start = Start::now();
            self.sum = 0.0;
        }
        let number = self.turn;
        self.turn += 1;
        (number < WARM_UP + self.count).then_some(number as f64)
    }

    /// The number that came back.
    pub fn back(&mut self, number: f64) {
        self.sum += number;
    }

    /// What a turn has taken. All have been made.
    pub fn cost(self) -> Cost {
        let cost = self.start.cost(self.count);
        let sum = triangle(WARM_UP + self.count) - triangle(WARM_UP);
        assert_eq!(self.sum, sum, "every number comes back");
        cost
    }
}

/// The sum of the numbers below `count`.
pub fn triangle(count: u64) -> f64 {
    (count * count.saturating_sub(1) / 2) as f64
}
