//! The functions with which a protocol's robots write values into transcripts.

use super::fields;
use super::robot_values::{RobotTypes, lines, pattern};
use super::spelling::{type_name, value_name};
use crate::protocol::{Builtin, Definition, Entry, Lengths, Side, Type, TypeId};
use crate::robots::PayloadType;

impl RobotTypes<'_> {
    /// The statement that writes the value to which `value` refers.
    pub(super) fn show(
        &self,
        ty: &Type,
        lengths: &Lengths,
        value: &str,
        side: Option<Side>,
    ) -> String {
        let (ty, lengths) = self.types.key(ty, lengths);
        if let Type::Builtin(builtin) = &ty {
            return match builtin {
                Builtin::Str => format!("out.text({value});"),
                Builtin::Bytes => format!("out.bytes({value});"),
                Builtin::F32 | Builtin::F64 => format!("out.real(f64::from(*{value}));"),
                Builtin::Bool
                | Builtin::U8
                | Builtin::U16
                | Builtin::U32
                | Builtin::U64
                | Builtin::I8
                | Builtin::I16
                | Builtin::I32
                | Builtin::I64 => format!("out.plain({value});"),
            };
        }
        let at = self.types.position(&ty, &lengths).unwrap_or_default();
        match side.filter(|_| self.is_hosted[at]) {
            Some(side) => format!("{}_show_{at}(hooks, {value}, out);", side.word()),
            None => format!("show_{at}({value}, out);"),
        }
    }

    pub(super) fn show_body(&self, own: &PayloadType, side: Option<Side>) -> String {
        match &own.ty {
            Type::List(item) => {
                let item = self.show(item, own.lengths.part(0), "item", side);
                lines([
                    "out.raw(\"[\");",
                    "for (at, item) in value.iter().enumerate() {",
                    "if at > 0 { out.raw(\", \"); }",
                    &item,
                    "}",
                    "out.raw(\"]\");",
                ])
            }
            Type::Option(item) => {
                let item = self.show(item, own.lengths.part(0), "item", side);
                lines([
                    "match value {",
                    "::std::option::Option::None => out.raw(\"none\"),",
                    &format!(
                        "::std::option::Option::Some(item) => {{ out.raw(\"some(\"); {item} out.raw(\")\"); }}"
                    ),
                    "}",
                ])
            }
            Type::Tuple(items) => {
                let parts = items.iter().enumerate();
                let parts = parts.map(|(at, item)| {
                    let value = format!("(&value.{at})");
                    self.show(item, own.lengths.part(at), &value, side)
                });
                let mut all = vec!["out.raw(\"(\");".to_owned()];
                all.extend(separated(parts));
                all.push("out.raw(\")\");".to_owned());
                lines(all.iter().map(String::as_str))
            }
            Type::Named(id) => self.show_named(*id, own, side),
            Type::Endpoint(endpoint) => {
                let protocol = self.scope.program.protocol(endpoint.protocol);
                let state = &protocol.state(endpoint.state).name;
                let (name, side) = (&protocol.name, endpoint.side.word());
                lines([format!("out.raw(\"<{name}.{side}.{state}>\");").as_str()])
            }
            Type::Builtin(_) | Type::Parameter(_) | Type::Error => String::new(),
        }
    }

    fn show_named(&self, id: TypeId, own: &PayloadType, side: Option<Side>) -> String {
        let path = self.path(&own.ty);
        let mut all = Vec::new();
        match &self.scope.program.ty(id).definition {
            Definition::Struct(fields) => {
                all.push("out.raw(\"{\");".to_owned());
                let parts = fields.iter().map(|field| {
                    let value = format!("(&value.{})", value_name(&field.name));
                    let show = self.show(&field.ty, &field.lengths, &value, side);
                    format!("out.raw(\"{}: \"); {show}", field.name)
                });
                all.extend(separated(parts));
                all.push("out.raw(\"}\");".to_owned());
            }
            Definition::Enum(variants) => {
                all.push("match value {".to_owned());
                for variant in variants {
                    let head = format!("{path}::{}", type_name(&variant.name));
                    let names = fields::of_variant(&variant.entries);
                    let pattern = pattern(&head, names, variant.entries.len(), "");
                    let shown = self.show_entries(variant.name.text(), &variant.entries, side);
                    all.push(format!("{pattern} => {{ {shown} }}"));
                }
                all.push("}".to_owned());
            }
            Definition::Extern(..) | Definition::Undeclared => {
                let name = self.host_name(id);
                all.push(format!("out.raw(&hooks.show_{name}(value));"));
            }
            Definition::Alias(_) => {}
        }
        lines(all.iter().map(String::as_str))
    }

    /// Statements that write a variant, whose values are bound to `a0` and so on.
    fn show_entries(&self, name: &str, entries: &[Entry], side: Option<Side>) -> String {
        let types = entries
            .iter()
            .map(|entry| (entry.ty.clone(), &entry.lengths));
        let types: Vec<_> = types.collect();
        format!("out.raw(\"{name}\"); {}", self.show_payload(&types, side))
    }

    /// Statements that write a payload, whose values are bound to references `a0` and so on.
    pub(super) fn show_payload(&self, types: &[(Type, &Lengths)], side: Option<Side>) -> String {
        if types.is_empty() {
            return String::new();
        }
        let parts = types.iter().enumerate();
        let parts =
            parts.map(|(at, (ty, lengths))| self.show(ty, lengths, &format!("a{at}"), side));
        let parts: Vec<String> = separated(parts).collect();
        format!("out.raw(\"(\"); {} out.raw(\")\");", parts.join(" "))
    }
}

/// Statements with a comma written between them.
fn separated(statements: impl Iterator<Item = String>) -> impl Iterator<Item = String> {
    statements.enumerate().map(|(at, statement)| match at {
        0 => statement,
        _ => format!("out.raw(\", \"); {statement}"),
    })
}
