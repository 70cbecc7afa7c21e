//! A family: cases that do the same work in different ways, and can therefore be compared.

use super::crew::{Crew, Job, Slice};
use std::time::Duration;

/// The figures by which the cases of a family are compared.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Judged {
    /// The tenth percentile of each: what the machine does when nothing disturbs two cores that talk to each other.
    Tenth,
    /// The median of the ratios, round by round: for one thread, which is hardly disturbed.
    Median,
}

/// Cases that do the same work.
pub struct Family {
    /// Its name, as filters and bars use it.
    pub name: String,
    /// The unit that is counted.
    pub unit: &'static str,
    /// How many units one operation has.
    pub units: u64,
    /// How long one slice is.
    pub slice: Duration,
    /// How the cases are compared.
    pub judged: Judged,
    /// The family runs in only one of this many rounds: more than 1 where slices have to be long.
    pub thinned: usize,
    /// How many operations a slice has, whatever the time.
    pub exactly: Option<u64>,
    /// The sum that this many operations result in, in any case.
    pub sum: Box<dyn Fn(u64) -> u64>,
    /// The first is the limit, or what is nearest to one; it is measured before and after the others of a round.
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
            exactly: None,
            sum: Box::new(sum),
            cases: Vec::new(),
        }
    }

    /// Sets the length of a slice in milliseconds, and divides the number of rounds.
    #[must_use]
    pub fn slices(mut self, milliseconds: u64, thinned: usize) -> Family {
        self.slice = Duration::from_millis(milliseconds);
        self.thinned = thinned;
        self
    }

    /// Sets how many operations a slice has, and divides the number of rounds.
    #[must_use]
    pub fn exactly(mut self, operations: u64, thinned: usize) -> Family {
        self.exactly = Some(operations);
        self.thinned = thinned;
        self
    }

    /// Sets how many units one operation has.
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
    /// Its name, as filters and bars use it.
    pub name: String,
    run: Run,
}

impl Case {
    /// A case from a function that makes the jobs for a number of operations. Making them is not measured.
    pub fn new(name: impl Into<String>, jobs: impl Fn(u64) -> Vec<Job> + 'static) -> Case {
        Case {
            name: name.into(),
            run: Box::new(move |crew, operations| crew.run(jobs(operations))),
        }
    }

    /// Performs this many operations.
    pub fn run(&self, crew: &mut Crew, operations: u64) -> Slice {
        (self.run)(crew, operations)
    }
}
