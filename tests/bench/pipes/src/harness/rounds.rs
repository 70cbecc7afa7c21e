//! The rounds of a family: the limit, each case, the limit again, and the cases in reverse order in every other round.

use super::crew::{Crew, Slice};
use super::distance::{SHARED, distance};
use super::family::{Case, Family, Judged};
use super::statistics::{median, quantile};
use std::time::Duration;

/// How much to measure.
#[derive(Clone, Copy, Debug)]
pub enum Effort {
    /// This many rounds of full slices.
    Rounds(usize),
    /// Each case once, as small as possible: only to see that it works.
    Quick,
}

/// What was measured in a family.
pub struct Measured {
    /// Its name.
    pub family: String,
    /// What is counted.
    pub unit: &'static str,
    /// How its cases are compared.
    pub judged: Judged,
    /// Nanoseconds that a cache line took to the other core and back: the median of the rounds that count, or 0 where only one core
    /// is used.
    pub distance: f64,
    /// How many rounds do not count, because the two CPUs shared a core.
    pub set_aside: usize,
    /// The cases that were measured, the limit first.
    pub rows: Vec<Row>,
}

/// One case: the time of one unit in each round, in nanoseconds.
pub struct Row {
    /// The name of the case.
    pub name: String,
    /// One value per round.
    pub times: Vec<f64>,
}

impl Row {
    /// The median of its times.
    pub fn median(&self) -> f64 {
        median(&self.times)
    }

    /// The tenth percentile of its times.
    pub fn tenth(&self) -> f64 {
        quantile(&self.times, 0.1)
    }

    /// The quotients with another case, round by round.
    fn quotients(&self, base: &Row) -> Vec<f64> {
        let pairs = self.times.iter().zip(&base.times);
        pairs.map(|(time, base)| time / base).collect()
    }
}

impl Measured {
    /// The case with this name.
    pub fn row(&self, name: &str) -> Option<&Row> {
        self.rows.iter().find(|row| row.name == name)
    }

    /// How many times as long `row` takes as `base`: the figure by which this family is judged.
    pub fn ratio(&self, row: &Row, base: &Row) -> f64 {
        match self.judged {
            Judged::Tenth => row.tenth() / base.tenth(),
            Judged::Median => median(&row.quotients(base)),
        }
    }

    /// The first quartile, the median and the third quartile of the quotients, round by round.
    pub fn quartiles(&self, row: &Row, base: &Row) -> [f64; 3] {
        let quotients = row.quotients(base);
        [0.25, 0.5, 0.75].map(|part| quantile(&quotients, part))
    }

    /// How unsteady the limit was: its ninetieth percentile over its tenth.
    pub fn unsteadiness(&self) -> f64 {
        let limit = &self.rows[0];
        quantile(&limit.times, 0.9) / limit.tenth()
    }
}

/// Measures the cases of a family that `wanted` selects, and always the limit.
pub fn measure(
    crew: &mut Crew,
    family: &Family,
    wanted: impl Fn(&str) -> bool,
    effort: Effort,
) -> Measured {
    let (limit, others) = family.cases.split_first().expect("a family has a limit");
    let others: Vec<&Case> = others.iter().filter(|case| wanted(&case.name)).collect();
    let mut bench = Bench { crew, family };
    let rounds = match effort {
        Effort::Rounds(rounds) => (rounds / family.thinned).max(5),
        Effort::Quick => 1,
    };
    let mut size = |case: &Case| match effort {
        Effort::Rounds(_) => bench.operations(case),
        Effort::Quick => 3,
    };
    let mut size_of_limit = size(limit);
    let mut sizes: Vec<u64> = others.iter().map(|case| size(case)).collect();
    let mut times_of_limit = Vec::new();
    let mut times = vec![Vec::new(); others.len()];
    let mut distances = Vec::new();
    let needs_two = family.judged == Judged::Tenth && matches!(effort, Effort::Rounds(_));
    for round in 0..rounds {
        if needs_two {
            distances.push(distance(bench.crew));
        }
        let before = bench.time(limit, &mut size_of_limit);
        let mut order: Vec<usize> = (0..others.len()).collect();
        if round % 2 == 1 {
            order.reverse();
        }
        for index in order {
            times[index].push(bench.time(others[index], &mut sizes[index]));
        }
        let after = bench.time(limit, &mut size_of_limit);
        times_of_limit.push((before * after).sqrt());
    }
    let apart: Vec<bool> = distances.iter().map(|one| *one >= SHARED).collect();
    let kept = apart.iter().filter(|is_apart| **is_apart).count();
    let mut set_aside = 0;
    if kept >= distances.len() / 4 {
        set_aside = distances.len() - kept;
        let all = times
            .iter_mut()
            .chain([&mut times_of_limit, &mut distances]);
        for values in all {
            let mut apart = apart.iter();
            values.retain(|_| apart.next().is_none_or(|is_apart| *is_apart));
        }
    }
    let distance = if needs_two { median(&distances) } else { 0.0 };
    let limit = Row {
        name: limit.name.clone(),
        times: times_of_limit,
    };
    let others = others.iter().zip(times).map(|(case, times)| Row {
        name: case.name.clone(),
        times,
    });
    Measured {
        family: family.name.clone(),
        unit: family.unit,
        judged: family.judged,
        distance,
        set_aside,
        rows: std::iter::once(limit).chain(others).collect(),
    }
}

struct Bench<'a> {
    crew: &'a mut Crew,
    family: &'a Family,
}

impl Bench<'_> {
    /// Runs a case and checks that all messages arrived.
    fn slice(&mut self, case: &Case, operations: u64) -> Slice {
        let slice = case.run(self.crew, operations);
        let expected = (self.family.sum)(operations);
        assert_eq!(
            slice.sum, expected,
            "{}, {}: {operations} operations have a different sum",
            self.family.name, case.name
        );
        slice
    }

    /// Nanoseconds for one unit. A slice that turns out far too short makes the next one longer.
    fn time(&mut self, case: &Case, operations: &mut u64) -> f64 {
        let units = *operations as f64 * self.family.units as f64;
        let time = self.slice(case, *operations).time;
        if time < self.family.slice / 2 && self.family.exactly.is_none() {
            *operations *= 2;
        }
        time.as_nanos() as f64 / units
    }

    /// How many operations fill a slice; finding out warms the case up.
    fn operations(&mut self, case: &Case) -> u64 {
        if let Some(operations) = self.family.exactly {
            self.slice(case, operations);
            return operations;
        }
        let mut operations = 1;
        loop {
            // The best of a few: the first slice of a case includes initialisation that later ones do not, and any can be
            // disturbed.
            let slices = (0..4).map(|_| self.slice(case, operations).time);
            let best = slices
                .min()
                .unwrap_or_default()
                .max(Duration::from_nanos(1));
            let fits = self.family.slice.as_secs_f64() / best.as_secs_f64();
            if fits < 2.0 {
                return ((operations as f64 * fits) as u64).max(1);
            }
            operations = (operations as f64 * fits.min(8.0)) as u64;
        }
    }
}
