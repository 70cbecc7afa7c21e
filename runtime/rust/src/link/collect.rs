//! Runs of a session whose other side is in another process: its far end checks the ring itself.
//!
//! A far end that had to be woken for every message of an unbounded run would cost many times what the message costs.
//! So inside such a run it is not woken unless it asks for that. In the following, *near* is the side in this process,
//! and *far* is the side that belongs to the transport. Far checks the ring
//!
//! - when near's thread calls the driver ([`Pipe::let_driver_forward`]): before it publishes the first message of each
//!   segment of the ring, or of each line if payloads may own memory; a message that reverses the direction or ends the
//!   session; and before near disconnects. A shared sender makes the first two of these calls after the message before,
//!   because it must hold no lock;
//! - when near waits or flushes;
//! - on a thread of the transport, a few milliseconds after one of the others, and again as long as it finds something.
//!   If it finds nothing, far waits, and the next message wakes it.
//!
//! # How each message is published
//!
//! What far sends is swapped, as in every session in which all messages are swapped. What near sends depends on the
//! position, which both sides know:
//!
//! | position | a message that stays or turns | the last message, or *closed* | far waits and disconnects |
//! | --- | --- | --- | --- |
//! | the first of the run | swapped | swapped | in the word |
//! | the first of another segment | swapped | `Ending` in the flags, then swapped | in the word |
//! | any other | stored, then the flags are read | `Ending` in the flags, then swapped | in its flags |
//!
//! [`Pipe::collects_in`] chooses the last row for near, and [`Pipe::waits_in_word`] for far: both ask
//! [`Position::is_within`]. Runs of a session that is not unbounded, and sessions that begin without the barrier, use
//! the first row everywhere.
//!
//! # The order of near's steps
//!
//! 1. Near makes sure that the slot is free. If the ring is full, its thread forwards until a segment is free
//!    ([`Driver::wait`]); for a task or a shared sender that waits, a thread of the transport does ([`Driver::armed`]).
//! 2. It writes the payload into the slot. Code that does not know that the session has a far end ends here, except
//!    inside a segment (see `Position::is_inside`): it tests one bit of the position, and everything else is in functions
//!    that are not inlined into the program.
//! 3. It calls the driver, if it has to.
//! 4. It publishes the message.
//!
//! What far does in step 3 does not depend on step 2: far reads a slot only after it has found its message in the word,
//! and the slot was free before. The payload is not published if the driver panics. Then it is destroyed while the
//! panic unwinds, after near has disconnected.
//!
//! # How much memory waits in the ring
//!
//! The ring bounds the number of messages, but the memory that their payloads own may be of any size. So if they own
//! memory, far checks the ring before each line: then the ring has the messages of one line, unless the connection accepts
//! nothing. Near waits for the connection in step 3. If near never waits there, it is not ready before the connection
//! has accepted more ([`Driver::holds_back`]), and if it sends all the same, it waits once it is far ahead
//! ([`Driver::catch_up`]). While another thread forwards, near waits for that thread, or is not ready before it has
//! forwarded. So near, or all senders that share an endpoint, are ahead of the connection by two lines of messages, and by what the
//! driver collects. In shared memory each thread that waits for the region adds a line.
//!
//! # Why no waiting far end is missed
//!
//! Far waits at the position where it reads next. Near has not published there, or far finds that when it checks.
//!
//! - *In the word, and near swaps.* The two changes of the word are ordered: see "In the word" in `link::arming`. In the
//!   second row near also sets `Ending`, which changes nothing about this.
//! - *In its flags, and near stores.* Far announces, runs the barrier and checks: see "In the flags" there. The thread that
//!   is going to publish ([`Ahead::Last`], [`Ahead::Leaves`]) needs no barrier: it announces in step 3, and stores and
//!   reads the flags in step 4, in the order of the program. If another thread replaces the announcement in the
//!   meantime, that one runs the barrier.
//! - *In its flags, and near sets `Ending`.* Both change the flags by a compare-and-swap. If far's comes first, near takes
//!   over the waiter. If near's comes first, far's fails, and far waits until the word is published, a few instructions
//!   later.
//!
//! An announcement in the flags names its position, and far withdraws it when it takes the message there without having
//! been woken. Near, if it has read the flags before that, ignores one for another position than that of its message.
//!
//! Far never announces that it is a task. So near continues to store, and the cases of `arming::task` do not occur.
//!
//! # Why no disconnection is missed
//!
//! Far disconnects at the position where it reads next.
//!
//! - *In the word.* It succeeds only if nothing is published there, and near swaps there next, which finds it.
//! - *In its flags.* See "Where messages are stored" in `link::leave`: near finds it with the message that it stores
//!   there, or when it sets `Ending` there.
//! - *Where messages can be forgotten*, far may disconnect in its flags although near has published at that position and
//!   later ones. Near finds it with the next message that it stores, when it sets `Ending`, or when
//!   it waits: see `link::peer`. A swap alone does not find it. So near loses up to one more message, the first of a
//!   segment, and then stores the next, or waits for an answer. This is why the last message sets `Ending` in the second row
//!   too: near accesses nothing after it.
//!
//! If far has claimed the session with its disconnection, near no longer accesses the slot. So near copies the payload
//! before it publishes, and returns the copy.
//!
//! # Why nothing stays in the ring
//!
//! After each check that has found nothing, either far is armed where near publishes next, or the transport has to check
//! again: [`FarEnd::arm_next`] says which. `duologue-net` shows in `core::forwarding` that it does.
//!
//! [`FarEnd::arm_next`]: crate::remote::far_end::FarEnd::arm_next
//! [`Position::is_within`]: crate::ring::position::Position::is_within

use std::sync::Arc;

use crate::ring::driver::{Ahead, Driver};
use crate::ring::pipe::Pipe;

impl Pipe {
    /// Has the driver forward what was sent before in this run.
    pub(super) fn let_driver_forward(&self, ahead: Ahead) {
        if let Some(driver) = self.driver() {
            driver.collected(ahead);
        }
    }

    /// Whether the driver forwards before a message inside such a run, although far does not wait in the word there. `owns_memory`: the
    /// payloads do.
    #[inline]
    pub(super) fn forwards_at_line(&self, owns_memory: bool) -> bool {
        owns_memory && self.at().slot() == 0
    }

    /// The driver to call before the next message, if it forwards there inside such a run. For a sender that publishes
    /// under a lock and calls the driver after it: see [`Forwards::Caller`]. `owns_memory`: the payloads do.
    ///
    /// [`Forwards::Caller`]: super::publish::Forwards::Caller
    #[inline]
    pub(crate) fn driver_at_segment(&self, owns_memory: bool) -> Option<Arc<dyn Driver>> {
        let is_stored = || self.collects_in(self.layout()) && !self.forwards_at_line(owns_memory);
        // An observed session has no driver.
        let may_forward = self.at().publishes_apart() && !self.at().begins_run();
        if !may_forward || is_stored() {
            return None;
        }
        self.driver().cloned()
    }
}
