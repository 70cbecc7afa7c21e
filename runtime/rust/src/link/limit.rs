//! Time limits of a side: after a certain time, it no longer waits.
//!
//! What waits asks for the limit only where it is about to sleep, so a session without a limit pays nothing, and neither
//! does a message that is found, or sent, without waiting. A thread that waits for one session sleeps until the limit;
//! what else waits is woken by an alarm (`floor::deadline`). From then on the side is *late*: it counts as ready, because its next operation
//! does not wait, and that operation closes the session if it would have to wait.
//!
//! Whether a side has a limit is noted in the line in which it reports that it waits, and the limit itself is in a box that
//! belongs to the session. Only the side itself accesses either. Several threads of a side may do so at the same time, if they share its
//! sender: both can be read and changed by several threads.

use std::sync::atomic::Ordering::Relaxed;
use std::task::Waker;
use std::time::Instant;

use crate::floor::deadline::SideLimit;
use crate::ring::pipe::Pipe;

impl Pipe {
    /// When this side's waits end.
    #[inline]
    pub(crate) fn limit(&self) -> Option<Instant> {
        match self.is_limited() {
            true => self.own_limit().at(),
            false => None,
        }
    }

    /// Whether this side's limit has passed.
    #[inline]
    pub(crate) fn is_late(&self) -> bool {
        self.is_limited() && self.has_passed()
    }

    #[cold]
    fn has_passed(&self) -> bool {
        let at = self.own_limit().at();
        at.is_some_and(|at| at <= Instant::now())
    }

    fn own_limit(&self) -> &SideLimit {
        &self.attached().limits[self.at().side()]
    }

    /// Ends this side's waits at this time; `None` if they have no limit any more.
    pub(crate) fn set_limit(&self, until: Option<Instant>) {
        if until.is_none() && !self.is_limited() {
            return;
        }
        let own = self.own_limit();
        own.set(until);
        let until = own.at();
        self.limit_mark().store(until.is_some().into(), Relaxed);
        if let Some(driver) = self.driver() {
            driver.limit(until);
        }
    }

    /// Calls the waker when this side's limit passes.
    #[cold]
    pub(crate) fn wake_at_limit(&self, waker: &Waker) {
        self.own_limit().wake(waker);
    }
}
