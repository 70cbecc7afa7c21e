//! The sessions of a program as lines: one for each deadlock and each session, and more about one on request. Their texts are the
//! program's.

use crate::terminal::{ERROR, NAME, brief, harmless};
use anstyle::Style;
use duologue::report::counted;
use duologue_peers::top::{Deadlock, Document, Session, Side};

/// A line whose beginning stands out, and more about it.
pub struct Entry {
    style: Style,
    mark: String,
    rest: String,
    pub details: Vec<String>,
}

impl Entry {
    /// As much of the line as fits into some columns.
    pub fn line(&self, columns: usize) -> String {
        let mark: String = self.mark.chars().take(columns).collect();
        let left = columns - mark.chars().count();
        let rest: String = self.rest.chars().take(left).collect();
        format!("{}{mark}{:#}{rest}", self.style, self.style)
    }
}

/// What there is at a glance.
pub fn head(source: &str, document: &Document, deadlocks: usize) -> String {
    let waits = |one: &&Session| one.sides.iter().any(|side| side.waits.is_some());
    // What matters most comes first, because a terminal may be narrow.
    format!(
        "{}, {}, {} with a side that waits: {}, process {}, {}",
        counted(deadlocks, "deadlock"),
        counted(document.sessions.len(), "session"),
        document.sessions.iter().filter(waits).count(),
        brief(&document.language),
        document.process,
        harmless(source),
    )
}

/// What the program could not say.
pub fn missing(document: &Document) -> Option<String> {
    (document.missing > 0).then(|| {
        format!(
            "not complete: the registry has no place for some sessions, which were used {} times; deadlocks with them are not found",
            document.missing
        )
    })
}

fn seconds(milliseconds: u64) -> String {
    let tenths = milliseconds / 100;
    format!("{}.{} s", tenths / 10, tenths % 10)
}

fn state(state: Option<&str>) -> String {
    state.map_or("the end".to_owned(), brief)
}

/// A deadlock, with the first `most` of those that wait for each other.
pub fn deadlock(deadlock: &Deadlock, most: usize) -> Entry {
    let waits = &deadlock.waits;
    let more = waits.len().saturating_sub(most);
    let owners = waits.iter().take(most).map(|one| brief(&one.owner));
    let cut = (more > 0).then(|| format!("{more} more"));
    let first = waits.first().map(|one| brief(&one.owner));
    let owners: Vec<String> = owners.chain(cut).chain(first).collect();
    let details = waits.iter().take(most).map(|one| {
        format!(
            "{} waits {} in session #{} as its {}, in {}, for {}",
            brief(&one.owner),
            seconds(one.waits),
            brief(&one.session),
            brief(&one.side),
            state(one.state.as_deref()),
            brief(&one.awaited),
        )
    });
    Entry {
        style: ERROR,
        mark: "deadlock".to_owned(),
        rest: format!(": {}", owners.join(" -> ")),
        details: details.collect(),
    }
}

/// Sessions as a table with a title.
pub fn sessions(list: &[Session]) -> (String, Vec<Entry>) {
    let titles = ["session", "state", "turn", "waits", "messages"];
    let cells = list.iter().map(|session| {
        let state = match &session.state {
            Some(state) => brief(state),
            None => format!("{}, over", brief(&session.protocol)),
        };
        let number = format!("#{}", brief(&session.session));
        let (waits, messages) = (seconds(session.waits), session.messages.to_string());
        [number, state, brief(&session.turn), waits, messages]
    });
    let cells: Vec<[String; 5]> = cells.collect();
    let mut widths = titles.map(str::len);
    for row in &cells {
        for (width, cell) in widths.iter_mut().zip(row) {
            *width = cell.chars().count().max(*width);
        }
    }
    let [one, two, three, four, five] = widths;
    let rows = cells.iter().zip(list);
    let rows = rows.map(|([number, state, turn, waits, messages], session)| Entry {
        style: NAME,
        mark: format!("{number:one$}  {state:two$}"),
        rest: format!(
            "  {turn:three$}  {waits:>four$}  {messages:>five$}{}",
            owners(session)
        ),
        details: session.sides.iter().take(2).map(side).collect(),
    });
    let [session, state, turn, waits, messages] = titles;
    let title = format!(
        "{session:one$}  {state:two$}  {turn:three$}  {waits:>four$}  {messages:>five$}  client | server"
    );
    (title, rows.collect())
}

/// Who has the two sides, and who waits.
fn owners(session: &Session) -> String {
    let owner = |side: &Side| {
        let owner = side.owner.as_deref();
        let owner = owner.map_or("not used yet".to_owned(), brief);
        match (side.left, side.waits) {
            (true, _) => owner + " has left",
            (false, Some(_)) => owner + " waits",
            (false, None) => owner,
        }
    };
    match &session.sides[..] {
        [first, second] => format!("  {} | {}", owner(first), owner(second)),
        _ => String::new(),
    }
}

fn side(side: &Side) -> String {
    let owner = side.owner.as_deref();
    let owner = owner.map_or("not used yet".to_owned(), brief);
    let place = format!("{} in {}", brief(&side.side), state(side.state.as_deref()));
    match (side.left, side.waits) {
        (true, _) => format!("{place}: {owner} has left"),
        (false, waits) => {
            let what = match side.awaits.as_deref() {
                Some("space") => "space",
                _ => "a message",
            };
            let waits = waits.map(|waits| format!(" waits {} for {what}", seconds(waits)));
            let waits = waits.unwrap_or_default();
            format!(
                "{place}: {owner}{waits}, {} in flight to it",
                side.in_flight
            )
        }
    }
}
