//! Line breaks as scalafmt sets them: what fits on one line stays on it; otherwise each part gets a line of its own.

use super::spelling::doc_line;

const WIDTH: usize = 100;

/// A piece of Scala that can be broken after an opening parenthesis.
#[derive(Clone, Debug)]
pub enum Code {
    /// Code that is never broken.
    Word(String),
    /// `head(part, part)`
    Call(String, Vec<Code>),
}

impl Code {
    /// Code that is never broken.
    pub fn word(text: impl Into<String>) -> Code {
        Code::Word(text.into())
    }

    /// The piece, indented by `indent` spaces.
    pub fn at(&self, indent: usize) -> String {
        let flat = self.flat();
        if indent + flat.len() <= WIDTH {
            return flat;
        }
        match self {
            Code::Call(head, parts) if !parts.is_empty() => {
                let parts = parts.iter().map(|part| part.at(indent + 2));
                broken(head, parts, "", indent, 2)
            }
            Code::Word(_) | Code::Call(..) => flat,
        }
    }

    /// The piece on a single line, however long.
    pub fn flat(&self) -> String {
        match self {
            Code::Word(text) => text.clone(),
            Code::Call(head, parts) => {
                let parts: Vec<String> = parts.iter().map(Code::flat).collect();
                format!("{head}({})", parts.join(", "))
            }
        }
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
    format!("{head}\n{}{base}", " ".repeat(indent + 4))
}

/// A value with its type. A colon directly after a name that ends in `_` would be parsed as part of the name.
pub fn typed(name: &str, ty: &str) -> String {
    let gap = if name.ends_with('_') { " " } else { "" };
    format!("{name}{gap}: {ty}")
}

/// A declaration with its parameters, indented by `indent` spaces: `head(parameters)tail`.
pub fn declaration(head: &str, parameters: &[String], tail: &str, indent: usize) -> String {
    let flat = format!("{head}({}){tail}", parameters.join(", "));
    if indent + flat.len() <= WIDTH || parameters.is_empty() {
        return flat;
    }
    broken(head, parameters.iter().cloned(), tail, indent, 4)
}

fn broken(
    head: &str,
    parts: impl Iterator<Item = String>,
    tail: &str,
    indent: usize,
    step: usize,
) -> String {
    let deep = " ".repeat(indent + step);
    let parts: Vec<String> = parts.map(|part| format!("{deep}{part}")).collect();
    format!(
        "{head}(\n{}\n{}){tail}",
        parts.join(",\n"),
        " ".repeat(indent)
    )
}

/// Documentation before a declaration that is indented by `indent` spaces, with a line break at the end; empty if there is none.
pub fn docs<S: AsRef<str>>(lines: &[S], indent: usize) -> String {
    let margin = " ".repeat(indent);
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
