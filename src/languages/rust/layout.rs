//! Lays out types and calls as rustfmt does, so that formatting a project does not change its generated files.

use crate::languages::layout::{Breaks, Style, WIDTH, spaces};

pub use crate::languages::layout::Document;

/// The maximum width of a parenthesized list of several items on one line: rustfmt's `fn_call_width`.
const LIST: usize = 60;

/// The maximum width of a variant's fields on one line: rustfmt's `struct_variant_width`.
const FIELDS: usize = 35;

/// The maximum width of a value's fields on one line: rustfmt's `struct_lit_width`.
const LITERAL: usize = 18;

/// One item per line.
const LINES: Style = Style::of(Breaks::Lines {
    step: 4,
    has_last_comma: true,
});

impl Document {
    /// `head(types)` in a type, a pattern or a declaration; a tuple of types if `head` is empty, or only `head` without types.
    pub fn round(head: impl Into<String>, types: Vec<Document>) -> Document {
        Document::parenthesized(head.into(), types, LINES)
    }

    /// The same for values: a call or a tuple. Several short values share a line.
    pub fn call(head: impl Into<String>, values: Vec<Document>) -> Document {
        const SHORT: usize = 10;
        let is_short =
            |value: &Document| matches!(value, Document::Word(text) if text.len() <= SHORT);
        let style = match values.iter().all(is_short) {
            true => Style::of(Breaks::Filled { step: 4 }),
            false => LINES,
        };
        Document::parenthesized(head.into(), values, style)
    }

    /// `head<types>`, or only `head` without types.
    pub fn angle(head: impl Into<String>, types: Vec<Document>) -> Document {
        let style = Style {
            hugs: true,
            ..LINES
        };
        Document::bracketed(head.into(), ["<", ">"], types, style)
    }

    /// A variant's declaration: `head { names: types }`, or `head(types)` if its fields have no names.
    pub fn variant(head: String, names: Option<Vec<String>>, types: Vec<Document>) -> Document {
        match names {
            Some(names) => Document::braced(head, names, types, FIELDS),
            None => Document::round(head, types),
        }
    }

    /// A variant's value.
    pub fn value(head: String, names: Option<Vec<String>>, values: Vec<Document>) -> Document {
        match names {
            Some(names) => Document::braced(head, names, values, LITERAL),
            None => Document::call(head, values),
        }
    }

    fn braced(head: String, names: Vec<String>, values: Vec<Document>, most: usize) -> Document {
        let fields = names.into_iter().zip(values);
        let fields = fields.map(|(name, value)| Document::field(name, value));
        let style = Style { most, ..LINES };
        Document::bracketed(head, [" { ", " }"], fields.collect(), style)
    }

    fn parenthesized(head: String, items: Vec<Document>, style: Style) -> Document {
        let most = if items.len() > 1 { LIST } else { style.most };
        let style = Style {
            most,
            hugs: true,
            ..style
        };
        Document::bracketed(head, ["(", ")"], items, style)
    }

    fn bracketed(
        head: String,
        [open, close]: [&str; 2],
        items: Vec<Document>,
        style: Style,
    ) -> Document {
        match items.is_empty() {
            true => Document::Word(head),
            false => Document::list(head + open, items, close, style),
        }
    }
}

/// The variants of an enum, each with the lines before it. If some need one line and others several, rustfmt breaks all that have
/// named fields.
pub fn variants(all: Vec<(String, Document)>) -> Vec<(String, String)> {
    let lay_out = |document: &Document| document.laid_out(4, 4, 1);
    let is_tall = |(above, document): &(String, Document)| {
        !above.is_empty() || lay_out(document).contains('\n')
    };
    let tall = all.iter().filter(|variant| is_tall(variant)).count();
    let is_mixed = tall > 0 && tall < all.len();
    let variants = all.into_iter().map(|(above, document)| {
        let text = match is_mixed && document.flat().ends_with('}') {
            true => document.broken(4),
            false => lay_out(&document),
        };
        (above, text)
    });
    variants.collect()
}

/// `pub fn name(self, a: A) -> Result {`, where `function` is everything before the parenthesis; or the same with one parameter
/// per line.
pub fn signature(
    indent: usize,
    function: &str,
    parameters: &[String],
    result: &Document,
    bounds: &[String],
) -> String {
    let is_plain = parameters.iter().all(|parameter| !parameter.contains('\n'));
    let start = lines(format!("{function}("), parameters, ")");
    let flat = format!("{} -> {}", start.flat(), result.flat());
    if is_plain && indent + flat.len() + 2 <= WIDTH && !result.has_long_list() {
        return head(indent, &flat, bounds);
    }
    let mut out = start.broken(indent) + " -> ";
    let result = result.laid_out(indent, indent + 3, 0);
    out.push_str(&result);
    if !bounds.is_empty() || result.contains('\n') || indent + result.len() <= WIDTH - 15 {
        return head(indent, &out, bounds);
    }
    // rustfmt leaves some columns free after the return type when there is one parameter per line.
    below(indent, &out, bounds)
}

/// `impl<T> Trait for Type`, on two lines if it is too long, up to the opening brace of its body.
pub fn implementation(indent: usize, name: &str, ty: &str, bounds: &[String]) -> String {
    let flat = format!("{name} for {ty}");
    if indent + flat.len() + if bounds.is_empty() { 2 } else { 0 } <= WIDTH {
        return head(indent, &flat, bounds);
    }
    let start = format!("{name}\n{}for {ty}", spaces(indent + 4));
    below(indent, &start, bounds)
}

/// Everything before a body: `start {`, or the same with the bounds in a `where` clause.
pub fn head(indent: usize, start: &str, bounds: &[String]) -> String {
    if bounds.is_empty() {
        return format!("{start} {{");
    }
    below(indent, start, bounds)
}

/// A head whose brace is on a line of its own.
fn below(indent: usize, start: &str, bounds: &[String]) -> String {
    let end = match bounds.is_empty() {
        true => "{".to_owned(),
        false => lines("where", bounds, "{").broken(indent),
    };
    format!("{start}\n{}{end}", spaces(indent))
}

/// A list whose items are words.
fn lines(open: impl Into<String>, items: &[String], close: &str) -> Document {
    let items = items.iter().map(Document::word).collect();
    Document::list(open, items, close, LINES)
}

/// `self.0.send::<0>(payload).map(Next)`, or one call per line: rustfmt's `chain_width` is 60.
pub fn chain(indent: usize, start: &str, calls: &[Document]) -> String {
    let flat: String = calls.iter().map(Document::flat).collect();
    let flat = format!("{start}{flat}");
    if flat.len() <= LIST && indent + flat.len() <= WIDTH {
        return flat;
    }
    if let [only] = calls {
        // Its arguments may be below it, unless it takes fewer lines on a line of its own.
        let after = only.laid_out(indent, indent + start.len(), 0);
        let own = only.laid_out(indent + 4, indent + 4, 0);
        let first = after.lines().next().map_or(0, str::len);
        if start.len() + first <= LIST && own.lines().count() >= after.lines().count() {
            return start.to_owned() + &after;
        }
    }
    let mut out = start.to_owned();
    for call in calls {
        let call = call.laid_out(indent + 4, indent + 4, 0);
        out.push_str(&format!("\n{}{call}", spaces(indent + 4)));
    }
    out
}

/// `type name = ty;`. A type that is too long and cannot be broken goes on the next line.
pub fn definition(indent: usize, head: &str, ty: &Document) -> String {
    let flat = ty.flat();
    let column = indent + head.len() + 3;
    if column + flat.len() < WIDTH && !ty.has_long_list() {
        return format!("{head} = {flat};");
    }
    if indent + 4 + flat.len() < WIDTH && !ty.has_long_list() {
        return format!("{head} =\n{}{flat};", spaces(indent + 4));
    }
    format!("{head} = {};", ty.laid_out(indent, column, 1))
}
