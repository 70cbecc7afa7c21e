//! Sessions that are played by hand, message by message, without a program: `duologue talk`.

mod bytes;
mod codec;
mod link;
mod packet;
mod reader;
mod robot;
mod session;
mod stream;
mod value;

pub use bytes::bytes_of;
pub use codec::{is_payload, payload_length, read_count, write_count};
pub use link::{Counts, Fate, Link, OVERHEAD, Outgoing};
pub use packet::{Packet, PacketKind, address, is_dotted, name_problem, process_of_side};
pub use robot::Robot;
pub use session::{Event, Talk};
pub use stream::{Arrival, Control, Greeting, Stream};
pub use value::{Fault, Value};
