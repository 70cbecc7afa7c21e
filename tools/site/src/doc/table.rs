//! What the stepper knows about a protocol, as JSON.

use super::context::Context;
use crate::html::Html;
use duologue::graph::diagram::entry_text;
use duologue::protocol::text::builtin_word;
use duologue::protocol::{Builtin, Definition, Entry, Lengths, ProtocolId, StateId, Type, TypeId};
use serde_json::{Value, json};
use std::collections::BTreeMap;

/// The most characters of an example.
const LONGEST: usize = 80;

/// The types of values, as `values.mjs` reads them. What is declared has a number, because types may contain themselves.
#[derive(Default)]
struct Types {
    numbers: BTreeMap<TypeId, usize>,
    declared: Vec<TypeId>,
}

/// The table of a protocol, as it is embedded in its page. A message has its name, the state that follows, and its entries: the
/// name, the type, an example and the text of each.
pub fn table(context: &Context<'_>, id: ProtocolId) -> Html {
    let checked = context.checked.protocol(id);
    let protocol = checked.protocol();
    let mut types = Types::default();
    let states = protocol.states.iter().map(|state| {
        let messages = state.messages.iter().map(|message| {
            let next = message.next.state().map(StateId::index);
            let entries = message.entries.iter().map(|entry| {
                let mut example = String::new();
                write_example(context, &mut example, &entry.ty);
                let ty = type_value(context, &entry.ty, &entry.lengths, &mut types);
                json!([
                    entry.name.text(),
                    ty,
                    example,
                    entry_text(entry, context.sources)
                ])
            });
            let entries: Vec<Value> = entries.collect();
            json!([message.name.text(), next, entries])
        });
        let messages: Vec<Value> = messages.collect();
        let turn = state.active_side().map(|side| side as u8);
        json!({ "name": state.name.text(), "turn": turn, "messages": messages })
    });
    let states: Vec<Value> = states.collect();
    let mut declared = Vec::new();
    while let Some(id) = types.declared.get(declared.len()) {
        let id = *id;
        declared.push(declaration(context, id, &mut types));
    }
    let table = json!({
        "name": protocol.name.text(),
        "capacity": [checked.capacity_to_server().most(), checked.capacity_to_client().most()],
        "states": states,
        "types": declared,
    });
    // A `<` could end the element.
    Html::markup(table.to_string().replace('<', "\\u003c"))
}

/// A type with the bounds that are written with it.
fn type_value(context: &Context<'_>, ty: &Type, lengths: &Lengths, types: &mut Types) -> Value {
    let most = lengths.most.map(|limit| limit.most);
    match ty {
        Type::Builtin(builtin @ (Builtin::Str | Builtin::Bytes)) => {
            json!([builtin_word(*builtin), most])
        }
        Type::Builtin(builtin) => json!(builtin_word(*builtin)),
        Type::List(item) => json!([
            "list",
            type_value(context, item, lengths.part(0), types),
            most
        ]),
        Type::Option(item) => json!(["option", type_value(context, item, lengths.part(0), types)]),
        Type::Tuple(parts) => {
            let parts = parts.iter().enumerate();
            let parts =
                parts.map(|(index, part)| type_value(context, part, lengths.part(index), types));
            Value::Array([json!("tuple")].into_iter().chain(parts).collect())
        }
        Type::Named(id) => named(context, *id, types),
        Type::Parameter(_) | Type::Error => json!("any"),
        Type::Endpoint(_) => {
            let mut text = String::new();
            write_example(context, &mut text, ty);
            json!(["text", text])
        }
    }
}

/// The number of a declared type. Bounds are written where it is declared, not where it is used.
fn named(context: &Context<'_>, id: TypeId, types: &mut Types) -> Value {
    let declared = context.program.ty(id);
    match &declared.definition {
        Definition::Extern(..) => json!("any"),
        Definition::Alias(_) | Definition::Struct(_) | Definition::Enum(_) => {
            let next = types.declared.len();
            let number = *types.numbers.entry(id).or_insert(next);
            if number == next {
                types.declared.push(id);
            }
            json!(number)
        }
    }
}

fn declaration(context: &Context<'_>, id: TypeId, types: &mut Types) -> Value {
    let declared = context.program.ty(id);
    let mut parts = Vec::new();
    match &declared.definition {
        Definition::Alias(target) => {
            parts.push(json!("alias"));
            parts.push(type_value(context, target, &declared.lengths, types));
        }
        Definition::Struct(fields) => {
            parts.push(json!("struct"));
            for field in fields {
                let ty = type_value(context, &field.ty, &field.lengths, types);
                parts.push(json!([field.name.text(), ty]));
            }
        }
        Definition::Enum(variants) => {
            parts.push(json!("enum"));
            for variant in variants {
                let entries = variant.entries.iter();
                let entry = |entry: &Entry| {
                    json!([
                        entry.name.text(),
                        type_value(context, &entry.ty, &entry.lengths, types)
                    ])
                };
                let name = [json!(variant.name.text())].into_iter();
                parts.push(Value::Array(name.chain(entries.map(entry)).collect()));
            }
        }
        Definition::Extern(..) => {}
    }
    Value::Array(parts)
}

fn examples<'t>(
    context: &Context<'_>,
    text: &mut String,
    [open, close]: [&str; 2],
    types: impl Iterator<Item = &'t Type>,
) {
    text.push_str(open);
    for (index, ty) in types.enumerate() {
        if index > 0 {
            text.push_str(", ");
        }
        write_example(context, text, ty);
    }
    text.push_str(close);
}

/// A value of a type, as transcripts write it. Stops when the text is long, so that types within types take little time.
fn write_example(context: &Context<'_>, text: &mut String, ty: &Type) {
    if text.len() > LONGEST {
        text.push_str("...");
        return;
    }
    match ty {
        Type::Builtin(builtin) => text.push_str(match builtin {
            Builtin::Bool => "true",
            Builtin::F32 | Builtin::F64 => "0.00",
            Builtin::Str => "\"\"",
            Builtin::Bytes => "<>",
            Builtin::U8
            | Builtin::U16
            | Builtin::U32
            | Builtin::U64
            | Builtin::I8
            | Builtin::I16
            | Builtin::I32
            | Builtin::I64 => "0",
        }),
        Type::List(_) => text.push_str("[]"),
        Type::Option(_) => text.push_str("none"),
        Type::Tuple(parts) => examples(context, text, ["(", ")"], parts.iter()),
        Type::Named(id) => declared(context, text, *id),
        Type::Parameter(_) | Type::Error => text.push('_'),
        Type::Endpoint(endpoint) => {
            let protocol = context.program.protocol(endpoint.protocol);
            let state = &protocol.state(endpoint.state).name;
            let side = endpoint.side.word();
            text.push_str(&format!("<{}.{side}.{state}>", protocol.name));
        }
    }
}

fn declared(context: &Context<'_>, text: &mut String, id: duologue::protocol::TypeId) {
    let declared = context.program.ty(id);
    match &declared.definition {
        Definition::Alias(ty) => write_example(context, text, ty),
        Definition::Struct(fields) => {
            text.push('{');
            for (index, field) in fields.iter().enumerate() {
                if index > 0 {
                    text.push_str(", ");
                }
                text.push_str(field.name.text());
                text.push_str(": ");
                write_example(context, text, &field.ty);
                if text.len() > LONGEST {
                    break;
                }
            }
            text.push('}');
        }
        Definition::Enum(variants) => {
            let plain = variants.iter().find(|variant| variant.entries.is_empty());
            if let Some(variant) = plain.or(variants.first()) {
                text.push_str(variant.name.text());
                if !variant.entries.is_empty() {
                    let types = variant.entries.iter().map(|entry| &entry.ty);
                    examples(context, text, ["(", ")"], types);
                }
            }
        }
        Definition::Extern(..) => text.push_str(declared.name.text()),
    }
}
