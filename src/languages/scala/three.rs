//! What is different in code for Scala 3 alone: declared enums are enums, and other names of built-in types are opaque types.

use super::layout::{declaration, docs, extended, typed};
use super::object_scope::{GENERATED, ObjectScope};
use super::payload::{check, moved};
use super::spelling;
use super::view::rendered;
use crate::protocol::{Type, TypeId, Variant};
use askama::Template;

/// A declared enum.
#[derive(Template)]
#[template(path = "scala/enum.scala.jinja")]
struct EnumView {
    docs: String,
    head: String,
    cases: Vec<CaseView>,
    /// The type, as code inside of it refers to it.
    path: String,
    /// How the endpoints in its values are handed over, if there can be some.
    moved: Vec<String>,
}

struct CaseView {
    docs: String,
    declaration: String,
}

/// Another name of a built-in type.
#[derive(Template)]
#[template(path = "scala/opaque.scala.jinja")]
struct OpaqueView {
    docs: String,
    name: String,
    base: String,
    builtin: String,
    checks: Vec<String>,
    value: String,
}

/// The head of a declared type: values of the type can be compared with each other, and with no others, under strict equality.
/// A type that can hold endpoints has this from its base.
pub fn base(scope: &ObjectScope, path: &str, is_carrier: bool) -> String {
    if is_carrier {
        format!("extends {GENERATED}.Carrier[{path}]")
    } else {
        format!("derives {}", scope.standard("CanEqual"))
    }
}

/// A declared enum with at least one variant.
pub fn enumeration(scope: &mut ObjectScope, id: TypeId, variants: &[Variant]) -> String {
    let whole = scope.whole;
    let ty = whole.program.ty(id);
    let name = spelling::type_name(ty.name.text());
    let is_carrier = whole.holds_endpoints(&Type::Named(id));
    // A case has no body. So that it checks its values, they are an argument of the constructor of the whole enum.
    let has_checks = variants.iter().any(|variant| {
        let mut entries = variant.entries.iter();
        entries.any(|entry| !check(whole, &entry.ty, "", "").is_empty())
    });
    let object = spelling::types_object(&whole.program.file(scope.file).stem);
    let path = |scope: &ObjectScope| format!("{}.{name}", scope.object(scope.file, &object));
    let mut cases = Vec::new();
    let mut moves = Vec::new();
    let mut has_rest = false;
    for variant in variants {
        let names = variant.entries.iter();
        let names: Vec<String> = names
            .map(|entry| spelling::case_field_name(entry.name.text()))
            .collect();
        scope.hide(names.iter().cloned());
        let entries = || variant.entries.iter().zip(&names);
        let fields: Vec<String> = entries()
            .map(|(entry, name)| typed(name, &scope.payload_type(&entry.ty)))
            .collect();
        let checks: Vec<String> = entries()
            .flat_map(|(entry, name)| check(whole, &entry.ty, entry.name.text(), name))
            .collect();
        let checked = match checks.as_slice() {
            [] => "()".to_owned(),
            [only] => only.clone(),
            several => format!("{{ {} }}", several.join("; ")),
        };
        let tail = if has_checks {
            format!(" extends {}({checked})", path(scope))
        } else {
            String::new()
        };
        let case = spelling::type_name(variant.name.text());
        let head = format!("case {case}");
        let declaration = if fields.is_empty() {
            head + &tail
        } else {
            declaration(&head, &fields, &tail, 4)
        };
        cases.push(CaseView {
            docs: docs(&variant.docs, 4),
            declaration,
        });
        let changes = entries().filter(|(entry, _)| whole.holds_endpoints(&entry.ty));
        let changes: Vec<String> = changes
            .map(|(entry, name)| {
                let value = moved(whole, &entry.ty, &format!("it.{name}"));
                format!("{name} = {}", value.at(0))
            })
            .collect();
        if changes.is_empty() {
            has_rest = true;
        } else {
            let copy = format!("it.copy({})", changes.join(", "));
            moves.push((case, copy));
        }
    }
    scope.hide(std::iter::empty());
    let path = path(scope);
    let moves = moves.into_iter();
    let mut moved: Vec<String> = moves
        .map(|(case, copy)| format!("case it: {path}.{case} => {copy}"))
        .collect();
    if has_rest && is_carrier {
        moved.push("case _ => this".to_owned());
    }
    let mut head = format!("enum {name}");
    if has_checks {
        let unit = scope.standard("Unit");
        head += &format!("(@_root_.scala.annotation.unused $checked: {unit})");
    }
    rendered(&EnumView {
        docs: docs(&ty.docs, 2),
        head: extended(&head, &base(scope, &path, is_carrier), 2),
        cases,
        path,
        moved,
    })
}

/// An alias for a built-in type. Its values can be used as values of that type without a conversion, but not the other way around.
pub fn opaque_type(scope: &ObjectScope, id: TypeId, target: &Type) -> String {
    let whole = scope.whole;
    let ty = whole.program.ty(id);
    let name = spelling::type_name(ty.name.text());
    let builtin = whole.underlying(target);
    // A type of another file is opaque here too.
    let value = if let Type::Builtin(_) = target {
        "value".to_owned()
    } else {
        format!("value.asInstanceOf[{name}]")
    };
    rendered(&OpaqueView {
        docs: docs(&ty.docs, 2),
        base: scope.payload_type(target),
        builtin: scope.payload_type(builtin),
        checks: check(whole, builtin, ty.name.text(), "value"),
        value,
        name,
    })
}

/// The code of a value of a built-in type as a value of `ty`, which may be another name of it.
pub fn converted(scope: &ObjectScope, ty: &Type, code: &str) -> String {
    if !scope.whole.is_distinct(ty) {
        return code.to_owned();
    }
    let code = if code.contains(' ') {
        format!("({code})")
    } else {
        code.to_owned()
    };
    format!("{code}.asInstanceOf[{}]", scope.payload_type(ty))
}
