//! Text with markup. Only these functions turn other text into it, and they escape.

use askama::filters::HtmlSafe;
use std::fmt;

/// Text with markup, which templates copy as it is.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Html(String);

impl HtmlSafe for Html {}

impl fmt::Display for Html {
    fn fmt(&self, to: &mut fmt::Formatter<'_>) -> fmt::Result {
        to.write_str(&self.0)
    }
}

impl Html {
    /// Plain text.
    pub fn text(text: &str) -> Html {
        let mut html = Html::default();
        html.push(text);
        html
    }

    /// A link within the site.
    pub fn linked(address: &str, text: &str) -> Html {
        let mut html = Html::default();
        html.link(address, text);
        html
    }

    /// Markup that is known to be well formed.
    pub fn markup(markup: String) -> Html {
        Html(markup)
    }

    /// Adds plain text, also as the value of an attribute between double quotes.
    pub fn push(&mut self, text: &str) {
        for letter in text.chars() {
            match letter {
                '&' => self.0.push_str("&amp;"),
                '<' => self.0.push_str("&lt;"),
                '>' => self.0.push_str("&gt;"),
                '"' => self.0.push_str("&quot;"),
                letter if is_unwelcome(letter) => self.0.push(char::REPLACEMENT_CHARACTER),
                letter => self.0.push(letter),
            }
        }
    }

    /// Adds markup that is known to be well formed in this place.
    pub fn mark(&mut self, markup: &str) {
        self.0.push_str(markup);
    }

    /// Adds other markup.
    pub fn add(&mut self, other: &Html) {
        self.0.push_str(&other.0);
    }

    /// Adds a link within the site. On a narrow screen, its name is broken after an underscore or a dot rather than
    /// within a word.
    pub fn link(&mut self, address: &str, text: &str) {
        self.mark("<a href=\"");
        self.push(address);
        self.mark("\">");
        for part in text.split_inclusive(['_', '.']) {
            self.push(part);
            if part.ends_with(['_', '.']) {
                self.mark("<wbr>");
            }
        }
        self.mark("</a>");
    }

    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }
}

/// Whether a character is a control character, or changes the direction of the text around it.
fn is_unwelcome(letter: char) -> bool {
    let turns = "\u{202a}\u{202b}\u{202c}\u{202d}\u{202e}\u{2066}\u{2067}\u{2068}\u{2069}";
    let is_control = letter.is_control() && letter != '\n' && letter != '\t';
    is_control || turns.contains(letter) || matches!(letter, '\u{fffe}' | '\u{ffff}')
}

/// A sentence of ours, in which parts between backticks are code.
pub fn sentence(text: &str) -> Html {
    let mut html = Html::default();
    for (index, part) in text.split('`').enumerate() {
        let is_code = index % 2 == 1;
        if is_code {
            html.mark("<code>");
        }
        html.push(part);
        if is_code {
            html.mark("</code>");
        }
    }
    html
}
