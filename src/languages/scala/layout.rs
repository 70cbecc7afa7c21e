//! Line breaks as scalafmt sets them: what fits on one line stays on it; otherwise each part gets a line of its own.

use super::spelling::doc_line;
use crate::languages::layout::{Breaks, Style, WIDTH, spaces};

pub use crate::languages::layout::Document;

/// One item per line. Scala's lists have no comma after the last item.
const fn lines(step: usize) -> Style {
    Style::of(Breaks::Lines {
        step,
        has_last_comma: false,
    })
}

impl Document {
    /// `head(arguments)`.
    pub fn application(head: impl Into<String>, arguments: Vec<Document>) -> Document {
        Document::list(head.into() + "(", arguments, ")", lines(2))
    }

    /// The document at the beginning of a line that is indented by `indent` spaces.
    pub fn at(&self, indent: usize) -> String {
        self.laid_out(indent, indent, 0)
    }
}

/// Whether a text that is indented by `indent` spaces fits on one line.
pub fn fits(indent: usize, text: &str) -> bool {
    indent + text.len() <= WIDTH && !text.contains('\n')
}

/// A class or a trait with what it extends, indented by `indent` spaces.
pub fn extended(head: &str, base: &str, indent: usize) -> String {
    let flat = format!("{head} {base}");
    if fits(indent, &flat) {
        return flat;
    }
    format!("{head}\n{}{base}", spaces(indent + 4))
}

/// A value with its type. A colon directly after a name that ends in `_` would be parsed as part of the name.
pub fn typed(name: &str, ty: &str) -> String {
    let gap = if name.ends_with('_') { " " } else { "" };
    format!("{name}{gap}: {ty}")
}

/// A declaration with its parameters, indented by `indent` spaces: `head(parameters)tail`.
pub fn declaration(head: &str, parameters: &[String], tail: &str, indent: usize) -> String {
    let parameters = parameters.iter().map(Document::word).collect();
    let list = Document::list(format!("{head}("), parameters, ")", lines(4));
    list.laid_out(indent, indent, tail.len()) + tail
}

/// Documentation before a declaration that is indented by `indent` spaces, with a line break at the end; empty if there is none.
pub fn docs<S: AsRef<str>>(lines: &[S], indent: usize) -> String {
    let margin = spaces(indent);
    let mut lines = lines.iter().map(|line| doc_line(line.as_ref()));
    let Some(first) = lines.next() else {
        return String::new();
    };
    let mut text = format!("{margin}/** {first}").trim_end().to_owned();
    let rest: Vec<_> = lines.collect();
    if rest.is_empty() {
        return text + " */\n";
    }
    for line in rest {
        text.push('\n');
        text.push_str(format!("{margin}  * {line}").trim_end());
    }
    format!("{text}\n{margin}  */\n")
}
