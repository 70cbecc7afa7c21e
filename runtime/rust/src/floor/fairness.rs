//! Which of several endpoints to begin with: fair, and deterministic.
//!
//! A thread counts its choices and begins at the fractional part of the count times the golden ratio, scaled to the
//! number of endpoints. Multiples of an irrational number spread evenly over the indexes, and so do every second, every
//! third and so on of them. A plain counter would not work: of two selects that take turns in a loop, each between two
//! endpoints, each would always begin with the same one.

use std::cell::Cell;

/// The golden ratio's fractional part, times 2^64, odd.
const STEP: u64 = 0x9E37_79B9_7F4A_7C15;

#[cfg(not(duologue_loom))]
thread_local! {
    static PHASE: Cell<u64> = const { Cell::new(0) };
}

#[cfg(duologue_loom)]
loom::thread_local! {
    static PHASE: Cell<u64> = Cell::new(0);
}

/// An index below `count` to begin with.
pub(crate) fn next(count: usize) -> usize {
    let phase = PHASE.try_with(|phase| {
        let next = phase.get().wrapping_add(STEP);
        phase.set(next);
        next
    });
    let phase = phase.unwrap_or(0);
    ((u128::from(phase) * count as u128) >> 64) as usize
}

#[cfg(all(test, not(duologue_loom)))]
mod tests {
    use super::next;

    /// How many times each of `count` indexes was chosen by every `stride`-th choice.
    fn chosen(count: usize, stride: usize, rounds: usize) -> Vec<usize> {
        std::thread::spawn(move || {
            let mut chosen = vec![0; count];
            for round in 0..rounds * stride {
                let place = next(count);
                if round % stride == 0 {
                    chosen[place] += 1;
                }
            }
            chosen
        })
        .join()
        .expect("no panic")
    }

    #[test]
    fn places_are_chosen_equally_often_also_by_every_second_or_third_choice() {
        for count in 1..=8 {
            for stride in 1..=8 {
                for times in chosen(count, stride, 1_000) {
                    let fair = 1_000 / count;
                    assert!(
                        times.abs_diff(fair) <= 8,
                        "{times} instead of {fair} of {count} indexes, every {stride}"
                    );
                }
            }
        }
    }
}
