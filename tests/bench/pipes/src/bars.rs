//! The bars: how many times as long as another case of its family a case may take, in one run.

use crate::harness::{Judged, Measured, SHARED};
use std::fmt;

/// One bar.
pub struct Bar {
    /// The family.
    pub family: &'static str,
    /// The case that is judged.
    pub case: &'static str,
    /// The case that it is compared with.
    pub against: &'static str,
    /// How many times as long it may take at most.
    pub most: f64,
}

const fn bar(family: &'static str, against: &'static str, most: f64) -> Bar {
    Bar {
        family,
        case: crate::cases::OURS,
        against,
        most,
    }
}

/// All bars.
pub const BARS: &[Bar] = &[
    bar("ping-pong, u64", "raw line (busy spin)", 1.10),
    bar(
        "run of three and a reply, u64",
        "raw line (busy spin)",
        1.15,
    ),
    bar("stream, u64", "rtrb (busy spin)", 1.0),
    bar("stream, 24 bytes", "rtrb (busy spin)", 0.5),
    bar("stream, 56 bytes", "rtrb (busy spin)", 0.8),
    bar(
        "bank session, one thread",
        "five calls, malloc and free",
        3.5,
    ),
    bar("bank session, one task", "rumpsteak", 0.35),
    bar("bank session, one task", "tokio mpsc x 2", 0.2),
    bar(
        "bank session, two threads",
        "two round trips of a raw line (busy spin)",
        3.0,
    ),
    bar("ring of 100 tasks, 1 worker", "tokio mpsc", 0.50),
    bar("ring of 100 tasks, 2 workers", "kanal", 1.0),
    bar("ring of 4 threads", "sched_yield", 1.2),
    bar("ring of 100 threads", "sched_yield", 1.0),
    Bar {
        family: "fan-in of 64, u64",
        case: "duologue SharedSender",
        against: "crossbeam, shared sender",
        most: 1.0,
    },
    Bar {
        family: "fan-in of 4, u64",
        case: "duologue PortSet",
        against: "crossbeam, shared sender",
        most: 0.30,
    },
    Bar {
        family: "fan-in of 4, u64",
        case: "duologue PortSet",
        against: "crossbeam Select",
        most: 0.1,
    },
    // The same cost, apart from the memory of the sessions, which does not fit into a cache.
    Bar {
        family: "port set with silent sessions, u64",
        case: "100000 sessions",
        against: "10 sessions",
        most: 1.2,
    },
    bar("word count of 100 MB", "rayon", 1.1),
    bar("word count of 100 MB", "crossbeam", 1.1),
    bar("ping-pong on one core, u64", "sched_yield hand-over", 1.1),
    bar("four pairs on two cores, u64", "kanal", 1.0),
];

/// Panics if a bar names a case that does not exist.
pub fn all_find(measured: &[Measured]) {
    for bar in BARS {
        let (family, case, against) = (bar.family, bar.case, bar.against);
        assert!(
            bar.verdict(measured, 2).is_some(),
            "{family} has no {case} or no {against}"
        );
    }
}

/// The result of a bar after a run.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Verdict {
    /// The ratio, which is small enough.
    Met(f64),
    /// The ratio, which is too large.
    Missed(f64),
    /// The ratio, if there is one, and why it is not judged.
    NotJudged(Option<f64>, &'static str),
}

impl fmt::Display for Verdict {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Verdict::Met(_) => f.write_str("met"),
            Verdict::Missed(_) => f.write_str("**missed**"),
            Verdict::NotJudged(_, why) => write!(f, "not judged: {why}"),
        }
    }
}

impl Verdict {
    /// The ratio that was measured.
    pub fn ratio(&self) -> Option<f64> {
        match *self {
            Verdict::Met(ratio) | Verdict::Missed(ratio) => Some(ratio),
            Verdict::NotJudged(ratio, _) => ratio,
        }
    }
}

/// Above this ratio of the limit's ninetieth percentile to its tenth, nothing is judged.
const UNSTEADY: f64 = 4.0;

impl Bar {
    /// The ratio of the family's limit to the same case: the lowest ratio that can be reached on this machine, unless the limit is slower
    /// than other cases of its family.
    pub fn least(&self, measured: &[Measured]) -> Option<f64> {
        let family = measured.iter().find(|one| one.family == self.family)?;
        Some(family.ratio(&family.rows[0], family.row(self.against)?))
    }

    /// Judges what was measured on `cores` cores; `None` if the run did not measure both cases.
    pub fn verdict(&self, measured: &[Measured], cores: usize) -> Option<Verdict> {
        let family = measured.iter().find(|one| one.family == self.family)?;
        let (case, against) = (family.row(self.case)?, family.row(self.against)?);
        let ratio = family.ratio(case, against);
        let talks = family.judged == Judged::Tenth;
        Some(if talks && cores < 2 {
            Verdict::NotJudged(Some(ratio), "fewer than two cores")
        } else if talks && family.distance < SHARED {
            Verdict::NotJudged(Some(ratio), "the two CPUs share a core")
        } else if family.unsteadiness() > UNSTEADY {
            Verdict::NotJudged(Some(ratio), "noisy")
        } else if ratio <= self.most {
            Verdict::Met(ratio)
        } else {
            Verdict::Missed(ratio)
        })
    }
}
