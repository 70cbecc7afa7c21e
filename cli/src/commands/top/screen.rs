//! The sessions on a terminal: what fits, with the deadlocks always in sight, and one entry of which more can be shown.

use super::lines::{Entry, deadlock, head, missing, sessions};
use duologue_peers::top::{Deadlock, Document};
use std::ops::Range;

/// At most this many of those that wait for each other are listed.
const WAITS: usize = 20;

/// A key that was pressed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Key {
    Quit,
    Up,
    Down,
    PageUp,
    PageDown,
    Open,
}

/// Takes the keys out of what a terminal sends. Others are skipped; one of which a part has not arrived is left.
pub fn keys(bytes: &mut Vec<u8>) -> Vec<Key> {
    let mut keys = Vec::new();
    let mut rest = &bytes[..];
    while let Some((first, after)) = rest.split_first() {
        let (key, length) = match (first, after) {
            (b'q' | b'Q' | 3, _) => (Some(Key::Quit), 1),
            (b'k', _) => (Some(Key::Up), 1),
            (b'j', _) => (Some(Key::Down), 1),
            (b'\r' | b'\n' | b' ', _) => (Some(Key::Open), 1),
            (27, [] | [b'[' | b'O'] | [b'[', b'5' | b'6']) => break,
            (27, [b'[' | b'O', b'A', ..]) => (Some(Key::Up), 3),
            (27, [b'[' | b'O', b'B', ..]) => (Some(Key::Down), 3),
            (27, [b'[', b'5', b'~', ..]) => (Some(Key::PageUp), 4),
            (27, [b'[', b'6', b'~', ..]) => (Some(Key::PageDown), 4),
            _ => (None, 1),
        };
        keys.extend(key);
        rest = &rest[length..];
    }
    *bytes = rest.to_vec();
    keys
}

/// What is shown, and which entry is selected.
pub struct Screen {
    source: String,
    document: Document,
    deadlocks: Vec<Deadlock>,
    /// Why the newest sessions could not be read.
    trouble: Option<String>,
    /// The position of the selected entry: first the deadlocks, then the sessions.
    selected: usize,
    /// Whether more is shown about it.
    is_open: bool,
}

impl Screen {
    pub fn new(source: &str, document: Document, deadlocks: Vec<Deadlock>) -> Screen {
        Screen {
            source: source.to_owned(),
            document,
            deadlocks,
            trouble: None,
            selected: 0,
            is_open: false,
        }
    }

    /// Shows newer sessions. The same one stays selected, if it is still there.
    pub fn update(&mut self, document: Document, deadlocks: Vec<Deadlock>) {
        let session = self.selected.checked_sub(self.deadlocks.len());
        let name = session.and_then(|at| self.document.sessions.get(at));
        let name = name.map(|session| session.session.clone());
        let same = |name: String| {
            let mut sessions = document.sessions.iter();
            sessions.position(|session| session.session == name)
        };
        let found = name.and_then(same);
        self.selected = match (found, session) {
            (Some(at), _) | (None, Some(at)) => deadlocks.len() + at,
            (None, None) => self.selected,
        };
        (self.document, self.deadlocks, self.trouble) = (document, deadlocks, None);
        self.select(self.selected);
    }

    /// Says why there are no newer sessions.
    pub fn trouble(&mut self, why: String) {
        self.trouble = Some(why);
    }

    fn select(&mut self, at: usize) {
        let all = self.deadlocks.len() + self.document.sessions.len();
        self.selected = at.min(all.saturating_sub(1));
    }

    /// Does what a key asks for. Returns whether the screen stays.
    pub fn press(&mut self, key: Key, rows: usize) -> bool {
        match key {
            Key::Quit => return false,
            Key::Up => self.select(self.selected.saturating_sub(1)),
            Key::Down => self.select(self.selected + 1),
            Key::PageUp => self.select(self.selected.saturating_sub(rows / 2)),
            Key::PageDown => self.select(self.selected + rows / 2),
            Key::Open => self.is_open = !self.is_open,
        }
        true
    }

    /// The lines for a terminal of this size, at most one for each row.
    pub fn frame(&self, columns: usize, rows: usize) -> Vec<String> {
        let cut = |text: String| text.chars().take(columns).collect::<String>();
        let mut lines = vec![cut(head(
            &self.source,
            &self.document,
            self.deadlocks.len(),
        ))];
        lines.extend(missing(&self.document).map(cut));
        lines.extend(self.trouble.clone().map(cut));
        let (deadlocks, list) = (self.deadlocks.len(), &self.document.sessions);
        // The title and the last line.
        let free = rows.saturating_sub(lines.len() + 2);
        let selected = (self.selected < deadlocks).then_some(self.selected);
        let entry = |at: usize| deadlock(&self.deadlocks[at], WAITS);
        let details = selected.map_or(0, |at| self.details(&entry(at), columns).len());
        let budget = match list.is_empty() {
            true => free,
            false => (deadlocks + details).min((free / 2).max(1)),
        };
        let shown = window(deadlocks, selected, details, budget);
        let entries: Vec<Entry> = shown.clone().map(entry).collect();
        let selected = selected.and_then(|at| at.checked_sub(shown.start));
        self.add(&mut lines, &entries, selected, columns, budget);
        let used = lines.len();

        let selected = self.selected.checked_sub(deadlocks);
        let selected = selected.filter(|at| *at < list.len());
        let free = rows.saturating_sub(used + 2);
        let own = selected.map(|at| sessions(&list[at..=at]).1);
        let own = own.iter().flatten().next();
        let details = own.map_or(0, |entry| self.details(entry, columns).len());
        let shown = window(list.len(), selected, details, free);
        let (title, entries) = sessions(&list[shown.clone()]);
        if !entries.is_empty() {
            lines.push(cut(format!("  {title}")));
        }
        let selected = selected.and_then(|at| at.checked_sub(shown.start));
        self.add(&mut lines, &entries, selected, columns, free);
        lines.truncate(rows.saturating_sub(1));
        let place = match shown.is_empty() {
            true => String::new(),
            false => format!(
                "  {}-{} of {} sessions",
                shown.start + 1,
                shown.end,
                list.len()
            ),
        };
        lines.push(cut(format!(
            "q quits, arrows select, Enter shows more{place}"
        )));
        lines
    }

    /// The lines that are shown about the selected entry.
    fn details(&self, entry: &Entry, columns: usize) -> Vec<String> {
        let details = entry.details.iter().filter(|_| self.is_open);
        details.flat_map(|text| wrapped(text, columns)).collect()
    }

    /// Adds entries with a mark at the selected one, in at most `most` lines.
    fn add(
        &self,
        lines: &mut Vec<String>,
        entries: &[Entry],
        selected: Option<usize>,
        columns: usize,
        most: usize,
    ) {
        let start = lines.len();
        for (at, entry) in entries.iter().enumerate() {
            let is_selected = selected == Some(at);
            let mark = if is_selected { "> " } else { "  " };
            let mark: String = mark.chars().take(columns).collect();
            lines.push(mark + &entry.line(columns.saturating_sub(2)));
            if is_selected {
                lines.extend(self.details(entry, columns));
            }
        }
        lines.truncate(start + most);
    }
}

/// A text in lines of some columns, indented. Words that are longer are cut.
fn wrapped(text: &str, columns: usize) -> Vec<String> {
    const INDENT: usize = 6;
    let mut lines: Vec<String> = Vec::new();
    for word in text.split(' ') {
        let length = |text: &str| text.chars().count();
        match lines.last_mut() {
            Some(line) if length(line) + 1 + length(word) <= columns => {
                line.push(' ');
                line.push_str(word);
            }
            Some(_) => lines.push(" ".repeat(INDENT + 2) + word),
            None => lines.push(" ".repeat(INDENT) + word),
        }
    }
    let cut = |line: String| line.chars().take(columns).collect();
    lines.into_iter().map(cut).collect()
}

/// Which of some entries are shown in `budget` lines: those around the selected one, about which there are `details` more lines.
fn window(count: usize, selected: Option<usize>, details: usize, budget: usize) -> Range<usize> {
    let height = budget.saturating_sub(details).max(1).min(budget);
    let start = selected.map_or(0, |at| (at + 1).saturating_sub(height));
    start.min(count)..(start + height).min(count)
}

#[cfg(test)]
mod tests {
    use super::*;
    use duologue_peers::top::deadlocks;

    /// So many sessions, each of a thread and the next one, and a circle of the first two threads.
    fn screen(count: usize) -> Screen {
        let session = |number: usize| {
            let next = match number {
                1 => 0,
                number => number + 1,
            };
            let waits = if number < 2 { "500" } else { "null" };
            format!(
                "{{\"session\":\"{number}\",\"protocol\":\"bank\",\"state\":\"bank.login\",\"turn\":\"client\",\"waits\":{},\"sides\":[\
                 {{\"side\":\"client\",\"owner\":\"thread {number}\",\"waits\":{waits},\"for\":\"message\"}},{{\"side\":\"server\",\"owner\":\"thread {next}\"}}]}}",
                1000 - number
            )
        };
        let list: Vec<String> = (0..count).map(session).collect();
        let text = format!(
            "{{\"format\":1,\"language\":\"rust\",\"sessions\":[{}]}}",
            list.join(",")
        );
        let document: Document = serde_json::from_str(&text).expect("a document");
        let found = deadlocks(&document.sessions);
        Screen::new("unix:a.top", document, found)
    }

    fn plain(lines: &[String]) -> Vec<String> {
        let lines = lines.iter();
        lines
            .map(|line| anstream::adapter::strip_str(line).to_string())
            .collect()
    }

    #[test]
    fn every_frame_fits_and_has_the_deadlock_and_the_selected_session() {
        for (columns, rows) in [(80, 24), (40, 10), (200, 60), (20, 5), (1, 1), (0, 0)] {
            let mut screen = screen(100);
            for (pressed, key) in [
                Key::Down,
                Key::PageDown,
                Key::Open,
                Key::Down,
                Key::PageUp,
                Key::Up,
            ]
            .iter()
            .cycle()
            .take(200)
            .enumerate()
            {
                let lines = plain(&screen.frame(columns, rows));
                assert!(lines.len() <= rows.max(1), "{columns}x{rows}: {lines:#?}");
                assert!(
                    lines.iter().all(|line| line.chars().count() <= columns),
                    "{lines:#?}"
                );
                if rows >= 5 && columns >= 20 {
                    let has = |start: &str| lines.iter().any(|line| line.starts_with(start));
                    assert!(
                        has("  deadlock") || has("> deadlock"),
                        "{pressed}: {lines:#?}"
                    );
                    assert!(has("> "), "{pressed}: {lines:#?}");
                }
                screen.press(*key, rows);
            }
        }
    }

    #[test]
    fn details_are_shown_on_request_and_stay_with_their_session() {
        let mut screen = screen(3);
        let has = |screen: &Screen, text: &str| {
            let lines = plain(&screen.frame(80, 24));
            lines.iter().any(|line| line.contains(text))
        };
        assert!(!has(&screen, "waits 0.5 s in session"));
        screen.press(Key::Open, 24);
        assert!(has(
            &screen,
            "thread 0 waits 0.5 s in session #0 as its client"
        ));
        for _ in 0..3 {
            screen.press(Key::Down, 24);
        }
        assert!(
            has(&screen, "> #2") && has(&screen, "server in the end: thread 3, 0 in flight to it")
        );
        let newer = self::screen(2);
        screen.update(newer.document, newer.deadlocks);
        assert!(has(&screen, "> #1"), "it is gone");
        let newer = self::screen(3);
        screen.update(newer.document, Vec::new());
        assert!(has(&screen, "> #1") && has(&screen, "0 deadlocks"));
        assert!(!screen.press(Key::Quit, 24));
    }

    #[test]
    fn keys_are_found_in_what_a_terminal_sends() {
        let all = b"\x1b[A\x1bOBx\rk\x1b[5~\x1b[6~\x1b[3~j q";
        let expected = [
            Key::Up,
            Key::Down,
            Key::Open,
            Key::Up,
            Key::PageUp,
            Key::PageDown,
            Key::Down,
            Key::Open,
            Key::Quit,
        ];
        // Wherever it is cut into two parts.
        for at in 0..=all.len() {
            let mut bytes = all[..at].to_vec();
            let mut found = keys(&mut bytes);
            bytes.extend(&all[at..]);
            found.extend(keys(&mut bytes));
            assert_eq!(found, expected, "{at}");
        }
        assert_eq!(keys(&mut vec![3]), [Key::Quit]);
    }
}
