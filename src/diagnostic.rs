//! A problem found in a protocol, as a value that is independent of how it is shown.

use crate::source::{Sources, Span};
use std::fmt;

/// The severity of a finding.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Level {
    /// Not shown.
    Allow,
    /// Shown; the run still succeeds.
    Warn,
    /// Shown; the run fails. The level of all errors, and of rules that were set to it.
    Deny,
}

impl Level {
    const ALL: [Level; 3] = [Level::Allow, Level::Warn, Level::Deny];

    /// The word that sets it.
    #[must_use]
    pub fn word(self) -> &'static str {
        match self {
            Level::Allow => "allow",
            Level::Warn => "warn",
            Level::Deny => "deny",
        }
    }

    /// The level that a word sets.
    #[must_use]
    pub fn named(word: &str) -> Option<Level> {
        Level::ALL.into_iter().find(|level| level.word() == word)
    }
}

/// A location with a short text about it.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct Label {
    /// The location.
    pub span: Span,
    /// The text to show there; may be empty.
    pub text: String,
}

impl Label {
    /// A text about a location.
    pub fn new(span: Span, text: impl Into<String>) -> Label {
        let text = text.into();
        Label { span, text }
    }
}

/// A replacement of one range of text.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct Edit {
    /// The range to replace; empty for an insertion.
    pub span: Span,
    /// The new text.
    pub text: String,
}

impl Edit {
    /// The replacement of a range by a text.
    pub fn new(span: Span, text: impl Into<String>) -> Edit {
        let text = text.into();
        Edit { span, text }
    }

    /// Whether the replaced text contains a comment. A `//` in a string counts too; no repair replaces one without review.
    #[must_use]
    pub fn removes_comment(&self, sources: &Sources) -> bool {
        let text = sources.get(self.span.source).text();
        let replaced = text.get(self.span.range()).unwrap_or_default();
        replaced.contains("//") || replaced.contains("/*")
    }

    /// The range to replace: the span, or the whole lines if the edit removes everything on them.
    #[must_use]
    pub fn place(&self, sources: &Sources) -> Span {
        let text = sources.get(self.span.source).text();
        let range = self.span.range();
        let (Some(before), Some(after)) = (text.get(..range.start), text.get(range.end..)) else {
            return self.span;
        };
        let start = before.trim_end_matches([' ', '\t']).len();
        let end = after.trim_start_matches([' ', '\t']);
        let end = text.len() - end.len();
        let is_line_start = start == 0 || text[..start].ends_with('\n');
        let ending = ["\r\n", "\n", ""];
        let ending = ending
            .iter()
            .find(|ending| text[end..].starts_with(**ending));
        let is_line_end = end == text.len() || ending.is_some_and(|ending| !ending.is_empty());
        if !self.text.is_empty() || range.is_empty() || !is_line_start || !is_line_end {
            return self.span;
        }
        // Include the preceding line break, so that what follows is not touched.
        match text[..start].strip_suffix('\n') {
            Some(before) => {
                let before = before.strip_suffix('\r').unwrap_or(before);
                // A blank line that only separated the removed text from something else is removed too.
                let rest = text[end..].trim_start();
                let next = text[end + ending.map_or(0, |ending| ending.len())..]
                    .trim_start_matches([' ', '\t']);
                let is_last = rest.is_empty()
                    || rest.starts_with(['}', ')'])
                    || next.starts_with(['\n', '\r']);
                let trimmed = before.trim_end_matches([' ', '\t', '\r']);
                let start = match trimmed.strip_suffix('\n') {
                    Some(before) if is_last => before.strip_suffix('\r').unwrap_or(before).len(),
                    _ => before.len(),
                };
                Span::new(self.span.source, start, end)
            }
            None => {
                let rest = text[end..].trim_start_matches(['\n', '\r']);
                Span::new(self.span.source, 0, text.len() - rest.len())
            }
        }
    }
}

/// A repair: what to do, in words and, if it is mechanical, also as edits.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct Help {
    /// What to do.
    pub text: String,
    /// The edits that do it; empty if only a person can. All are in one source.
    pub edits: Vec<Edit>,
    /// Whether the edits need no review: what was written has only one reading, a text without errors keeps its meaning, and no
    /// comment is lost. Whether the text becomes better is not known before they are tried.
    pub is_safe: bool,
}

/// A problem, in the user's terms.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct Diagnostic {
    /// The kebab-case name of the rule or error.
    pub rule: &'static str,
    /// The level in force where it was found.
    pub level: Level,
    /// One sentence without a final full stop.
    pub message: String,
    /// The location to repair.
    pub primary: Label,
    /// The name of the innermost protocol, state or message whose attributes set the level, if the finding is in one.
    pub item: Option<Span>,
    /// The other locations involved, possibly in other files.
    pub related: Vec<Label>,
    /// Reasons and background.
    pub notes: Vec<String>,
    /// Repairs.
    pub helps: Vec<Help>,
    /// For a finding about behavior, the shortest dialogue that shows it: one location for each message, in order.
    pub dialogue: Vec<Label>,
}

impl Diagnostic {
    /// An error: it cannot be allowed.
    #[must_use]
    pub fn error(rule: &'static str, span: Span, message: impl Into<String>) -> Diagnostic {
        Diagnostic {
            rule,
            level: Level::Deny,
            message: message.into(),
            primary: Label::new(span, ""),
            item: None,
            related: Vec::new(),
            notes: Vec::new(),
            helps: Vec::new(),
            dialogue: Vec::new(),
        }
    }

    /// An error in the syntax of a text.
    #[must_use]
    pub fn syntax(span: Span, message: impl Into<String>) -> Diagnostic {
        Diagnostic::error("syntax", span, message)
    }

    /// Sets the label of the primary span.
    #[must_use]
    pub fn label(mut self, text: impl Into<String>) -> Diagnostic {
        self.primary.text = text.into();
        self
    }

    /// Adds another location.
    #[must_use]
    pub fn related(mut self, span: Span, text: impl Into<String>) -> Diagnostic {
        self.related.push(Label::new(span, text));
        self
    }

    /// Adds a message to the dialogue that shows the finding.
    #[must_use]
    pub fn step(mut self, span: Span, text: impl Into<String>) -> Diagnostic {
        self.dialogue.push(Label::new(span, text));
        self
    }

    /// Adds a note.
    #[must_use]
    pub fn note(mut self, text: impl Into<String>) -> Diagnostic {
        self.notes.push(text.into());
        self
    }

    /// Adds a repair that is described in words only.
    #[must_use]
    pub fn help(self, text: impl Into<String>) -> Diagnostic {
        self.fix_all(text, [])
    }

    /// Adds a repair that replaces one range of text.
    #[must_use]
    pub fn fix(self, text: impl Into<String>, at: Span, with: impl Into<String>) -> Diagnostic {
        self.fix_all(text, [Edit::new(at, with)])
    }

    /// Adds a repair with several edits.
    #[must_use]
    pub fn fix_all(
        mut self,
        text: impl Into<String>,
        edits: impl IntoIterator<Item = Edit>,
    ) -> Diagnostic {
        self.helps.push(Help {
            text: text.into(),
            edits: edits.into_iter().collect(),
            is_safe: false,
        });
        self
    }

    /// Says of the repair that was added last whether it is safe.
    #[must_use]
    pub fn safe(mut self, is_safe: bool) -> Diagnostic {
        self.helps.iter_mut().last().expect("a repair").is_safe = is_safe;
        self
    }

    /// Adds the repair that replaces an unknown name by the one that was probably meant. If there is none, says what to do instead.
    #[must_use]
    pub fn did_you_mean(
        self,
        span: Span,
        near: Option<&str>,
        otherwise: impl Into<String>,
    ) -> Diagnostic {
        match near {
            Some(near) => self.fix(format!("did you mean `{near}`?"), span, near),
            None => self.help(otherwise),
        }
    }
}

/// A number with its noun: `1 error`, `2 errors`.
#[must_use]
#[doc(hidden)]
pub fn counted(many: impl fmt::Display, thing: &str) -> String {
    let many = many.to_string();
    let plural = if many == "1" { "" } else { "s" };
    format!("{many} {thing}{plural}")
}

/// Names as messages list them: "`a`, `b`".
#[must_use]
#[doc(hidden)]
pub fn quoted(names: impl IntoIterator<Item = impl fmt::Display>) -> String {
    let names = names.into_iter().map(|name| format!("`{name}`"));
    names.collect::<Vec<_>>().join(", ")
}

/// `a`, `a or b`, or `a, b or c`.
#[must_use]
#[doc(hidden)]
pub fn joined(words: &[String], with: &str) -> String {
    match words {
        [] => String::new(),
        [only] => only.clone(),
        [first @ .., last] => format!("{} {with} {last}", first.join(", ")),
    }
}

/// A number of bytes as protocol files write it: `40 B`, `64 KiB`.
#[must_use]
#[doc(hidden)]
pub fn size(bytes: u64) -> String {
    match bytes {
        _ if bytes.is_multiple_of(1 << 20) => format!("{} MiB", bytes >> 20),
        _ if bytes.is_multiple_of(1 << 10) => format!("{} KiB", bytes >> 10),
        _ => format!("{bytes} B"),
    }
}

/// A number of milliseconds as protocol files write it: `1500ms`, `5s`.
#[must_use]
#[doc(hidden)]
pub fn duration(milliseconds: u64) -> String {
    match milliseconds {
        _ if milliseconds.is_multiple_of(3_600_000) => format!("{}h", milliseconds / 3_600_000),
        _ if milliseconds.is_multiple_of(60_000) => format!("{}min", milliseconds / 60_000),
        _ if milliseconds.is_multiple_of(1000) => format!("{}s", milliseconds / 1000),
        _ => format!("{milliseconds}ms"),
    }
}
