//! How things are measured: threads that stand ready, slices of a millisecond or two, and what is made of many of them.

mod crew;
mod family;
mod rounds;
mod statistics;

pub use crew::{Crew, Job, Place};
pub use family::{Case, Family, Judged};
pub use rounds::{Effort, Measured, measure};
