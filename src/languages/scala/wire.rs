//! How the types that a file declares are encoded: an object for each.

use super::object_scope::ObjectScope;
use super::remote::{Coder, is_encoded};
use super::spelling;
use super::whole::Whole;
use crate::protocol::{Definition, Type, TypeId, Variant};
use crate::wire::Sizes;
use askama::Template;

#[derive(Template)]
#[template(path = "scala/wire.scala.jinja")]
struct WireView {
    wire: String,
    ty: String,
    put: Vec<String>,
    get: Vec<String>,
    /// The lines of the objects that encode parts of a large enum.
    parts: Vec<String>,
}

/// If an enum has more variants and values than this, each part of it has code of its own, because the JVM limits the size of a method and
/// of a class.
const LARGEST_PART: usize = 400;

/// The ends of the parts into which code for these variants is split.
pub fn parts<'v>(variants: impl Iterator<Item = &'v Variant>) -> Vec<usize> {
    let (mut ends, mut end, mut size) = (Vec::new(), 0, 0);
    for variant in variants {
        let own = 1 + variant.entries.len();
        if size + own > LARGEST_PART {
            ends.push(end);
            size = 0;
        }
        size += own;
        end += 1;
    }
    ends.push(end);
    ends
}

/// The object that encodes a declared type; `None` if it needs none, or has no encoding.
pub fn object(scope: &mut ObjectScope, sizes: &Sizes, id: TypeId) -> Option<String> {
    let whole = scope.whole;
    let declared = whole.program.ty(id);
    let named = Type::Named(id);
    if !is_encoded(whole, &named) {
        return None;
    }
    scope.hide(std::iter::empty());
    let scope = &*scope;
    let code = Coder { scope, sizes };
    let ty = scope.payload_type(&named);
    let mut parts = Vec::new();
    let (put, get) = match &declared.definition {
        Definition::Alias(target) => {
            if let Type::Builtin(_) = whole.underlying(target) {
                return None;
            }
            (
                code.put(target, &declared.lengths, "value", "out"),
                vec![code.get(target, &declared.lengths, "in").at(6)],
            )
        }
        Definition::Struct(fields) => {
            let mut put = Vec::new();
            let mut get = Vec::new();
            for field in fields {
                let name = spelling::field_name(field.name.text());
                let (ty, lengths) = (&field.ty, &field.lengths);
                put.extend(code.put(ty, lengths, &format!("value.{name}"), "out"));
                get.push(code.get(ty, lengths, "in"));
            }
            let made = super::layout::Document::application(format!("new {ty}"), get);
            (put, vec![made.at(6)])
        }
        Definition::Enum(variants) => of_enum(&code, &ty, variants, &mut parts),
        Definition::Extern(..) | Definition::Undeclared => return None,
    };
    let view = WireView {
        wire: spelling::wire_object(declared.name.text()),
        ty,
        put,
        get,
        parts,
    };
    Some(view.render().expect("writing to a string cannot fail"))
}

/// Whether code for an enum is split into parts.
pub fn is_split(variants: &[Variant]) -> bool {
    parts(variants.iter()).len() > 1
}

/// How code finds the variant of `value`: by its type or, where code is split, by its number. The time in which the compilers analyze patterns
/// grows with the third power of the number of types.
pub struct Matching {
    is_split: bool,
    /// What is matched.
    pub value: &'static str,
}

impl Matching {
    pub fn of(whole: &Whole, variants: &[Variant]) -> Matching {
        let is_split = is_split(variants);
        let value = match (is_split, whole.is_for_three()) {
            (false, _) => "value",
            (true, true) => "value.ordinal",
            (true, false) => "value.$number",
        };
        Matching { is_split, value }
    }

    /// The beginning of the case of a variant without entries.
    pub fn constant(&self, class: &str, number: usize) -> String {
        match self.is_split {
            true => format!("  case {number} =>"),
            false => format!("  case {class} =>"),
        }
    }

    /// The beginning of the case of a variant whose entries are those of `it`.
    pub fn class(&self, class: &str, number: usize) -> Vec<String> {
        match self.is_split {
            true => vec![
                format!("  case {number} =>"),
                format!("    val it = value.asInstanceOf[{class}]"),
            ],
            false => vec![format!("  case it: {class} =>")],
        }
    }
}

fn of_enum(
    code: &Coder,
    ty: &str,
    variants: &[Variant],
    parts: &mut Vec<String>,
) -> (Vec<String>, Vec<String>) {
    if variants.is_empty() {
        return (
            vec!["_root_.duologue.generated.unknown(value.hashCode)".to_owned()],
            vec!["throw in.unknown(in.variant(0))".to_owned()],
        );
    }
    let ends = self::parts(variants.iter());
    let matching = Matching::of(code.scope.whole, variants);
    let number = format!("in.variant({})", variants.len());
    if let [_] = ends.as_slice() {
        let (put, get) = of_part(code, ty, &matching, variants, 0);
        let put = ["value match {".to_owned()].into_iter().chain(put);
        let get = [format!("{number} match {{")].into_iter().chain(get);
        let unknown = "  case other => throw in.unknown(other)";
        return (
            put.chain(["}".to_owned()]).collect(),
            get.chain([unknown.to_owned(), "}".to_owned()]).collect(),
        );
    }
    let mut start = 0;
    for (at, end) in ends.iter().enumerate() {
        let (put, get) = of_part(code, ty, &matching, &variants[start..*end], start);
        let next = format!("$part{}", at + 1);
        let [put_rest, get_rest] = match at + 1 == ends.len() {
            false => [
                format!("{next}.put(out, value)"),
                format!("{next}.get($variant, in)"),
            ],
            true => [
                "_root_.duologue.generated.unknown(value.hashCode)".to_owned(),
                "throw in.unknown($variant)".to_owned(),
            ],
        };
        let deeper = |line: String| format!("  {line}");
        parts.push(format!("private object $part{at} {{"));
        parts.push(format!(
            "  def put(out: _root_.duologue.PayloadWriter, value: {ty}): _root_.scala.Unit = {} match {{",
            matching.value
        ));
        parts.extend(put.into_iter().map(deeper));
        parts.push(format!("    case _ => {put_rest}"));
        parts.push("  }".to_owned());
        parts.push(format!(
            "  def get($variant: _root_.scala.Int, in: _root_.duologue.PayloadReader): {ty} = $variant match {{"
        ));
        parts.extend(get.into_iter().map(deeper));
        parts.push(format!("    case _ => {get_rest}"));
        parts.extend(["  }", "}"].map(str::to_owned));
        start = *end;
    }
    (
        vec!["$part0.put(out, value)".to_owned()],
        vec![format!("$part0.get({number}, in)")],
    )
}

/// The cases of some variants, of which the first has this number.
fn of_part(
    code: &Coder,
    ty: &str,
    matching: &Matching,
    variants: &[Variant],
    first: usize,
) -> (Vec<String>, Vec<String>) {
    let (mut put, mut get) = (Vec::new(), Vec::new());
    for (position, variant) in (first..).zip(variants) {
        let name = spelling::type_name(variant.name.text());
        if variant.entries.is_empty() {
            let case = matching.constant(&format!("{ty}.{name}"), position);
            put.push(format!("{case} out.count({position}L)"));
            get.push(format!("  case {position} => {ty}.{name}"));
            continue;
        }
        put.extend(matching.class(&format!("{ty}.{name}"), position));
        put.push(format!("    out.count({position}L)"));
        let mut parts = Vec::new();
        for entry in &variant.entries {
            let field = if code.scope.whole.is_for_three() {
                spelling::case_field_name(entry.name.text())
            } else {
                spelling::field_name(entry.name.text())
            };
            let (ty, lengths) = (&entry.ty, &entry.lengths);
            let each = code.put(ty, lengths, &format!("it.{field}"), "out");
            put.extend(each.iter().map(|line| format!("    {line}")));
            parts.push(code.get(ty, lengths, "in"));
        }
        let made = super::layout::Document::application(format!("new {ty}.{name}"), parts);
        get.push(format!("  case {position} => {}", made.at(8)));
    }
    (put, get)
}
