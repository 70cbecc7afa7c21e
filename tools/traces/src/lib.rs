//! Recorded sessions, checked against their protocols: `docs/tracing.md` describes the logs.

mod blame;
mod checker;
mod counts;
mod event;
mod otlp;
mod outcome;
mod problem;
mod session;
mod table;
mod transcript;

pub use blame::{Blame, Finding, Verdict};
pub use checker::{AHEAD_LIMIT, ALL_AHEAD_LIMIT, Checker, FINDING_LIMIT, Options, Stop};
pub use counts::Counts;
pub use event::{CONDITION_LIMIT, Event, ID_LIMIT, Kind, Mapping, PARTS, WORDS, Word};
pub use otlp::events as otlp_events;
pub use outcome::{Outcome, Summary, diagnostics};
pub use problem::Problem;
pub use session::{KeptLine, Line, Place};
pub use table::{Table, Tables};
pub use transcript::Transcript;
