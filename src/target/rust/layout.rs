//! Lays out types and calls as rustfmt does, so that formatting a project does not change its generated files.

/// The maximum line width.
const WIDTH: usize = 100;

/// The maximum width of a parenthesized list of several items on one line: rustfmt's `fn_call_width`.
const LIST: usize = 60;

/// A piece of code that may be broken across lines.
#[derive(Clone, Debug)]
pub enum Piece {
    /// Text that cannot be broken.
    Word(String),
    /// `head`, an opening bracket, items separated by commas, a closing bracket.
    Group(Group),
}

/// A bracketed list.
#[derive(Clone, Debug)]
pub struct Group {
    head: String,
    bracket: Bracket,
    items: Vec<Piece>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Bracket {
    /// In a type, a pattern or a declaration.
    Round,
    /// A list of values: a call or a tuple.
    Call,
    Angle,
}

impl Piece {
    /// Text that cannot be broken.
    pub fn word(text: impl Into<String>) -> Piece {
        Piece::Word(text.into())
    }

    /// `head(types)`, a tuple of types if `head` is empty, or only `head` without types.
    pub fn round(head: impl Into<String>, types: Vec<Piece>) -> Piece {
        Piece::group(head.into(), Bracket::Round, types)
    }

    /// The same for values: a call or a tuple.
    pub fn call(head: impl Into<String>, values: Vec<Piece>) -> Piece {
        Piece::group(head.into(), Bracket::Call, values)
    }

    /// `head<types>`, or only `head` without types.
    pub fn angle(head: impl Into<String>, types: Vec<Piece>) -> Piece {
        Piece::group(head.into(), Bracket::Angle, types)
    }

    fn group(head: String, bracket: Bracket, items: Vec<Piece>) -> Piece {
        if items.is_empty() {
            return Piece::Word(head);
        }
        Piece::Group(Group {
            head,
            bracket,
            items,
        })
    }

    /// The piece on a single line, however long.
    pub fn flat(&self) -> String {
        let mut out = String::new();
        self.write_flat(&mut out);
        out
    }

    fn write_flat(&self, out: &mut String) {
        match self {
            Piece::Word(text) => out.push_str(text),
            Piece::Group(group) => {
                out.push_str(&group.head);
                out.push_str(group.bracket.open());
                for (position, item) in group.items.iter().enumerate() {
                    if position > 0 {
                        out.push_str(", ");
                    }
                    item.write_flat(out);
                }
                out.push_str(group.bracket.close());
            }
        }
    }

    /// Whether it contains a list that is too long for one line.
    fn has_long_list(&self) -> bool {
        let Piece::Group(group) = self else {
            return false;
        };
        let inside = self.flat().len() - group.head.len() - 2;
        (group.bracket != Bracket::Angle && group.items.len() > 1 && inside > LIST)
            || group.items.iter().any(Piece::has_long_list)
    }

    /// The piece at `column` of a line that is indented by `indent`. On its last line, `after` more columns follow.
    pub fn laid_out(&self, indent: usize, column: usize, after: usize) -> String {
        let flat = self.flat();
        let Piece::Group(group) = self else {
            return flat;
        };
        if column + flat.len() + after <= WIDTH && !self.has_long_list() {
            return flat;
        }
        let open = format!("{}{}", group.head, group.bracket.open());
        if let [only] = group.items.as_slice()
            && only.is_tuple()
        {
            let inner = only.laid_out(indent, column + open.len(), after + 1);
            return format!("{open}{inner}{}", group.bracket.close());
        }
        let mut out = open;
        let is_dense = group.is_dense();
        let mut column = WIDTH;
        for item in &group.items {
            let text = item.laid_out(indent + 4, indent + 4, 1);
            if is_dense && column + 2 + text.len() < WIDTH {
                out.push(' ');
                column += 1;
            } else {
                out.push('\n');
                push_blanks(&mut out, indent + 4);
                column = indent + 4;
            }
            column += text.len() + 1;
            out.push_str(&text);
            out.push(',');
        }
        out.push('\n');
        push_blanks(&mut out, indent);
        out.push_str(group.bracket.close());
        out
    }

    fn is_tuple(&self) -> bool {
        matches!(self, Piece::Group(group) if group.head.is_empty())
    }
}

impl Group {
    /// Whether several values share a line, as rustfmt lays out short ones.
    fn is_dense(&self) -> bool {
        const SHORT: usize = 10;
        let is_short = |item: &Piece| matches!(item, Piece::Word(text) if text.len() <= SHORT);
        self.bracket == Bracket::Call && self.items.iter().all(is_short)
    }
}

impl Bracket {
    fn open(self) -> &'static str {
        match self {
            Bracket::Round | Bracket::Call => "(",
            Bracket::Angle => "<",
        }
    }

    fn close(self) -> &'static str {
        match self {
            Bracket::Round | Bracket::Call => ")",
            Bracket::Angle => ">",
        }
    }
}

fn push_blanks(out: &mut String, count: usize) {
    out.extend(std::iter::repeat_n(' ', count));
}

/// `pub fn name(self, a: A) -> Result {`, where `function` is everything before the parenthesis; or the same with one parameter
/// per line.
pub fn signature(
    indent: usize,
    function: &str,
    parameters: &[String],
    result: &Piece,
    bounds: &[String],
) -> String {
    let start = format!("{function}(");
    let is_plain = parameters.iter().all(|parameter| !parameter.contains('\n'));
    let flat = format!("{start}{}) -> {}", parameters.join(", "), result.flat());
    if is_plain && indent + flat.len() + 2 <= WIDTH && !result.has_long_list() {
        return head(indent, &flat, bounds);
    }
    let mut out = start;
    for parameter in parameters {
        out.push('\n');
        push_blanks(&mut out, indent + 4);
        out.push_str(parameter);
        out.push(',');
    }
    if !parameters.is_empty() {
        out.push('\n');
        push_blanks(&mut out, indent);
    }
    out.push_str(") -> ");
    let result = result.laid_out(indent, indent + 3, 0);
    out.push_str(&result);
    if !bounds.is_empty() || result.contains('\n') || indent + result.len() <= WIDTH - 15 {
        return head(indent, &out, bounds);
    }
    // rustfmt leaves some columns free after the return type when there is one parameter per line.
    below(indent, out, bounds)
}

/// `impl<T> Trait for Type`, on two lines if it is too long, up to the opening brace of its body.
pub fn implementation(indent: usize, name: &str, ty: &str, bounds: &[String]) -> String {
    let flat = format!("{name} for {ty}");
    if indent + flat.len() + if bounds.is_empty() { 2 } else { 0 } <= WIDTH {
        return head(indent, &flat, bounds);
    }
    let mut out = format!("{name}\n");
    push_blanks(&mut out, indent + 4);
    out.push_str("for ");
    out.push_str(ty);
    below(indent, out, bounds)
}

/// Everything before a body: `start {`, or the same with the bounds in a `where` clause.
pub fn head(indent: usize, start: &str, bounds: &[String]) -> String {
    if bounds.is_empty() {
        return format!("{start} {{");
    }
    below(indent, start.to_owned(), bounds)
}

/// A head whose brace is on a line of its own.
fn below(indent: usize, mut out: String, bounds: &[String]) -> String {
    if !bounds.is_empty() {
        out.push('\n');
        push_blanks(&mut out, indent);
        out.push_str("where");
    }
    for bound in bounds {
        out.push('\n');
        push_blanks(&mut out, indent + 4);
        out.push_str(bound);
        out.push(',');
    }
    out.push('\n');
    push_blanks(&mut out, indent);
    out.push('{');
    out
}

/// `self.0.send::<0>(payload).map(Next)`, or one call per line: rustfmt's `chain_width` is 60.
pub fn chain(indent: usize, start: &str, calls: &[Piece]) -> String {
    let flat: String = calls.iter().map(Piece::flat).collect();
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
        out.push('\n');
        push_blanks(&mut out, indent + 4);
        out.push_str(&call.laid_out(indent + 4, indent + 4, 0));
    }
    out
}

/// `type name = ty;`. A type that is too long and cannot be broken goes on the next line.
pub fn definition(indent: usize, head: &str, ty: &Piece) -> String {
    let flat = ty.flat();
    let column = indent + head.len() + 3;
    if column + flat.len() < WIDTH && !ty.has_long_list() {
        return format!("{head} = {flat};");
    }
    if indent + 4 + flat.len() < WIDTH && !ty.has_long_list() {
        let mut out = format!("{head} =\n");
        push_blanks(&mut out, indent + 4);
        return out + &flat + ";";
    }
    format!("{head} = {};", ty.laid_out(indent, column, 1))
}
