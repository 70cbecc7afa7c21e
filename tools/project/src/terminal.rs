//! Where output goes: the result of a command to standard output, the rest to standard error, colored only if color is wanted.

use crate::{Failure, Outcome};
use anstyle::{AnsiColor, Style};
use duologue::report::RenderOptions;
use std::borrow::Cow;
use std::env;
use std::fmt::Display;
use std::io::{self, IsTerminal, Write};

/// An error.
pub const ERROR: Style = AnsiColor::Red.on_default().bold();
/// A warning.
pub const WARNING: Style = AnsiColor::Yellow.on_default().bold();
/// A success.
pub const GOOD: Style = AnsiColor::Green.on_default().bold();
/// A name that should stand out.
pub const NAME: Style = Style::new().bold();
/// A path or a command.
pub const PATH: Style = AnsiColor::Cyan.on_default();
/// The client's turn.
pub const CLIENT: Style = AnsiColor::Cyan.on_default();
/// The server's turn.
pub const SERVER: Style = AnsiColor::Magenta.on_default();
/// Secondary information.
pub const QUIET: Style = Style::new().dimmed();

/// How to print for the user.
#[derive(Clone, Copy, Debug)]
pub struct Terminal {
    /// With ASCII characters only.
    pub ascii: bool,
    /// Findings only.
    pub quiet: bool,
    /// More than usual.
    pub verbose: bool,
}

impl Terminal {
    /// A terminal that draws with ASCII characters only if that is asked for, or if the locale has no others.
    #[must_use]
    pub fn new(ascii: bool, quiet: bool, verbose: bool) -> Terminal {
        let ascii = ascii || !is_utf8(|name| env::var(name).ok());
        Terminal {
            ascii,
            quiet,
            verbose,
        }
    }

    /// How findings are drawn. Colors are removed from the output if they are not wanted.
    pub fn render_options(&self) -> RenderOptions {
        let mut options = RenderOptions::default();
        options.is_styled = true;
        options.is_unicode = !self.ascii;
        options.has_links = shows_links();
        options
    }

    /// Writes the result of the command.
    pub fn print(&self, text: impl Display) -> Outcome {
        self.print_while_read(text).map(drop)
    }

    /// Like [`Terminal::print`], for a result that is printed again and again. Returns whether somebody reads it.
    pub fn print_while_read(&self, text: impl Display) -> Result<bool, Failure> {
        let mut out = anstream::stdout().lock();
        match write!(out, "{text}").and_then(|()| out.flush()) {
            Err(error) if error.kind() == io::ErrorKind::BrokenPipe => Ok(false),
            written => Ok(written.map(|()| true)?),
        }
    }

    /// Writes a result that is the user's own text, in which nothing may be lost, including control characters. These are
    /// shown as symbols only on a terminal, which would obey them.
    pub fn print_exactly(&self, text: &str) -> Outcome {
        let mut out = io::stdout().lock();
        let text = match out.is_terminal() {
            true => harmless(text),
            false => text.into(),
        };
        let written = out.write_all(text.as_bytes()).and_then(|()| out.flush());
        Ok(unless_unread(written)?)
    }

    /// Writes what accompanies the result, unless `quiet` is set.
    pub fn tell(&self, text: impl Display) -> Outcome {
        match self.quiet {
            true => Ok(()),
            false => self.insist(text),
        }
    }

    /// Writes to standard error even if `quiet` is set.
    pub fn insist(&self, text: impl Display) -> Outcome {
        Ok(unless_unread(write!(anstream::stderr().lock(), "{text}"))?)
    }

    /// Writes an error. If that fails, only the exit code can report it.
    pub fn complain(&self, message: &str) {
        let _ = self.insist(format_args!("{ERROR}error{ERROR:#}: {message}\n"));
    }
}

/// Whether the locale allows other characters than those of ASCII: the first variable that is set decides, and without any it does.
fn is_utf8(variable: impl Fn(&str) -> Option<String>) -> bool {
    let set = ["LC_ALL", "LC_CTYPE", "LANG"]
        .into_iter()
        .filter_map(variable);
    let locale = set
        .map(|text| text.to_ascii_lowercase())
        .find(|text| !text.is_empty());
    locale.is_none_or(|text| text.contains("utf-8") || text.contains("utf8"))
}

/// The result of a write, except that it is not a failure if the reader of the output has closed it, as after `| head -1`: the
/// rest is dropped, and the exit code is not affected.
pub fn unless_unread(written: io::Result<()>) -> io::Result<()> {
    match written {
        Err(error) if error.kind() == io::ErrorKind::BrokenPipe => Ok(()),
        other => other,
    }
}

/// A text in which control characters, except line endings and tabs, are replaced by symbols, and overrides of the text direction
/// are replaced too.
pub fn harmless(text: &str) -> Cow<'_, str> {
    let shown = |letter: char| match letter {
        '\n' | '\t' => letter,
        '\0'..='\u{1f}' => char::from_u32(0x2400 + u32::from(letter)).unwrap_or('?'),
        '\u{7f}' => '\u{2421}',
        '\u{80}'..='\u{9f}'
        | '\u{200e}'..='\u{200f}'
        | '\u{202a}'..='\u{202e}'
        | '\u{2066}'..='\u{2069}' => char::REPLACEMENT_CHARACTER,
        _ => letter,
    };
    if text.chars().all(|letter| shown(letter) == letter) {
        return Cow::Borrowed(text);
    }
    Cow::Owned(text.replace("\r\n", "\n").chars().map(shown).collect())
}

/// A text from anywhere on one line, not longer than names are.
#[must_use]
pub fn brief(text: &str) -> String {
    const MOST: usize = 200;
    let mut brief: String = text.chars().take(MOST).collect();
    if brief.len() < text.len() {
        brief.push_str("...");
    }
    harmless(&brief.replace(['\n', '\r', '\t'], " ")).into_owned()
}

/// `text` in a style.
pub fn styled(style: Style, text: impl Display) -> String {
    format!("{style}{text}{style:#}")
}

/// Whether the terminal is known to show links. `FORCE_HYPERLINK` decides if it is set, as in other programs.
fn shows_links() -> bool {
    if let Some(forced) = env::var_os("FORCE_HYPERLINK") {
        return forced != "0";
    }
    let is_set = |name: &str| env::var_os(name).is_some_and(|value| !value.is_empty());
    let is_one = |name: &str, known: &[&str]| {
        env::var(name).is_ok_and(|value| known.iter().any(|known| value.starts_with(known)))
    };
    let vte = env::var("VTE_VERSION").ok();
    vte.and_then(|version| version.parse().ok())
        .is_some_and(|version: u32| version >= 5000)
        || ["WT_SESSION", "KONSOLE_VERSION", "DOMTERM"]
            .into_iter()
            .any(is_set)
        || is_one(
            "TERM_PROGRAM",
            &["iTerm.app", "WezTerm", "vscode", "ghostty", "Hyper"],
        )
        || is_one(
            "TERM",
            &["xterm-kitty", "xterm-ghostty", "alacritty", "foot"],
        )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_locale_that_is_not_utf_8_has_ascii_alone() {
        let locale = |all: &'static str, language: &'static str| {
            is_utf8(move |name| match name {
                "LC_ALL" => Some(all.to_owned()),
                "LANG" => Some(language.to_owned()),
                _ => None,
            })
        };
        assert!(!locale("C", "de_DE.UTF-8") && !locale("", "POSIX") && !locale("", "en_US"));
        assert!(locale("C.utf8", "C") && locale("", "de_DE.UTF-8") && locale("", ""));
    }

    #[test]
    fn a_terminal_obeys_nothing_in_a_text_of_the_users() {
        let text = "a\u{1b}[31m\tb\u{7}\u{7f}\u{9b}1m\u{202e}\r\nc\rd\n";
        let shown = "a\u{241b}[31m\tb\u{2407}\u{2421}\u{fffd}1m\u{fffd}\nc\u{240d}d\n";
        assert_eq!(harmless(text), shown);
        let plain = "// caf\u{e9}\n\tb\n";
        assert!(matches!(harmless(plain), Cow::Borrowed(same) if same == plain));
    }
}
