//! The methods with which robots write values into transcripts.

use super::super::object_scope::tuple_paths;
use super::super::spelling;
use super::super::wire::Matching;
use super::values::RobotTypes;
use crate::protocol::{Definition, Lengths, Type, TypeId, Variant};
use crate::robots::{PayloadType, builtin_word};

impl RobotTypes<'_> {
    /// The statement that writes a value.
    fn show(&self, ty: &Type, lengths: &Lengths, value: &str) -> String {
        let (plain, _) = self.types.key(ty, lengths);
        if let Type::Builtin(builtin) = plain {
            return format!("$out.{}({value})", builtin_word(builtin));
        }
        let at = self.types.position(ty, lengths).unwrap_or_default();
        format!("$show{at}({value})")
    }

    /// The statements that write the values of a message, and end its line.
    pub fn show_payload(&self, entries: &[(Type, &Lengths, String)]) -> Vec<String> {
        let parts = entries.iter();
        let parts =
            parts.map(|(ty, lengths, value)| (String::new(), self.show(ty, lengths, value)));
        let mut lines = Vec::new();
        if !entries.is_empty() {
            lines = written("(", parts, ")");
        }
        lines.push("$out.end()".to_owned());
        lines
    }

    pub fn show_body(&self, own: &PayloadType) -> Vec<String> {
        match &own.ty {
            Type::List(item) => {
                let item = self.show(item, own.lengths.part(0), "item");
                vec![format!("$out.list(value)(item => {item})")]
            }
            Type::Option(item) => {
                let item = self.show(item, own.lengths.part(0), "item");
                vec![format!("$out.option(value)(item => {item})")]
            }
            Type::Tuple(items) => {
                let paths = tuple_paths(items.len());
                let parts = items.iter().zip(paths).enumerate();
                let parts = parts.map(|(at, (item, path))| {
                    let value = format!("value{path}");
                    (String::new(), self.show(item, own.lengths.part(at), &value))
                });
                written("(", parts, ")")
            }
            Type::Named(id) => self.show_named(*id),
            Type::Endpoint(endpoint) => {
                let protocol = self.scope.whole.program.protocol(endpoint.protocol);
                let state = &protocol.state(endpoint.state).name;
                let (name, side) = (&protocol.name, endpoint.side.word());
                instead(&format!("<{name}.{side}.{state}>"))
            }
            Type::Builtin(_) | Type::Parameter(_) | Type::Error => Vec::new(),
        }
    }

    fn show_named(&self, id: TypeId) -> Vec<String> {
        match &self.scope.whole.program.ty(id).definition {
            Definition::Struct(fields) if fields.is_empty() => instead("{}"),
            Definition::Struct(fields) => {
                let parts = fields.iter().map(|field| {
                    let value = format!("value.{}", spelling::field_name(field.name.text()));
                    let show = self.show(&field.ty, &field.lengths, &value);
                    (format!("{}: ", field.name), show)
                });
                written("{", parts, "}")
            }
            // One with variants has methods of its own.
            Definition::Enum(_) => instead(""),
            Definition::Alias(_) | Definition::Extern(..) | Definition::Undeclared => Vec::new(),
        }
    }

    /// The case of a variant.
    pub fn show_variant(
        &self,
        path: &str,
        matching: &Matching,
        number: usize,
        variant: &Variant,
    ) -> Vec<String> {
        let class = format!("{path}.{}", spelling::type_name(variant.name.text()));
        let name = &variant.name;
        if variant.entries.is_empty() {
            let case = matching.constant(&class, number);
            return vec![format!("{case} $out.raw(\"{name}\")")];
        }
        let field = match self.scope.whole.is_for_three() {
            true => spelling::case_field_name,
            false => spelling::field_name,
        };
        let parts = variant.entries.iter().map(|entry| {
            let value = format!("it.{}", field(entry.name.text()));
            (String::new(), self.show(&entry.ty, &entry.lengths, &value))
        });
        let body = written(&format!("{name}("), parts, ")").into_iter();
        let mut lines = matching.class(&class, number);
        lines.extend(body.map(|line| format!("    {line}")));
        lines
    }
}

/// Statements that write a value with its parts, each with a text before it.
fn written(first: &str, parts: impl Iterator<Item = (String, String)>, last: &str) -> Vec<String> {
    let mut lines = Vec::new();
    let mut between = first.to_owned();
    for (name, show) in parts {
        lines.push(format!("$out.raw(\"{between}{name}\")"));
        lines.push(show);
        ", ".clone_into(&mut between);
    }
    lines.push(format!("$out.raw(\"{last}\")"));
    lines
}

/// The statement that writes a text in place of a value.
fn instead(text: &str) -> Vec<String> {
    vec![format!("$out.instead(value, \"{text}\")")]
}
