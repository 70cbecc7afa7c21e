//! The sessions of a registry at one moment, as text and as JSON.

use std::fmt::{self, Write as _};
use std::time::Duration;

use super::super::recorder::quote;
use crate::ring::observer::Side;

/// A session that has not ended.
#[non_exhaustive]
#[derive(Clone, Debug)]
pub struct Live {
    /// Its number, after `socket-` if it is over a socket.
    pub session: String,
    /// The protocol's name, with its package.
    pub protocol: &'static str,
    /// The state in which it is, with the protocol's name; `None` if the last message was sent, and an endpoint is still there.
    pub state: Option<&'static str>,
    /// The side whose turn it is to send.
    pub turn: Side,
    /// How long that side has sent nothing.
    pub waits: Duration,
    /// How many messages it had while it was observed.
    pub messages: u64,
    /// Its sides, the client first. Empty for a session over a socket, and without the feature `registry`.
    pub sides: Vec<LiveSide>,
}

/// A side of a session that has not ended.
#[non_exhaustive]
#[derive(Clone, Debug)]
pub struct LiveSide {
    /// Which one.
    pub side: Side,
    /// The state in which its endpoint is, with the protocol's name; `None` after the last message.
    pub state: Option<&'static str>,
    /// The thread or task that last used the endpoint; `None` if it was not used yet.
    pub owner: Option<String>,
    /// How long it has waited; `None` if it does not wait.
    pub waits: Option<Duration>,
    /// Whether it waits for space in the ring, to send. Otherwise it waits for a message.
    pub for_space: bool,
    /// Whether it is in a set of endpoints: then its thread or task need not wait.
    pub(super) is_in_set: bool,
    /// How many messages for it are in flight: sent, but not received.
    pub in_flight: u64,
    /// Whether it has disconnected.
    pub has_left: bool,
}

/// A thread or task that waits for the next one of a [`Deadlock`].
#[non_exhaustive]
#[derive(Clone, Debug)]
pub struct Blocked {
    /// The thread or task.
    pub owner: String,
    /// The session in which it waits.
    pub session: String,
    /// Its side of that session.
    pub side: Side,
    /// The state in which it waits, with the protocol's name.
    pub state: Option<&'static str>,
    /// How long it has waited.
    pub waits: Duration,
    /// The thread or task that last used the other side's endpoint.
    pub awaited: String,
}

/// Threads and tasks that wait for each other: each for the next, and the last for the first. One that has both sides of a session may
/// wait for itself.
#[non_exhaustive]
#[derive(Clone, Debug)]
pub struct Deadlock {
    /// Those that wait.
    pub waits: Vec<Blocked>,
}

/// The sessions of a [`Registry`](super::Registry) at one moment. It prints as text.
#[non_exhaustive]
#[derive(Clone, Debug, Default)]
pub struct Snapshot {
    /// The sessions that have not ended, by their numbers.
    pub sessions: Vec<Live>,
    /// The deadlocks among them.
    pub deadlocks: Vec<Deadlock>,
}

/// `#7 bank.connected waits 12.3 s for the client, 5 messages`
impl fmt::Display for Live {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (seconds, messages) = (self.waits.as_secs_f64(), self.messages);
        let word = if messages == 1 { "message" } else { "messages" };
        match self.state {
            Some(state) => write!(
                f,
                "#{} {state} waits {seconds:.1} s for the {}, {messages} {word}",
                self.session, self.turn
            ),
            None => write!(
                f,
                "#{} {} is over, but not received for {seconds:.1} s, {messages} {word}",
                self.session, self.protocol
            ),
        }
    }
}

/// `client in bank.login_response: thread shop #2 waits 12.3 s for a message, 0 in flight to it`
impl fmt::Display for LiveSide {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let state = self.state.unwrap_or("the end");
        let owner = self.owner.as_deref().unwrap_or("not used yet");
        write!(f, "{} in {state}: {owner}", self.side)?;
        if self.has_left {
            return f.write_str(" has left");
        }
        if let Some(waits) = self.waits {
            let what = if self.for_space { "space" } else { "a message" };
            write!(f, " waits {:.1} s for {what}", waits.as_secs_f64())?;
        }
        write!(f, ", {} in flight to it", self.in_flight)
    }
}

/// `thread a #1 -> thread b #2 -> thread a #1`, and a line for each.
impl fmt::Display for Deadlock {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for one in &self.waits {
            write!(f, "{} -> ", one.owner)?;
        }
        f.write_str(self.waits.first().map_or("", |first| &first.owner))?;
        for one in &self.waits {
            let (seconds, state) = (one.waits.as_secs_f64(), one.state.unwrap_or("the end"));
            write!(
                f,
                "\n    {} waits {seconds:.1} s in session #{} as its {}, in {state}, for {}",
                one.owner, one.session, one.side, one.awaited
            )?;
        }
        Ok(())
    }
}

/// Each deadlock, and each session with its sides, in lines of their own.
impl fmt::Display for Snapshot {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for deadlock in &self.deadlocks {
            writeln!(f, "deadlock: {deadlock}")?;
        }
        for session in &self.sessions {
            writeln!(f, "{session}")?;
            for side in &session.sides {
                writeln!(f, "    {side}")?;
            }
        }
        Ok(())
    }
}

impl Snapshot {
    /// The document that `duologue top` shows. `docs/tracing.md` in the repository describes it.
    #[must_use]
    pub fn json(&self) -> String {
        let mut text = String::new();
        let (format, process) = (1, std::process::id());
        let _always = write!(
            text,
            "{{\"format\":{format},\"language\":\"rust\",\"process\":{process},\"sessions\":["
        );
        listed(&mut text, &self.sessions, write_session);
        text += "],\"deadlocks\":[";
        listed(&mut text, &self.deadlocks, |text, deadlock| {
            *text += "{\"waits\":[";
            listed(text, &deadlock.waits, write_blocked);
            *text += "]}";
        });
        text += "]}";
        text
    }
}

fn listed<T>(text: &mut String, list: &[T], write: impl Fn(&mut String, &T)) {
    for (number, one) in list.iter().enumerate() {
        *text += if number == 0 { "" } else { "," };
        write(text, one);
    }
}

fn write_or_null(text: &mut String, value: Option<&str>) {
    match value {
        Some(value) => quote(text, value),
        None => *text += "null",
    }
}

fn write_session(text: &mut String, session: &Live) {
    *text += "{\"session\":";
    quote(text, &session.session);
    *text += ",\"protocol\":";
    quote(text, session.protocol);
    *text += ",\"state\":";
    write_or_null(text, session.state);
    let (turn, waits) = (session.turn, session.waits.as_millis());
    let messages = session.messages;
    let _always = write!(
        text,
        ",\"turn\":\"{turn}\",\"waits\":{waits},\"messages\":{messages},\"sides\":["
    );
    listed(text, &session.sides, write_side);
    *text += "]}";
}

fn write_side(text: &mut String, side: &LiveSide) {
    let _always = write!(text, "{{\"side\":\"{}\",\"state\":", side.side);
    write_or_null(text, side.state);
    *text += ",\"owner\":";
    write_or_null(text, side.owner.as_deref());
    *text += ",\"waits\":";
    match side.waits {
        Some(waits) => {
            let _always = write!(text, "{}", waits.as_millis());
        }
        None => *text += "null",
    }
    let what = match (side.waits, side.for_space) {
        (None, _) => "null",
        (Some(_), true) => "\"space\"",
        (Some(_), false) => "\"message\"",
    };
    let (in_flight, left) = (side.in_flight, side.has_left);
    let _always = write!(
        text,
        ",\"for\":{what},\"in_flight\":{in_flight},\"left\":{left}}}"
    );
}

fn write_blocked(text: &mut String, blocked: &Blocked) {
    *text += "{\"owner\":";
    quote(text, &blocked.owner);
    *text += ",\"session\":";
    quote(text, &blocked.session);
    let _always = write!(text, ",\"side\":\"{}\",\"state\":", blocked.side);
    write_or_null(text, blocked.state);
    let _always = write!(
        text,
        ",\"waits\":{},\"awaited\":",
        blocked.waits.as_millis()
    );
    quote(text, &blocked.awaited);
    text.push('}');
}
