//! How generated code is broken into lines, as far as the targets share it. A document is a text, or a list of documents together
//! with how it is broken if it does not fit on one line. Each target lays out its documents as the formatter of its language would.

/// Lines are at most this long, in every language.
pub const WIDTH: usize = 100;

/// Code that may be broken across lines.
#[derive(Clone, Debug)]
pub enum Document {
    /// Text that cannot be broken.
    Word(String),
    /// Items separated by commas, between brackets.
    List(List),
    /// `name: value`
    Field(String, Box<Document>),
}

/// A list of documents.
#[derive(Clone, Debug)]
pub struct List {
    /// What comes before the first item, with the opening bracket.
    open: String,
    items: Vec<Document>,
    /// What comes after the last item.
    close: String,
    style: Style,
}

/// How a list is laid out.
#[derive(Clone, Copy, Debug)]
pub struct Style {
    /// How many columns the items may take on one line, wherever that line begins.
    pub most: usize,
    /// What happens to a list that does not fit.
    pub breaks: Breaks,
    /// Whether an only item that begins with a bracket stays on the line of the list's own bracket, and is broken instead of it.
    pub hugs: bool,
}

/// How a list is broken.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Breaks {
    /// One item per line, each indented by `step` more than the line of the opening bracket. The closing bracket is on a line of its
    /// own.
    Lines {
        /// The additional indentation.
        step: usize,
        /// Whether a comma follows the last item too.
        has_last_comma: bool,
    },
    /// The same, with as many items per line as fit.
    Filled {
        /// The additional indentation.
        step: usize,
    },
}

impl Style {
    /// A list that stays on one line wherever it fits.
    pub const fn of(breaks: Breaks) -> Style {
        Style {
            most: usize::MAX,
            breaks,
            hugs: false,
        }
    }
}

impl Document {
    /// Text that cannot be broken.
    pub fn word(text: impl Into<String>) -> Document {
        Document::Word(text.into())
    }

    /// A list; `open` ends with the opening bracket, `close` begins with the closing one.
    pub fn list(
        open: impl Into<String>,
        items: Vec<Document>,
        close: impl Into<String>,
        style: Style,
    ) -> Document {
        Document::List(List {
            open: open.into(),
            items,
            close: close.into(),
            style,
        })
    }

    /// `name: value`
    pub fn field(name: impl Into<String>, value: Document) -> Document {
        Document::Field(name.into(), Box::new(value))
    }

    /// The document on a single line, however long.
    pub fn flat(&self) -> String {
        let mut out = String::new();
        self.write_flat(&mut out);
        out
    }

    fn write_flat(&self, out: &mut String) {
        match self {
            Document::Word(text) => out.push_str(text),
            Document::List(list) => {
                out.push_str(&list.open);
                for (position, item) in list.items.iter().enumerate() {
                    if position > 0 {
                        out.push_str(", ");
                    }
                    item.write_flat(out);
                }
                out.push_str(&list.close);
            }
            Document::Field(name, value) => {
                out.push_str(name);
                out.push_str(": ");
                value.write_flat(out);
            }
        }
    }

    /// Whether it contains a list whose items take too many columns for one line.
    pub fn has_long_list(&self) -> bool {
        match self {
            Document::Word(_) => false,
            Document::List(list) => {
                list.items_width() > list.style.most
                    || list.items.iter().any(Document::has_long_list)
            }
            Document::Field(_, value) => value.has_long_list(),
        }
    }

    /// The document at `column` of a line that is indented by `indent`. On its last line, `after` more columns follow.
    pub fn laid_out(&self, indent: usize, column: usize, after: usize) -> String {
        let flat = self.flat();
        if column + flat.len() + after <= WIDTH && !self.has_long_list() {
            return flat;
        }
        match self {
            Document::Word(_) => flat,
            Document::List(list) => list.broken(indent, column, after),
            Document::Field(name, value) => {
                let column = column + name.len() + 2;
                let width = value.flat().len() + after;
                // A value that fits only on a line of its own goes there.
                if column + width > WIDTH && indent + 4 + width <= WIDTH && !value.has_long_list() {
                    return format!("{name}:\n{}{}", spaces(indent + 4), value.flat());
                }
                format!("{name}: {}", value.laid_out(indent, column, after))
            }
        }
    }

    /// A list at the beginning of a line, broken even if it fits there; anything else as it is laid out.
    pub fn broken(&self, indent: usize) -> String {
        match self {
            Document::List(list) => list.broken(indent, indent, 0),
            Document::Word(_) | Document::Field(..) => self.laid_out(indent, indent, 0),
        }
    }

    fn begins_with_bracket(&self) -> bool {
        matches!(self, Document::List(list) if list.open.len() == 1)
    }
}

impl List {
    fn items_width(&self) -> usize {
        let items = self.items.iter().map(|item| item.flat().len());
        items.sum::<usize>() + 2 * self.items.len().saturating_sub(1)
    }

    fn broken(&self, indent: usize, column: usize, after: usize) -> String {
        // Where the list is broken, its brackets need no space inside.
        let open = self.open.trim_end();
        let close = self.close.trim_start();
        let start = column + open.len();
        let end = close.len() + after;
        let mut out = open.to_owned();
        match self.items.as_slice() {
            [] => {}
            [only] if self.style.hugs && only.begins_with_bracket() => {
                out.push_str(&only.laid_out(indent, start, end));
            }
            items => match self.style.breaks {
                Breaks::Lines {
                    step,
                    has_last_comma,
                } => {
                    let inner = indent + step;
                    for (position, item) in items.iter().enumerate() {
                        let has_comma = has_last_comma || position + 1 < items.len();
                        new_line(&mut out, inner);
                        out.push_str(&item.laid_out(inner, inner, usize::from(has_comma)));
                        out.push_str(if has_comma { "," } else { "" });
                    }
                    new_line(&mut out, indent);
                }
                Breaks::Filled { step } => {
                    new_line(&mut out, indent + step);
                    // A comma follows the last item, and may be all that follows a line.
                    self.fill(&mut out, indent + step, 2);
                    out.push(',');
                    new_line(&mut out, indent);
                }
            },
        }
        out.push_str(close);
        out
    }

    /// Appends the items, as many per line as fit if each is followed by `after` columns. The first line has been begun at `margin`.
    fn fill(&self, out: &mut String, margin: usize, after: usize) {
        let mut column = margin;
        for (position, item) in self.items.iter().enumerate() {
            let text = item.flat();
            if position > 0 {
                out.push(',');
                if column + 2 + text.len() + after > WIDTH {
                    new_line(out, margin);
                    column = margin;
                } else {
                    out.push(' ');
                    column += 2;
                }
            }
            column += text.len();
            out.push_str(&text);
        }
    }
}

fn new_line(out: &mut String, indent: usize) {
    out.push('\n');
    out.push_str(&spaces(indent));
}

/// The indentation of a line.
pub fn spaces(count: usize) -> String {
    " ".repeat(count)
}

#[cfg(test)]
mod tests {
    use super::*;

    const LINES: Style = Style::of(Breaks::Lines {
        step: 2,
        has_last_comma: false,
    });

    fn call(head: &str, items: Vec<Document>) -> Document {
        Document::list(format!("{head}("), items, ")", LINES)
    }

    /// `f(x…x, y)`, of this many columns.
    fn of_width(width: usize) -> Document {
        let items = vec![Document::word("x".repeat(width - 6)), Document::word("y")];
        call("f", items)
    }

    #[test]
    fn a_list_takes_the_whole_width_with_what_follows_it() {
        assert_eq!(of_width(100).laid_out(0, 0, 0).lines().count(), 1);
        assert_eq!(of_width(100).laid_out(0, 0, 1).lines().count(), 4);
        assert_eq!(of_width(99).laid_out(0, 1, 0).lines().count(), 1);
        assert_eq!(of_width(99).laid_out(0, 2, 0).lines().count(), 4);
        assert_eq!(call("f", Vec::new()).laid_out(0, 200, 0), "f()");
    }

    #[test]
    fn a_comma_counts_where_there_is_one() {
        let outer = |inner: [Document; 2]| call("g", inner.into()).laid_out(0, 0, 0);
        let text = outer([of_width(97), of_width(98)]);
        assert_eq!(text.lines().count(), 4, "{text}");
        let text = outer([of_width(98), of_width(98)]);
        assert_eq!(text.lines().count(), 7, "{text}");
        assert!(text.lines().all(|line| line.len() <= WIDTH), "{text}");
    }

    #[test]
    fn a_limit_on_the_items_holds_wherever_they_begin() {
        let style = Style { most: 5, ..LINES };
        let list = |item: &str| {
            let items = vec![Document::word(item), Document::word("c")];
            Document::list("(", items, ")", style)
        };
        assert_eq!(list("ab").laid_out(0, 0, 0), "(ab, c)");
        assert_eq!(list("abc").laid_out(0, 0, 0), "(\n  abc,\n  c\n)");
        let outer = call("f", vec![list("abc")]);
        assert_eq!(outer.laid_out(0, 0, 0).lines().count(), 6);
    }

    #[test]
    fn short_items_share_lines() {
        let items: Vec<Document> = (10..60)
            .map(|item| Document::word(item.to_string()))
            .collect();
        let filled = Style::of(Breaks::Filled { step: 4 });
        let text = Document::list("f(", items, ")", filled).laid_out(0, 0, 0);
        let widths: Vec<usize> = text.lines().map(str::len).collect();
        assert_eq!(widths, [2, 99, 99, 11, 1]);
    }

    #[test]
    fn an_only_item_with_a_bracket_is_broken_instead_of_its_list() {
        let tuple = |items| Document::list("(", items, ")", LINES);
        let long = || vec![Document::word("x".repeat(98)), Document::word("y")];
        let style = Style {
            hugs: true,
            ..LINES
        };
        let text = Document::list("f(", vec![tuple(long())], ")", style).laid_out(0, 0, 0);
        assert!(
            text.starts_with("f((\n") && text.ends_with("\n))"),
            "{text}"
        );
    }

    #[test]
    fn the_value_of_a_field_goes_where_it_fits() {
        let field = |width: usize| Document::field("abcde", Document::word("x".repeat(width)));
        assert_eq!(field(93).laid_out(0, 0, 0).lines().count(), 1);
        assert!(field(94).laid_out(0, 0, 0).starts_with("abcde:\n    x"));
        assert_eq!(field(97).laid_out(0, 0, 0).lines().count(), 1);
    }

    #[test]
    fn brackets_need_no_space_where_a_list_is_broken() {
        let fields = vec![Document::field("a", Document::word("b"))];
        let list = Document::list("F { ", fields, " }", LINES);
        assert_eq!(list.laid_out(0, 0, 0), "F { a: b }");
        assert_eq!(list.broken(0), "F {\n  a: b\n}");
    }
}
