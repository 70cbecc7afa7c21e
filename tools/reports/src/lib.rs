//! Findings for other programs: JSON, SARIF, JUnit and annotations for GitHub. A checked program for other programs is in [`model`].

/// An object of JSON, with the members of another one before its own.
macro_rules! object {
    ($first:expr; $($name:literal: $value:expr),* $(,)?) => {{
        let mut members: serde_json::Map<String, serde_json::Value> = $first;
        $(members.insert($name.to_owned(), serde_json::Value::from($value));)*
        members
    }};
    ($($members:tt)*) => { object!(serde_json::Map::new(); $($members)*) };
}

mod github;
mod json;
mod junit;
pub mod model;
mod record;
mod sarif;

pub use github::{
    annotation as github_annotation, annotations as github_annotations, summary as github_summary,
    verdicts as github_verdicts,
};
pub use json::{json, json_of_traces, json_of_versions};
pub use junit::junit;
pub use sarif::sarif;
