//! Takes events one after another, and checks that each session follows its protocol.
//!
//! The memory it uses grows with the sessions that are open, not with the length of the logs. The order of events is that of their
//! lines; the lines of the two sides' logs are compared by their order in each direction alone, so clocks play no role.

use super::blame::{self, Finding};
use super::counts::Counts;
use super::event::{Event, Kind};
use super::session::{
    Altered, KeptLine, Line, Logged, NEITHER, Pair, Paired, Session, View, Way, Wrong, index, shown,
};
use super::table::{OVER, Refusal, Tables};
use std::collections::{HashMap, VecDeque};
use std::sync::Arc;

/// How many findings are kept in full; the rest is counted.
pub const FINDING_LIMIT: usize = 1000;

/// How many sessions that are over are remembered, to recognize events after their end.
const REMEMBERED: usize = 1 << 16;

/// How many messages the log of one side of a session may be ahead of the other.
pub const AHEAD_LIMIT: usize = 1 << 16;
/// The same for all sessions together.
pub const ALL_AHEAD_LIMIT: usize = 1 << 22;

/// How sessions are checked.
#[derive(Clone, Copy, Debug)]
pub struct Options {
    /// How many sessions may be open at once.
    pub sessions: usize,
    /// Whether the logs are those of both sides.
    pub has_both: bool,
    /// Whether findings are wanted as soon as possible, instead of at the end.
    pub is_online: bool,
}

/// Why checking cannot go on.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Stop {
    /// More sessions are open than may be.
    Sessions,
    /// The logs of the two sides are too far apart.
    Apart,
}

/// Checks events.
#[derive(Debug)]
pub struct Checker<'t, 'p> {
    tables: &'t Tables<'p>,
    options: Options,
    sessions: HashMap<Arc<str>, Session>,
    /// Sessions that are over, the oldest first.
    remembered: VecDeque<Arc<str>>,
    /// How many of the sessions are over.
    closed: usize,
    /// How many sessions there were.
    number: u64,
    /// How many messages of all sessions are in the log of one side alone.
    ahead: usize,
    /// Whether there was a session that both sides log.
    has_both: bool,
    /// How many lines are kept for findings.
    kept: usize,
    /// How many lines could not be read.
    unread: u64,
    /// How many lines without an event that the mapping names there were of sessions that have had none yet.
    early: HashMap<Arc<str>, u64>,
    found: Vec<Finding>,
    /// How many findings there are beyond those that are kept.
    uncounted: u64,
    counts: Vec<Counts>,
}

impl<'t, 'p> Checker<'t, 'p> {
    /// A checker that has seen no events.
    #[must_use]
    pub fn new(tables: &'t Tables<'p>, options: Options) -> Checker<'t, 'p> {
        let counts = tables.list().iter().map(|table| Counts {
            covered: vec![false; table.transitions()],
            open: vec![(0, None); table.protocol.states.len()],
            ..Counts::default()
        });
        Checker {
            tables,
            options,
            sessions: HashMap::new(),
            remembered: VecDeque::new(),
            closed: 0,
            number: 0,
            ahead: 0,
            has_both: false,
            kept: 0,
            unread: 0,
            early: HashMap::new(),
            found: Vec::new(),
            uncounted: 0,
            counts: counts.collect(),
        }
    }

    /// Takes a line that cannot be read.
    pub fn unreadable(&mut self, line: &Line<'_>, message: String, byte: Option<usize>) {
        self.unread += 1;
        if !self.keeps() {
            self.uncounted += 1;
            return;
        }
        let at = byte.filter(|byte| *byte < line.text.len());
        let marked = at.map_or(0..line.text.len(), |at| at..at + 1);
        let line = KeptLine::of(line, marked);
        self.found.push(Finding::unreadable(line, &message));
    }

    /// Whether another finding is kept.
    fn keeps(&mut self) -> bool {
        let keeps = self.kept < FINDING_LIMIT;
        self.kept += usize::from(keeps);
        keeps
    }

    /// Takes the next event.
    ///
    /// # Errors
    /// Why no more can be taken.
    pub fn take(&mut self, event: &Event<'_>, line: &Line<'_>) -> Result<(), Stop> {
        if event.kind == Kind::Unnamed {
            return self.unnamed(&event.session);
        }
        let known = match self.sessions.get_mut(event.session.as_ref()) {
            Some(session) => session,
            None => match self.tables.find(event.protocol.as_deref()) {
                Ok(protocol) => {
                    if self.sessions.len() - self.closed >= self.options.sessions {
                        return Err(Stop::Sessions);
                    }
                    let start = self.tables.get(protocol).start();
                    let mut session = Session::new(protocol, self.number, start, self.unread);
                    self.number += 1;
                    let counts = &mut self.counts[protocol as usize];
                    counts.sessions += 1;
                    session.unnamed = self.early.remove(event.session.as_ref()).unwrap_or(0);
                    counts.unnamed += session.unnamed;
                    let key = Arc::from(event.session.as_ref());
                    self.sessions.entry(key).or_insert(session)
                }
                Err(message) => {
                    self.unreadable(line, message, None);
                    return Ok(());
                }
            },
        };
        let protocol = known.protocol;
        if let Some(name) = event.protocol.as_deref()
            && !self.tables.is(name, protocol)
        {
            let own = &self.tables.get(protocol).name;
            let message =
                format!("the session began with the protocol `{own}`, and this is `{name}`");
            self.unreadable(line, message, None);
            return Ok(());
        }
        let view = event.at.map_or(NEITHER, index);
        let is_new = !std::mem::replace(&mut known.views[view].is_seen, true);
        if is_new && known.has_both() {
            self.has_both = true;
            let pair = known.pair.get_or_insert_default();
            if pair.ways.iter().any(|way| way.is_incomplete) {
                return Err(Stop::Apart);
            }
        }
        if known.views[view].is_wrong {
            return Ok(());
        }
        known.views[view].last = line.place;
        match event.kind {
            Kind::Message => self.message(event, view, line)?,
            Kind::Left => known.views[view].left = known.views[view].left.or(event.from),
            Kind::Ended => known.views[view].has_ended = true,
            Kind::Unnamed => {}
        }
        self.settle(&event.session);
        Ok(())
    }

    /// Takes a line of a session that has no event that the mapping names. After the end of the session it says nothing.
    fn unnamed(&mut self, id: &str) -> Result<(), Stop> {
        if let Some(session) = self.sessions.get_mut(id) {
            let lines = u64::from(!session.is_closed);
            session.unnamed += lines;
            self.counts[session.protocol as usize].unnamed += lines;
        } else if let Some(lines) = self.early.get_mut(id) {
            *lines += 1;
        } else if self.early.len() < self.options.sessions {
            self.early.insert(Arc::from(id), 1);
        } else {
            return Err(Stop::Sessions);
        }
        Ok(())
    }

    fn message(&mut self, event: &Event<'_>, at: usize, line: &Line<'_>) -> Result<(), Stop> {
        let keeps = self.kept < FINDING_LIMIT;
        let session = self.sessions.get_mut(event.session.as_ref());
        let session = session.expect("the caller has found or added it");
        let table = self.tables.get(session.protocol);
        let counts = &mut self.counts[session.protocol as usize];
        counts.messages += 1;
        let message = table.number(&event.message);
        let view = &mut session.views[at];
        let position = view.count;
        view.count = view.count.saturating_add(1);
        let from = event.from;
        let has_left =
            view.has_ended || view.left.is_some() && (view.left == from || from.is_none());
        let stepped = match has_left && view.state != OVER {
            true => Err(Refusal::Left),
            false => table.step(view.state, message, from),
        };
        let mut wrong = None;
        match stepped {
            Ok(transition) => {
                counts.covered[transition.number] = true;
                view.state = transition.next;
            }
            Err(refusal) => {
                view.is_wrong = true;
                let kept = match keeps {
                    true => KeptLine::of(line, event.place(line.text)),
                    false => KeptLine::at(line.place, line.byte),
                };
                self.kept += usize::from(keeps);
                wrong = Some(Wrong {
                    message,
                    name: shown(&event.message).into(),
                    refusal,
                    state: view.state,
                    from,
                    position,
                    line: kept,
                    is_counted_only: !keeps,
                });
            }
        }
        let (Some(from), true) = (from, at != NEITHER) else {
            if let Some(wrong) = wrong {
                self.closed -= usize::from(counts.reopen(session));
                let found = blame::seen(table, &event.session, &wrong);
                let gap = session.gap(self.unread, position == 0);
                let found = counts.judged(found, gap);
                self.report(found, wrong.is_counted_only);
            }
            return Ok(());
        };
        let has_both = session.has_both();
        let pair = session.pair.get_or_insert_default();
        if wrong.is_some() {
            pair.wrong[at] = wrong;
        }
        let own = Logged {
            message,
            position,
            place: line.place,
            byte: line.byte,
        };
        let is_sent = index(from) == at;
        let way = &mut pair.ways[index(from)];
        match way.pair(own, is_sent) {
            Paired::Equal => self.ahead -= 1,
            Paired::Unknown => {}
            Paired::Ahead => {
                self.ahead += 1;
                let is_far = self.ahead > ALL_AHEAD_LIMIT;
                if way.ahead.len() > AHEAD_LIMIT || is_far {
                    if has_both || self.has_both && is_far {
                        return Err(Stop::Apart);
                    }
                    self.ahead -= way.forget();
                }
            }
            Paired::Different(sent, received) => {
                self.ahead -= 1 + way.clear();
                let keeps = self.kept < FINDING_LIMIT;
                self.kept += usize::from(keeps);
                let line = match keeps && !is_sent {
                    true => KeptLine::whole(line),
                    // The line came earlier; its text may be read again.
                    false => KeptLine::at(received.place, received.byte),
                };
                way.altered = Some(Altered {
                    sent,
                    received,
                    line,
                    is_counted_only: !keeps,
                });
            }
        }
        Ok(())
    }

    /// Closes the session if nothing more is expected, and reports what is certain about it.
    fn settle(&mut self, id: &str) {
        let Some(session) = self.sessions.get_mut(id) else {
            return;
        };
        if session.pair.as_deref().is_some_and(is_suspect) {
            // It is judged later, and must not be forgotten.
            let counts = &mut self.counts[session.protocol as usize];
            self.closed -= usize::from(counts.reopen(session));
            if self.options.is_online {
                self.judge(id, false);
            }
            return;
        }
        if session.is_closed || session.views[NEITHER].is_wrong {
            return;
        }
        let mut seen = session.views.iter().filter(|view| view.is_seen);
        let is_complete =
            session.has_both() || session.views[NEITHER].is_seen || !self.options.has_both;
        if !is_complete || !seen.all(View::is_done) {
            return;
        }
        if session.has_both() && session.pair.as_deref().is_some_and(is_unsent) {
            self.judge(id, true);
            return;
        }
        self.counts[session.protocol as usize].close(session);
        let (key, _) = self.sessions.get_key_value(id).expect("it was just found");
        self.remembered.push_back(Arc::clone(key));
        self.closed += 1;
        if self.remembered.len() > REMEMBERED
            && let Some(oldest) = self.remembered.pop_front()
            // An event after the end has opened it again.
            && self.sessions.get(&oldest).is_some_and(|session| session.is_closed)
        {
            self.closed -= 1;
            let session = self.sessions.remove(&oldest);
            for way in session
                .iter()
                .filter_map(|session| session.pair.as_deref())
                .flat_map(|pair| &pair.ways)
            {
                self.ahead -= way.ahead.len();
            }
        }
    }

    /// Reports the first wrong event of a session whose sides log, if it is certain or there are no more events.
    fn judge(&mut self, id: &str, is_final: bool) {
        let Some(session) = self.sessions.get_mut(id) else {
            return;
        };
        let table = self.tables.get(session.protocol);
        let Some((found, is_counted_only)) = blame::judge(table, id, session, is_final) else {
            return;
        };
        for view in &mut session.views {
            view.is_wrong = true;
        }
        let counts = &mut self.counts[session.protocol as usize];
        let is_first = session.views.iter().any(|view| view.count == 1);
        let found = counts.judged(found, session.gap(self.unread, is_first));
        self.closed -= usize::from(counts.reopen(session));
        if let Some(pair) = session.pair.take() {
            let ahead: usize = pair.ways.iter().map(|way| way.ahead.len()).sum();
            self.ahead -= ahead;
        }
        let is_counted_only = is_counted_only.unwrap_or_else(|| !self.keeps());
        self.report(found, is_counted_only);
    }

    fn report(&mut self, found: Finding, is_counted_only: bool) {
        match is_counted_only {
            true => self.uncounted += u64::from(!found.is_partial()),
            false => self.found.push(found),
        }
    }

    /// The findings since the last call.
    pub fn findings(&mut self) -> Vec<Finding> {
        let found = std::mem::take(&mut self.found);
        self.kept = self.kept.saturating_sub(found.len());
        found
    }

    /// How many sessions are open.
    #[must_use]
    pub fn open(&self) -> usize {
        self.sessions.len() - self.closed
    }

    /// The remaining findings in the order of their lines, how many more there are, and what each protocol's sessions were, when
    /// there are no more events.
    #[must_use]
    pub fn finish(mut self) -> (Vec<Finding>, u64, Vec<Counts>) {
        let suspects = self.sessions.iter().filter(|(_, session)| {
            let pair = session.pair.as_deref();
            pair.is_some_and(|pair| is_suspect(pair) || session.has_both() && is_unsent(pair))
        });
        let mut suspects: Vec<(u64, Arc<str>)> = suspects
            .map(|(id, session)| (session.number, Arc::clone(id)))
            .collect();
        suspects.sort();
        for (_, id) in suspects {
            self.judge(&id, true);
        }
        let mut sessions: Vec<_> = std::mem::take(&mut self.sessions).into_iter().collect();
        sessions.sort_by_key(|(_, session)| session.number);
        for (id, session) in sessions {
            let is_wrong = session.views.iter().any(|view| view.is_wrong);
            if session.is_closed || is_wrong {
                continue;
            }
            let counts = &mut self.counts[session.protocol as usize];
            let view = session.farthest();
            match counts.open.get_mut(view.state as usize) {
                // Only the other side's log does not reach the end.
                None => counts.finished += 1,
                Some(_) if view.is_done() => counts.left += 1,
                Some((count, first)) => {
                    counts.unfinished += 1;
                    *count += 1;
                    first.get_or_insert((id, view.last));
                }
            }
        }
        self.found.sort_by_key(|found| found.line.place);
        (self.found, self.uncounted, self.counts)
    }
}

fn is_suspect(pair: &Pair) -> bool {
    let is_altered = |way: &Way| way.altered.is_some();
    pair.wrong.iter().any(Option::is_some) || pair.ways.iter().any(is_altered)
}

/// Whether a message was received that the other side has not sent.
fn is_unsent(pair: &Pair) -> bool {
    let mut ways = pair.ways.iter();
    ways.any(|way| !way.is_incomplete && !way.is_sent && !way.ahead.is_empty())
}
