//! How things are measured: threads that are started in advance, slices of a millisecond or two, and statistics over many of them.

mod crew;
mod distance;
mod family;
mod rounds;
mod statistics;

pub use crew::{Clock, Crew, Job, Place};
pub use distance::SHARED;
pub use family::{Case, Family, Judged};
pub use rounds::{Effort, Measured, measure};
