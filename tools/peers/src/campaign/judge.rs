//! What the other side does about an attack.

use crate::attack::{Case, Expected, LEAVE};
use crate::campaign::report::hex;
use crate::campaign::session::{Judgment, Session};
use crate::campaign::target::Target;
use crate::socket::{is_late, write_all};
use crate::talk::Control;
use std::io;
use std::time::{Duration, Instant};

/// How many bytes the other side may send after an attack.
const MOST_SENT: usize = 4 << 20;

/// How many messages of the other side are read after an attack.
const MOST_MESSAGES: usize = 10_000;

impl<'c> Session<'c> {
    /// Waits for what the server does about an attack. `wait`: how long.
    pub fn judge(&mut self, target: &Target<'c>, case: &Case, wait: Duration) -> Judgment {
        let deadline = Instant::now() + wait;
        let is_first = self.talk.events().len() == 0 && self.largest() == 0;
        let is_closed = case.expected == Expected::Closed;
        if case.expected.is_of_greeting() || is_closed && is_first {
            return self.judge_answer(case, deadline);
        }
        if let Some(position) = case.message {
            // What the session carries after it does not depend on the values.
            self.talk.take(position, Vec::new());
            let next = |at: usize| target.plan.nodes[at].edges[position].next;
            self.at = self.at.and_then(next);
        }
        self.judge_session(target, case, deadline)
    }

    /// What the server does about a hello.
    fn judge_answer(&mut self, case: &Case, deadline: Instant) -> Judgment {
        let mut has_left = false;
        loop {
            let begins = matches!(case.expected, Expected::Begun | Expected::BegunOrDropped);
            if begins && !has_left && self.stream.unused().len() >= 12 {
                match self.stream.answer() {
                    Ok(true) => {
                        has_left = true;
                        // What follows shows whether the server has read it.
                        let _ = write_all(&mut *self.socket, &LEAVE, deadline);
                        let _ = self.socket.end();
                    }
                    Ok(false) => {}
                    Err(words) => return Judgment::Wrong(words),
                }
            }
            match self.fill(deadline) {
                Ok(true) if self.stream.unused().len() <= MOST_SENT => {}
                Ok(true) => return Judgment::Wrong("it sends without end".to_owned()),
                Ok(false) => break,
                Err(error) => return Judgment::Wrong(not_closed(&error, case)),
            }
        }
        if has_left {
            return Judgment::Held;
        }
        let answer = self.stream.unused();
        if self.is_unanswered && answer == LEAVE {
            return Judgment::Unknown;
        }
        let is_refusal = answer.len() == 16 && answer.starts_with(b"duologue");
        let found = match answer {
            [] => "it closes the connection without an answer".to_owned(),
            answer => match answer.get(9) {
                Some(verdict) if is_refusal => {
                    format!("it refuses the session with verdict {verdict}")
                }
                _ => format!("it answers {}", hex(answer)),
            },
        };
        let is_right = if let Expected::Refused(verdict) = case.expected {
            is_refusal && answer[9..12] == [verdict, 4, 0]
        } else if matches!(case.expected, Expected::Dropped | Expected::BegunOrDropped) {
            answer.is_empty()
        } else {
            // A server that has read half a hello may say so.
            answer.is_empty() || answer.len() == 16 && answer[9] >= 16
        };
        match is_right {
            true => Judgment::Held,
            false => Judgment::Wrong(found),
        }
    }

    /// What the server does in a session.
    fn judge_session(&mut self, target: &Target<'c>, case: &Case, deadline: Instant) -> Judgment {
        let wrong = |words: &str| Judgment::Wrong(words.to_owned());
        let mut left = None;
        let (mut sent, mut messages) = (0, 0);
        loop {
            let theirs = self.talk.active() == Some(target.own.dual());
            let next = self.stream.unused().first().copied();
            match next {
                Some(_) if left.is_some() => {
                    return wrong("it sends something after it has left");
                }
                Some(0) => match self.stream.control() {
                    Ok(Some(Control::Leave(reason))) => {
                        left = Some((reason, theirs));
                        continue;
                    }
                    Ok(Some(Control::Alive | Control::Drain)) => continue,
                    Ok(None) => {}
                    Err(words) => return wrong(words),
                },
                Some(_) if theirs => match self.stream.arrival(&mut self.talk) {
                    Ok(Some(_)) if case.expected == Expected::Answered => return Judgment::Held,
                    Ok(Some(_)) if messages == MOST_MESSAGES => return Judgment::Unknown,
                    Ok(Some(_)) => {
                        messages += 1;
                        self.advance(target);
                        continue;
                    }
                    Ok(None) => {}
                    Err(words) => return wrong(words),
                },
                Some(_) if self.talk.is_finished() => {
                    return wrong("it sends something after the last message");
                }
                Some(_) => return wrong("it sends a message although it is not its turn"),
                None => {}
            }
            match self.fill(deadline) {
                Ok(true) => {
                    sent += 1;
                    if sent > MOST_SENT / 4096 {
                        return Judgment::Unknown;
                    }
                }
                Ok(false) => break,
                Err(error) if theirs && is_late(&error) => {
                    return match case.expected == Expected::Answered {
                        true => wrong("it sends nothing in time, and does not leave"),
                        false => Judgment::Unknown,
                    };
                }
                Err(error) => return Judgment::Wrong(not_closed(&error, case)),
            }
        }
        if !self.stream.unused().is_empty() {
            return wrong("it closes the connection in the middle of a frame");
        }
        let is_over = self.talk.is_finished();
        if case.expected == Expected::Taken && matches!(left, Some((1, _))) {
            return wrong("it leaves with reason 1 (broken)");
        }
        let wanted = match case.expected == Expected::Broken {
            true => 1,
            false if case.expected == Expected::Late => 2,
            false => return Judgment::Held,
        };
        match left {
            Some((reason, _)) if reason == wanted => Judgment::Held,
            // The program left before it read the attack.
            Some((0, true)) => Judgment::Held,
            // It may not go on after what was sent before.
            Some((0, false)) if self.is_unanswered => Judgment::Unknown,
            None if is_over => Judgment::Held,
            Some((reason, _)) => Judgment::Wrong(format!(
                "it leaves with reason {reason} ({})",
                ["left", "broken", "late", "too large"]
                    .get(usize::from(reason))
                    .unwrap_or(&"?")
            )),
            None if self.is_reset => wrong("it resets the connection and gives no reason"),
            None => wrong("it closes the connection and gives no reason"),
        }
    }
}

/// What an error of a read says, after which the connection is not closed.
fn not_closed(error: &io::Error, case: &Case) -> String {
    match is_late(error) {
        true if case.is_cut => "it does not close a connection that has ended".to_owned(),
        true => "it does not close the connection in time".to_owned(),
        false => error.to_string(),
    }
}
