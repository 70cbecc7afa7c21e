//! A family: cases that do the same work in different ways, and so can be compared.

use super::crew::{Crew, Job, Slice};
use std::time::Duration;

/// By which figures the cases of a family are compared.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Judged {
    /// The tenth percentile of each: what the machine does when nobody disturbs two cores that talk to each other.
    Tenth,
    /// The median of the ratios, round by round: for one thread, which little disturbs.
    Median,
}

/// Cases that do the same work.
pub struct Family {
    /// Its name, as filters and bars have it.
    pub name: String,
    /// What one of the things is that are counted.
    pub unit: &'static str,
    /// How many of those one operation is.
    pub units: u64,
    /// How long one slice is.
    pub slice: Duration,
    /// How the cases are compared.
    pub judged: Judged,
    /// Of how many rounds of others it has one: more than 1 where slices have to be long.
    pub thinned: usize,
    /// How many operations a slice has at most, whatever the time.
    pub most: u64,
    /// What so many operations sum up to, whoever does them.
    pub sum: Box<dyn Fn(u64) -> u64>,
    /// The first is measured before and after the others of a round: the limit, or what is nearest to one.
    pub cases: Vec<Case>,
}

impl Family {
    /// A family without cases, whose slices take 1.5 ms.
    pub fn new(
        name: impl Into<String>,
        unit: &'static str,
        sum: impl Fn(u64) -> u64 + 'static,
    ) -> Family {
        Family {
            name: name.into(),
            unit,
            units: 1,
            slice: Duration::from_micros(1500),
            judged: Judged::Tenth,
            thinned: 1,
            most: u64::MAX,
            sum: Box::new(sum),
            cases: Vec::new(),
        }
    }

    /// With slices of so many milliseconds, and as many fewer rounds.
    #[must_use]
    pub fn slices(mut self, milliseconds: u64, thinned: usize) -> Family {
        self.slice = Duration::from_millis(milliseconds);
        self.thinned = thinned;
        self
    }

    /// Where one operation is so many units.
    #[must_use]
    pub fn units(mut self, units: u64) -> Family {
        self.units = units;
        self
    }

    /// Judged by the median of the ratios, as one thread can be.
    #[must_use]
    pub fn steady(mut self) -> Family {
        self.judged = Judged::Median;
        self
    }

    /// Adds a case.
    #[must_use]
    pub fn case(mut self, case: Case) -> Family {
        self.cases.push(case);
        self
    }
}

type Run = Box<dyn Fn(&mut Crew, u64) -> Slice>;

/// One way to do the work of a family.
pub struct Case {
    /// Its name, as filters and bars have it.
    pub name: String,
    run: Run,
}

impl Case {
    /// A case from what makes the jobs of so many operations. Making them is not measured.
    pub fn new(name: impl Into<String>, jobs: impl Fn(u64) -> Vec<Job> + 'static) -> Case {
        Case {
            name: name.into(),
            run: Box::new(move |crew, operations| crew.run(jobs(operations))),
        }
    }

    /// Does so many operations.
    pub fn run(&self, crew: &mut Crew, operations: u64) -> Slice {
        (self.run)(crew, operations)
    }
}
