//! What several commands print and write.

pub mod answer;
pub mod diff;
pub mod drift;
pub mod progress;
pub mod protocol_table;
pub mod reports;
pub mod summary;
