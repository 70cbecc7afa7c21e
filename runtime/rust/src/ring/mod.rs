//! The ring of a session and a side's position in it, as data: what is where, and which bits mean what. Nothing here
//! decides, waits or wakes; that is the `link` layer's.
//!
//! # Why sharing the ring is sound
//!
//! - *Payload.* It is written before the word (Release) and read after a load (Acquire) that saw the count. A slot is
//!   written again by its next sender, which has either read a message that the slot's last reader sent afterwards (a
//!   turn), or has seen in the credit word (Acquire) that the reader had emptied the slot (Release). A further store of
//!   a word by the same sender, and a compare-and-swap by the receiver that sets flags in it, preserve what was
//!   released.
//! - *The session exists* while a sender reads flags after a message that is not the last: it is ended either by the
//!   receiver of the last message or by the side that is left alone, and both require something that this sender has
//!   not done yet.
//! - *Two blocks.* A session may move from a small block to a large one: see `link::message::grow`.
//! - *Initializing.* A block is cleared as far as the shortest laps reach. The sender clears the lines after the early
//!   end before a lap first continues past that end, and it records that the lap continues before it publishes anything
//!   in the last line before that end. So the receiver accesses the lines after that end only after both (Release,
//!   Acquire). See `link::peer`.
//! - *Clearing.* When epochs go back (see `position`), the receiver of the turning message clears the stamps of all
//!   lines except the first. All messages have been read, and the peer accesses only the first line, so nothing else
//!   uses them.

pub(crate) mod block;
pub(crate) mod driver;
pub(crate) mod observer;
pub(crate) mod pipe;
pub(crate) mod position;
#[cfg(feature = "registry")]
pub(crate) mod usage;
pub(crate) mod words;
