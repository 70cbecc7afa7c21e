//! What commands find in addition to findings, for the reports.

use duologue::relation::Verdict;
use duologue_traces::Outcome as Traces;

/// What a check returns in addition to findings.
pub trait Answer {
    /// If versions were compared, the verdict on each protocol, for the reports that include it.
    fn verdicts(&self) -> Option<&[Verdict]> {
        None
    }

    /// If logs were checked, what was found in them, for the reports that include it.
    fn traces(&self) -> Option<&Traces> {
        None
    }
}

impl Answer for () {}
