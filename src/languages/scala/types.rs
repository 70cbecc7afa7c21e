//! The object with the types that one file declares, and the objects of its instances.

use super::layout::{declaration, docs, extended, fits, typed};
use super::object_scope::{GENERATED, ObjectScope, type_arguments};
use super::payload::{check, moved};
use super::remote::Remote;
use super::view::rendered;
use super::{head_of_role, spelling, three, wire};
use crate::check::CheckedProgram;
use crate::languages::limits::instance_docs;
use crate::protocol::{
    Definition, Field, InstanceId, Side, Type, TypeDeclaration, TypeId, Variant,
};
use crate::wire::Sizes;
use askama::Template;
use std::collections::BTreeMap;

/// The types of a file.
#[derive(Template)]
#[template(path = "scala/types.scala.jinja")]
pub struct TypesView {
    object: String,
    file: String,
    declarations: Vec<String>,
}

#[derive(Template)]
#[template(path = "scala/record.scala.jinja")]
struct RecordView {
    docs: String,
    declaration: String,
    checks: Vec<String>,
    moved: Option<String>,
    has_body: bool,
    indent: &'static str,
}

#[derive(Template)]
#[template(path = "scala/choice.scala.jinja")]
struct ChoiceView {
    docs: String,
    name: String,
    head: String,
    is_carrier: bool,
    /// Whether each variant has its number.
    is_numbered: bool,
    variants: Vec<String>,
}

/// An alias for a generic protocol with its arguments.
#[derive(Template)]
#[template(path = "scala/instance.scala.jinja")]
pub struct InstanceView {
    docs: String,
    object: String,
    signature: String,
    messages: Vec<AliasView>,
    endpoints: Vec<AliasView>,
    sides: Vec<SideView>,
    /// How the messages are encoded, if sessions can leave the process.
    remote: String,
    /// The object with the robots, or nothing.
    pub robots: String,
}

struct SideView {
    name: &'static str,
    role: String,
}

struct AliasView {
    name: String,
    parameters: String,
    protocol: String,
    arguments: String,
}

impl TypesView {
    pub fn of(scope: &mut ObjectScope, file: &str, sizes: Option<&Sizes>) -> TypesView {
        let declared = scope.whole.program.file(scope.file);
        let types = declared.types.iter();
        let mut declarations: Vec<String> = types.map(|id| write_type(scope, *id)).collect();
        if let Some(sizes) = sizes {
            let types = declared.types.iter();
            declarations.extend(types.filter_map(|id| wire::object(scope, sizes, *id)));
        }
        TypesView {
            object: spelling::types_object(&declared.stem),
            file: file.to_owned(),
            declarations: declarations
                .into_iter()
                .filter(|text| !text.is_empty())
                .collect(),
        }
    }
}

fn write_type(scope: &mut ObjectScope, id: TypeId) -> String {
    let ty = scope.whole.program.ty(id);
    let name = spelling::type_name(ty.name.text());
    match &ty.definition {
        Definition::Alias(target) if scope.whole.is_distinct(&Type::Named(id)) => {
            three::opaque_type(scope, id, target)
        }
        Definition::Alias(target) => format!(
            "{}  type {name} = {}",
            docs(&ty.docs, 2),
            scope.payload_type(target)
        ),
        Definition::Struct(fields) => record(scope, ty, &name, fields),
        Definition::Enum(variants) => choice(scope, id, &name, variants),
        // Types that the host supplies need no declaration; they are in the documentation of the file.
        Definition::Extern(..) | Definition::Undeclared => String::new(),
    }
}

fn record(scope: &mut ObjectScope, ty: &TypeDeclaration, name: &str, fields: &[Field]) -> String {
    let values: Vec<Value> = fields
        .iter()
        .map(|field| Value::of_field(field.name.text(), &field.ty))
        .collect();
    let mut lines: Vec<String> = ty.docs.iter().map(|line| line.to_string()).collect();
    for (field, value) in fields.iter().zip(&values) {
        if let Some((first, rest)) = field.docs.split_first() {
            lines.push(format!("@param {} {first}", value.name));
            lines.extend(rest.iter().map(|line| format!("  {line}")));
        }
    }
    let is_carrier = values
        .iter()
        .any(|value| scope.whole.holds_endpoints(value.ty));
    scope.hide(values.iter().map(|value| value.name.clone()));
    let base = base(scope, name, is_carrier);
    write_values(
        scope,
        docs(&lines, 2),
        format!("final case class {name}"),
        &values,
        &format!(" {base}"),
        name,
        (is_carrier, None),
    )
}

/// The base of a declared type. It allows values of the type to be compared with each other, and with no others, under strict
/// equality.
fn base(scope: &ObjectScope, name: &str, is_carrier: bool) -> String {
    let object = spelling::types_object(&scope.whole.program.file(scope.file).stem);
    let object = scope.object(scope.file, &object);
    if scope.whole.is_for_three() {
        return three::base(scope, &format!("{object}.{name}"), is_carrier);
    }
    let base = if is_carrier { "Carrier" } else { "Value" };
    format!("extends {GENERATED}.{base}[{object}.{name}]")
}

fn choice(scope: &mut ObjectScope, id: TypeId, name: &str, variants: &[Variant]) -> String {
    let ty = scope.whole.program.ty(id);
    let is_carrier = scope.whole.holds_endpoints(&Type::Named(id));
    let object = spelling::types_object(&scope.whole.program.file(scope.file).stem);
    scope.hide(std::iter::empty());
    if scope.whole.is_for_three() && !variants.is_empty() {
        return three::enumeration(scope, id, variants);
    }
    let base = base(scope, name, is_carrier);
    let head = extended(&format!("sealed trait {name}"), &base, 2);
    let is_numbered = wire::is_split(variants);
    let mut write = |(number, variant): (usize, &Variant)| {
        let number = is_numbered.then(|| format!("def $number: _root_.scala.Int = {number}"));
        let values: Vec<Value> = variant
            .entries
            .iter()
            .map(|entry| Value::of_field(entry.name.text(), &entry.ty))
            .collect();
        let variant_name = spelling::type_name(variant.name.text());
        scope.hide(values.iter().map(|value| value.name.clone()));
        let extends = format!(" extends {}.{name}", scope.object(scope.file, &object));
        let docs = docs(&variant.docs, 4);
        if values.is_empty() {
            let moved = is_carrier.then(|| {
                format!("def $moved($moving: {GENERATED}.Moving): {variant_name}.type = this")
            });
            let members = number.into_iter().chain(moved);
            let members: String = members.map(|member| format!("\n      {member}")).collect();
            let body = match members.is_empty() {
                true => members,
                false => format!(" {{{members}\n    }}"),
            };
            return format!("{docs}    case object {variant_name}{extends}{body}");
        }
        write_values(
            scope,
            docs,
            format!("final case class {variant_name}"),
            &values,
            &extends,
            &variant_name,
            (is_carrier, number),
        )
    };
    let view = ChoiceView {
        docs: docs(&ty.docs, 2),
        name: name.to_owned(),
        head,
        is_carrier,
        is_numbered,
        variants: variants.iter().enumerate().map(&mut write).collect(),
    };
    rendered(&view)
}

struct Value<'a> {
    name: String,
    written: &'a str,
    ty: &'a Type,
}

impl<'a> Value<'a> {
    fn of_field(written: &'a str, ty: &'a Type) -> Value<'a> {
        Value {
            name: spelling::field_name(written),
            written,
            ty,
        }
    }
}

fn write_values(
    scope: &mut ObjectScope,
    docs: String,
    head: String,
    values: &[Value],
    extends: &str,
    class: &str,
    (is_carrier, number): (bool, Option<String>),
) -> String {
    // Variants are one level deeper than structs.
    let is_struct = extends.contains(GENERATED) || extends.starts_with(" derives");
    let indent = if is_struct { "  " } else { "    " };
    let whole = scope.whole;
    scope.hide(values.iter().map(|value| value.name.clone()));
    let fields: Vec<String> = values
        .iter()
        .map(|value| typed(&value.name, &scope.payload_type(value.ty)))
        .collect();
    let changes = values
        .iter()
        .filter(|value| whole.holds_endpoints(value.ty));
    let changes = changes.map(|value| {
        format!(
            "{} = {}",
            value.name,
            moved(whole, value.ty, &value.name).at(0)
        )
    });
    let changes: Vec<String> = changes.collect();
    let checks = values
        .iter()
        .flat_map(|value| check(whole, value.ty, value.written, &value.name));
    let checks: Vec<String> = checks.chain(number).collect();
    let result = if changes.is_empty() {
        "this".to_owned()
    } else {
        format!("copy({})", changes.join(", "))
    };
    let moved = is_carrier.then(|| {
        let head = format!("def $moved($moving: {GENERATED}.Moving): {class} =");
        if fits(indent.len() + 2, &format!("{head} {result}")) {
            format!("{head} {result}")
        } else {
            format!("{head}\n{indent}    {result}")
        }
    });
    let has_body = moved.is_some() || !checks.is_empty();
    let tail = format!("{extends}{}", if has_body { " {" } else { "" });
    let declaration = declaration(&head, &fields, &tail, indent.len());
    rendered(&RecordView {
        docs,
        declaration,
        checks,
        moved,
        has_body,
        indent,
    })
}

impl InstanceView {
    pub fn of(
        checked: &CheckedProgram,
        id: InstanceId,
        scope: &mut ObjectScope,
        remote: Option<(&Remote, &Sizes)>,
    ) -> InstanceView {
        let instance = checked.program().instance(id);
        let protocol = checked.program().protocol(instance.protocol);
        let object = scope.object(protocol.file, &spelling::object_name(protocol.name.text()));
        let mut reached: BTreeMap<_, Vec<Vec<Type>>> = BTreeMap::new();
        for (state, arguments) in checked.instantiations_of(id) {
            reached.entry(state).or_default().push(arguments);
        }
        let mut messages = Vec::new();
        let mut endpoints = Vec::new();
        for (state, arguments) in reached {
            let state = protocol.state(state);
            scope.enter(state);
            // A state that is reached with different arguments keeps its parameters.
            let (parameters, arguments) = match arguments.as_slice() {
                [only] => {
                    let only: Vec<String> = only.iter().map(|ty| scope.payload_type(ty)).collect();
                    (String::new(), type_arguments(&only))
                }
                _ => (scope.parameter_list(), scope.parameter_list()),
            };
            let alias = || AliasView {
                name: spelling::type_name(state.name.text()),
                parameters: parameters.clone(),
                protocol: object.clone(),
                arguments: arguments.clone(),
            };
            endpoints.push(alias());
            if state.active_side().is_some() {
                messages.push(alias());
            }
        }
        let start = spelling::type_name(protocol.start().name.text());
        let arguments: Vec<String> = instance
            .arguments
            .iter()
            .map(|ty| scope.payload_type(ty))
            .collect();
        let arguments = type_arguments(&arguments);
        // The first alias is that of the start state.
        let is_generic = endpoints
            .first()
            .is_some_and(|alias| !alias.parameters.is_empty());
        let start = start + if is_generic { &arguments } else { "" };
        let side = |side| scope.whole.side_object(instance.protocol, side);
        let (client, server) = (side(Side::Client), side(Side::Server));
        let result = format!(": ({server}.{start}, {client}.{start}) =");
        let signature = declaration("def init", &[], &result, 2);
        let call = format!("{object}.init{arguments}()");
        let signature = if fits(2, &format!("{signature} {call}")) {
            format!("{signature} {call}")
        } else {
            format!("{signature}\n    {call}")
        };
        let sides = [Side::Client, Side::Server].map(|side| {
            let name = scope.whole.side_object(instance.protocol, side);
            let mut role = " {".to_owned();
            if remote.is_some() {
                let first = format!("{name}.{start}");
                let open = format!("{object}.{name}.$open{arguments}(start)");
                role.clear();
                head_of_role(&mut role, &Remote::role(side, &first, &open));
            }
            SideView { name, role }
        });
        let remote = remote.map(|(remote, sizes)| rendered(&remote.view(scope, sizes)));
        let title = format!("`{}`", protocol.name);
        InstanceView {
            docs: docs(&instance_docs(checked.program(), instance, &title), 0),
            object: spelling::object_name(instance.name.text()),
            signature,
            messages,
            endpoints,
            sides: sides.into(),
            remote: remote.map_or_else(String::new, |text| text + "\n"),
            robots: String::new(),
        }
    }
}
