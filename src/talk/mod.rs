//! Sessions that are played by hand, message by message, without a program: `duologue talk`.

mod reader;
mod robot;
mod session;
mod value;

pub use robot::Robot;
pub use session::{Event, Talk};
pub use value::{Fault, Value};
