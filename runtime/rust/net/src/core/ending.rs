//! How a session ends.

use duologue::transport::Why;

use super::limits::{LAST_WRITE, LOOK};
use super::{frame, Core, Input, State, Work};
use duologue::transport::Role;

impl Core {
    /// Ends the session early, with a last frame for the peer. The shell writes it.
    pub(crate) fn leave(&mut self, why: Why) {
        match self.state {
            State::Open => {
                self.out.put(&frame::leave(why));
                self.state = State::Ending(why, Some(LAST_WRITE));
            }
            // The frame is there already.
            State::Ending(_, most) => self.state = State::Ending(why, most),
            State::Lingering(_) | State::Closed => {}
        }
    }

    /// Ends the session after the last message of the protocol. The shell writes what is left.
    pub(super) fn end(&mut self) {
        if self.is_open() {
            self.state = State::Ending(Why::Left, None);
        }
    }

    /// Whether the last bytes have to be written now.
    pub(crate) fn is_ending(&self) -> bool {
        matches!(self.state, State::Ending(..))
    }

    /// Until when a thread that may wait writes the last bytes.
    pub(crate) fn last_deadline(&self, work: &Work) -> Option<std::time::Instant> {
        match self.state {
            State::Ending(_, most) => most.map(|most| work.now() + most),
            State::Open | State::Lingering(_) | State::Closed => None,
        }
    }

    /// The last bytes have been written, as far as the connection has accepted them. If the thread has waited for that
    /// as long as it may, they are given up. If it must not wait, the session is over for the side in this process, and the
    /// connection is closed later.
    pub(crate) fn last_written(&mut self, has_waited: bool, work: &mut Work) {
        let State::Ending(why, _) = self.state else {
            return;
        };
        if self.pending() == 0 || has_waited {
            return self.close(why, work);
        }
        self.conclude(why, work);
        self.state = State::Lingering(work.now() + LAST_WRITE);
    }

    /// A session that is over has written more of its last bytes, or has tried to.
    pub(crate) fn lingers(&mut self, has_moved: bool, work: &mut Work) {
        if !self.is_over() {
        } else if self.pending() == 0 {
            self.close(Why::Left, work);
        } else if has_moved {
            self.state = State::Lingering(work.now() + LAST_WRITE);
        }
    }

    /// The connection accepts nothing more. The peer may have said why, in what was read: `None` if another thread reads.
    pub(crate) fn write_failed(&mut self, input: Option<&Input>, work: &mut Work) {
        if self.far.role() == Role::Sends {
            // The peer's messages may have arrived before the connection ended. Reading finds both.
            return self.forget_pending();
        }
        if let Some(input) = input {
            let said = input.said(self.terms.allowed());
            let why = said.or(input.ended()).unwrap_or(Why::Lost);
            return self.close(why, work);
        }
        // The other thread may wait for this one. Once it goes on, it finds what the peer said and ends the session. If it does
        // not, because its own read does not end, the session is lost.
        let now = work.now();
        let until = *self.fails_until.get_or_insert(now + LOOK);
        match self.is_over() || until <= now {
            true => self.close(Why::Lost, work),
            false => {
                work.flushes = true;
                work.refused = true;
            }
        }
    }

    /// Ends the session for the side in this process.
    fn conclude(&mut self, why: Why, work: &mut Work) {
        if self.why.is_none() {
            self.why = Some(why);
            if let Some(tally) = &self.tally {
                tally.end(why, work.now());
                work.reports = true;
            }
            work.far = Some(self.give_up());
        }
    }

    /// Ends the session, and closes the connection even if something was not written.
    pub(crate) fn close(&mut self, why: Why, work: &mut Work) {
        self.conclude(why, work);
        self.forget_pending();
        self.state = State::Closed;
        work.closes |= self.waker.take().is_some();
    }
}
