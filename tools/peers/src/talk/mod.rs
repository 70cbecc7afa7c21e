//! Sessions that are played by hand, message by message, without a program: `duologue talk`.

mod bytes;
mod codec;
mod made;
mod reader;
mod robot;
mod session;
mod stream;
mod value;

pub use bytes::bytes_of;
pub use codec::{Encoder, Spot, SpotKind, is_payload, write_count};
pub use made::{Choices, Maker};
pub use robot::Robot;
pub use session::{Event, Talk};
pub use stream::{Arrival, Control, Greeting, Stream};
pub use value::{Fault, Value};
