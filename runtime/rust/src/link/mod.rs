//! What the two sides of a session do with its ring, without types: they send, find, take, leave and arm. A slow path
//! is a file of its own.
//!
//! # Two ways to publish
//!
//! A receiver that finds nothing may go to sleep, and the sender has to notice that. It also has to notice a receiver
//! that disconnects, because nothing may be sent to it any more. There are two ways to achieve this, and both sides
//! know from the position which one is used:
//!
//! - *Swapped*, where a run begins and cannot continue (an alternating dialogue), and everywhere if the system has no
//!   asymmetric barrier. The receiver marks the word as awaited or dead with a compare-and-swap, the sender publishes
//!   with a swap, and the order of these two operations on the word decides. Nothing else is needed.
//! - *Stored*, in runs. The sender stores the word and then reads the receiver's flags, which are in another cache line
//!   (see `ring::words`). This costs no read-modify-write, and the line does not have to wait for one, so a run of
//!   three messages is as fast as one message. A receiver that sleeps pays for the barrier (see `floor::barrier`).
//!
//! A task that waits in runs would pay with every message, so it announces in its flags that it is a task. A sender
//! that has seen this also swaps in runs, reports that in the word, and then reads the flags as well; `wait`
//! says how the receiver knows.

pub(crate) mod drop_queue;
pub(crate) mod leave;
pub(crate) mod message;
pub(crate) mod peer;
pub(crate) mod wait;

#[cfg(all(test, not(duologue_loom)))]
pub(crate) mod tests;
