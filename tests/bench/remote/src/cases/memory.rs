//! A withdrawal and its answer, and numbers in one direction, in memory that two processes share, between two threads that block. The
//! limits are lines of memory that both threads access, without a protocol: nothing sleeps there.

use super::{OURS, WITHIN, blocking, stream};
use crate::harness::{Bar, Case, Clock, Family, triangle, turns, two};
use crate::machine::{Cost, Start};
use crate::protocols::bank;
use crate::protocols::own::numbers;
use crate::sessions::open_in_memory;
use std::hint::spin_loop;
use std::sync::atomic::AtomicU64;
use std::sync::atomic::Ordering::{Acquire, Relaxed, Release};

const RAW_LINE: &str = "raw line (busy spin)";
const RAW_LINES: &str = "raw lines (busy spin)";

/// The limit is a line that goes there and back.
pub fn withdrawal() -> Family {
    Family {
        name: "withdrawal, shared memory",
        unit: "withdrawal",
        cases: vec![
            Case::new(RAW_LINE, raw_line),
            Case::new(OURS, |count| blocking::ours(count, open_in_memory())),
            Case::new(WITHIN, |count| {
                let (server, client) = bank::init();
                blocking::ours(count, (client, server))
            }),
        ],
        bars: vec![Bar(RAW_LINE, 6.0)],
        clock: Clock::Wall,
    }
}

/// The limit is lines of seven numbers, whose receiver checks one word for each.
pub fn numbers() -> Family {
    Family {
        name: "stream in shared memory, f64",
        unit: "number",
        cases: vec![
            Case::new(RAW_LINES, raw_lines),
            Case::new(OURS, |count| stream::ours(count, open_in_memory())),
            Case::new(WITHIN, |count| {
                let (server, client) = numbers::init();
                stream::ours(count, (client, server))
            }),
        ],
        bars: vec![Bar(RAW_LINES, 6.0)],
        clock: Clock::Wall,
    }
}

/// A word, and a cell for the number.
#[repr(align(64))]
#[derive(Default)]
struct Line([AtomicU64; 8]);

impl Line {
    fn wait_for(&self, word: u64) {
        while self.0[0].load(Acquire) != word {
            spin_loop();
        }
    }
}

fn raw_line(count: u64) -> Cost {
    let line = Line::default();
    let serve = || {
        for turn in (1..).step_by(2) {
            line.wait_for(turn);
            if line.0[1].load(Relaxed) == u64::MAX {
                return;
            }
            line.0[0].store(turn + 1, Release);
        }
    };
    let ask = || {
        let cost = turns(0, count, |turn, amount| {
            line.0[1].store(amount.to_bits(), Relaxed);
            line.0[0].store(turn + 1, Release);
            line.wait_for(turn + 2);
            (turn + 2, f64::from_bits(line.0[1].load(Relaxed)))
        });
        line.0[1].store(u64::MAX, Relaxed);
        let last = line.0[0].load(Relaxed);
        line.0[0].store(last + 1, Release);
        cost
    };
    two(ask, serve)
}

fn raw_lines(count: u64) -> Cost {
    const LINES: usize = 256;
    const NUMBERS: u64 = 7;
    let lines: Vec<Line> = (0..LINES).map(|_| Line::default()).collect();
    let taken = Line::default();
    let all = count.div_ceil(NUMBERS);
    let send = || {
        let start = Start::now();
        let mut value = 0;
        for at in 0..all {
            while at >= taken.0[0].load(Acquire) + LINES as u64 {
                spin_loop();
            }
            let line = &lines[at as usize % LINES];
            for cell in &line.0[1..] {
                let number = if value < count { value as f64 } else { 0.0 };
                cell.store(number.to_bits(), Relaxed);
                value += 1;
            }
            line.0[0].store(at + 1, Release);
        }
        // The receiver has counted the last line when it has added it up.
        while taken.0[0].load(Acquire) < all {
            spin_loop();
        }
        let cost = start.cost(count);
        let sum = f64::from_bits(taken.0[1].load(Relaxed));
        assert_eq!(sum, triangle(count), "every number arrives");
        cost
    };
    let add = || {
        let mut sum = 0.0;
        for at in 0..all {
            let line = &lines[at as usize % LINES];
            line.wait_for(at + 1);
            for cell in &line.0[1..] {
                sum += f64::from_bits(cell.load(Relaxed));
            }
            taken.0[1].store(f64::to_bits(sum), Relaxed);
            if at + 1 == all || (at + 1) % (LINES as u64 / 4) == 0 {
                taken.0[0].store(at + 1, Release);
            }
        }
    };
    two(send, add)
}
