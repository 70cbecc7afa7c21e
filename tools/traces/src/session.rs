//! What is known about a session while its events arrive.

use super::table::{OVER, Refusal};
use duologue::protocol::Side;
use std::collections::VecDeque;

/// Where a line is.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub struct Place {
    /// The number of the log among those of the run.
    pub log: u32,
    /// The line, from 1.
    pub line: u64,
}

/// A line with its text.
#[derive(Clone, Copy, Debug)]
pub struct Line<'a> {
    /// Where it is.
    pub place: Place,
    /// Its first byte in the log.
    pub byte: u64,
    /// The text, without the line break.
    pub text: &'a [u8],
}

/// The most bytes of a line that are kept for a report.
const KEPT: usize = 2048;

/// A line that is kept for a report.
#[derive(Clone, Debug, Default)]
pub struct KeptLine {
    /// Where it is.
    pub place: Place,
    /// Its first byte in the log.
    pub byte: u64,
    /// The beginning of its text; empty if it was not kept.
    pub text: String,
    /// The bytes of the text that the report is about.
    pub marked: std::ops::Range<usize>,
}

impl KeptLine {
    /// Where a line is whose text is not kept.
    pub(super) fn at(place: Place, byte: u64) -> KeptLine {
        KeptLine {
            place,
            byte,
            ..KeptLine::default()
        }
    }

    /// Keeps the beginning of a line, all of which is marked.
    #[must_use]
    pub fn whole(line: &Line<'_>) -> KeptLine {
        KeptLine::of(line, 0..line.text.len())
    }

    /// Keeps the beginning of a line; what is marked beyond it, or in a text that is not UTF-8, becomes the whole beginning.
    pub(super) fn of(line: &Line<'_>, marked: std::ops::Range<usize>) -> KeptLine {
        let mut end = line.text.len().min(KEPT);
        while end < line.text.len() && end > 0 && line.text[end] & 0xc0 == 0x80 {
            end -= 1;
        }
        let text = String::from_utf8_lossy(&line.text[..end]).into_owned();
        let is_same = text.len() == end;
        let is_there = marked.end <= end && text.is_char_boundary(marked.start);
        let marked = match is_same && is_there && text.is_char_boundary(marked.end) {
            true => marked,
            false => 0..text.len(),
        };
        KeptLine {
            place: line.place,
            byte: line.byte,
            text,
            marked,
        }
    }
}

/// A text of a log as reports show it: not too long, and without characters that a terminal would obey.
pub(super) fn shown(text: &str) -> String {
    const MOST: usize = 300;
    let harmless = |letter: char| match letter {
        '\u{200e}'..='\u{200f}' | '\u{202a}'..='\u{202e}' | '\u{2066}'..='\u{2069}' => {
            char::REPLACEMENT_CHARACTER
        }
        letter if letter.is_control() => char::REPLACEMENT_CHARACTER,
        letter => letter,
    };
    let mut shown: String = text.chars().take(MOST).map(harmless).collect();
    if text.chars().nth(MOST).is_some() {
        shown += "...";
    }
    shown
}

/// The point of view of a log: that of a side, or of something that sees all messages.
#[derive(Clone, Copy, Debug)]
pub(super) struct View {
    /// The state after its events.
    pub state: u32,
    /// How many messages it has.
    pub count: u32,
    /// The side that has left.
    pub left: Option<Side>,
    /// Whether the log says that the session has ended.
    pub has_ended: bool,
    /// Whether there was a wrong event, after which nothing is checked.
    pub is_wrong: bool,
    /// Whether there was any event.
    pub is_seen: bool,
    /// The last event.
    pub last: Place,
}

impl View {
    pub fn new(start: u32) -> View {
        View {
            state: start,
            count: 0,
            left: None,
            has_ended: false,
            is_wrong: false,
            is_seen: false,
            last: Place::default(),
        }
    }

    /// Whether nothing more is expected.
    pub fn is_done(&self) -> bool {
        self.state == OVER || self.left.is_some() || self.has_ended
    }
}

/// A session.
#[derive(Debug)]
pub(super) struct Session {
    pub protocol: u32,
    /// The number of the session, in the order of their first events.
    pub number: u64,
    /// The logs of the client, of the server, and of neither.
    pub views: [View; 3],
    /// What only logs of sides have.
    pub pair: Option<Box<Pair>>,
    /// Whether it is done, and counted.
    pub is_closed: bool,
    /// Whether it is counted as one that was left early.
    pub is_left: bool,
    /// How many of its lines have no event that the mapping names.
    pub unnamed: u64,
    /// How many lines could not be read before its first event.
    pub unread: u64,
}

/// Lines in which something may have happened that was not seen.
#[derive(Clone, Copy, Debug)]
pub(super) struct Gap {
    /// Those of the session that have no event that the mapping names.
    pub unnamed: u64,
    /// Those that could not be read.
    pub unread: u64,
}

/// The index of a side's view.
pub(super) fn index(side: Side) -> usize {
    match side {
        Side::Client => 0,
        Side::Server => 1,
    }
}

/// The index of the view that belongs to neither side.
pub(super) const NEITHER: usize = 2;

impl Session {
    pub fn new(protocol: u32, number: u64, start: u32, unread: u64) -> Session {
        Session {
            protocol,
            number,
            views: [View::new(start); 3],
            pair: None,
            is_closed: false,
            is_left: false,
            unnamed: 0,
            unread,
        }
    }

    /// What may be missing before an event, if anything may, with the number of lines that could not be read so far.
    pub fn gap(&self, unread: u64, is_first: bool) -> Option<Gap> {
        let gap = Gap {
            unnamed: self.unnamed,
            unread: unread - if is_first { 0 } else { self.unread },
        };
        (gap.unnamed + gap.unread > 0).then_some(gap)
    }

    /// Whether there are events of both sides' logs.
    pub fn has_both(&self) -> bool {
        self.views[0].is_seen && self.views[1].is_seen
    }

    /// The side whose log is the only one.
    pub fn only_side(&self) -> Option<Side> {
        match [self.views[0].is_seen, self.views[1].is_seen] {
            [true, false] => Some(Side::Client),
            [false, true] => Some(Side::Server),
            _ => None,
        }
    }

    /// The view that has come farthest.
    pub fn farthest(&self) -> &View {
        let seen = self.views.iter().filter(|view| view.is_seen);
        let farthest = seen.max_by_key(|view| (view.is_done(), view.count));
        farthest.unwrap_or(&self.views[NEITHER])
    }
}

/// What logs of the sides of a session have in addition.
#[derive(Debug, Default)]
pub(super) struct Pair {
    /// The messages that the client sends, and those that the server sends.
    pub ways: [Way; 2],
    /// The first wrong event in the log of each side.
    pub wrong: [Option<Wrong>; 2],
}

/// The messages from one side to the other, of which the n-th that is received must be the n-th that was sent.
#[derive(Debug, Default)]
pub(super) struct Way {
    /// Messages in the log of one side that are not in the other log yet.
    pub ahead: VecDeque<Logged>,
    /// Whether those are messages that were sent.
    pub is_sent: bool,
    /// The first pair that differs.
    pub altered: Option<Altered>,
    /// Whether messages were forgotten, because only one side logs.
    pub is_incomplete: bool,
}

/// What a message in the log of one side is in the log of the other.
pub(super) enum Paired {
    /// Not there yet.
    Ahead,
    /// The same.
    Equal,
    /// Another one: what was sent, and what was received.
    Different(Logged, Logged),
    /// It is not known.
    Unknown,
}

impl Way {
    /// Finds the counterpart of a message.
    pub fn pair(&mut self, own: Logged, is_sent: bool) -> Paired {
        if self.altered.is_some() || self.is_incomplete {
            return Paired::Unknown;
        }
        let other = match self.is_sent == is_sent {
            true => None,
            false => self.ahead.pop_front(),
        };
        let Some(other) = other else {
            self.is_sent = is_sent;
            self.ahead.push_back(own);
            return Paired::Ahead;
        };
        match (other.message == own.message, is_sent) {
            (true, _) => Paired::Equal,
            (false, true) => Paired::Different(own, other),
            (false, false) => Paired::Different(other, own),
        }
    }

    /// Forgets the messages that are ahead, and returns how many these were.
    pub fn clear(&mut self) -> usize {
        std::mem::take(&mut self.ahead).len()
    }

    /// The same for a side that logs alone, whose further messages are not kept either.
    pub fn forget(&mut self) -> usize {
        self.is_incomplete = true;
        self.clear()
    }
}

/// A message in the log of one side.
#[derive(Clone, Copy, Debug)]
pub(super) struct Logged {
    /// The number of its name.
    pub message: u32,
    /// How many messages the log has before it.
    pub position: u32,
    pub place: Place,
    /// The first byte of its line.
    pub byte: u64,
}

/// A message that was not received as it was sent.
#[derive(Debug)]
pub(super) struct Altered {
    pub sent: Logged,
    pub received: Logged,
    /// The line of the receiver.
    pub line: KeptLine,
    /// Whether the line was not kept, because there are too many.
    pub is_counted_only: bool,
}

/// An event that is not allowed.
#[derive(Debug)]
pub(super) struct Wrong {
    pub message: u32,
    pub name: Box<str>,
    pub refusal: Refusal,
    /// The state in which it was logged.
    pub state: u32,
    /// The sender; `None` if the log does not say.
    pub from: Option<Side>,
    pub position: u32,
    pub line: KeptLine,
    /// Whether the line was not kept, because there are too many.
    pub is_counted_only: bool,
}
