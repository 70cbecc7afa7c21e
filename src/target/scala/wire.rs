//! How the types that a file declares are encoded: an object for each.

use super::object_scope::ObjectScope;
use super::remote::{Coder, is_encoded};
use super::spelling;
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
        Definition::Enum(variants) => of_enum(&code, &ty, variants),
        Definition::Extern(..) | Definition::Undeclared => return None,
    };
    let view = WireView {
        wire: spelling::wire_object(declared.name.text()),
        ty,
        put,
        get,
    };
    Some(view.render().expect("writing to a string cannot fail"))
}

fn of_enum(code: &Coder, ty: &str, variants: &[Variant]) -> (Vec<String>, Vec<String>) {
    if variants.is_empty() {
        return (
            vec!["_root_.duologue.generated.unknown(value.hashCode)".to_owned()],
            vec!["throw in.unknown(in.variant(0))".to_owned()],
        );
    }
    let mut put = vec!["value match {".to_owned()];
    let mut get = vec![format!("in.variant({}) match {{", variants.len())];
    for (position, variant) in variants.iter().enumerate() {
        let name = spelling::type_name(variant.name.text());
        if variant.entries.is_empty() {
            put.push(format!("  case {ty}.{name} => out.count({position}L)"));
            get.push(format!("  case {position} => {ty}.{name}"));
            continue;
        }
        put.push(format!("  case it: {ty}.{name} =>"));
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
    put.push("}".to_owned());
    get.push("  case other => throw in.unknown(other)".to_owned());
    get.push("}".to_owned());
    (put, get)
}
