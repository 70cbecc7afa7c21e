//! The functions with which a protocol's robots make values and write them into transcripts: one of each for every type that is not
//! built in.

use super::fields;
use super::spelling::{NameScope, type_name, value_name};
use crate::protocol::{
    Builtin, Definition, EndpointType, Entry, Field, Lengths, Side, Type, TypeId,
};
use crate::robots::{Makeable, PayloadType, PayloadTypes, builtin_word};
use std::collections::BTreeSet;
use std::fmt::Write as _;

/// All types that the robots of a protocol need.
pub(super) struct RobotTypes<'a> {
    /// The module `robots`.
    pub(super) scope: NameScope<'a>,
    pub(super) makeable: &'a Makeable,
    pub(super) types: PayloadTypes<'a>,
    /// For each type whether it has parts, or is one itself, that only the program can make.
    pub(super) is_hosted: Vec<bool>,
}

impl<'a> RobotTypes<'a> {
    /// The types of these payloads and all that they consist of.
    pub(super) fn of<'l>(
        scope: NameScope<'a>,
        makeable: &'a Makeable,
        payloads: impl Iterator<Item = (Type, &'l Lengths)>,
    ) -> RobotTypes<'a> {
        let types = PayloadTypes::of(scope.program, makeable, payloads);
        let is_hosted = hosted(&types);
        RobotTypes {
            scope,
            makeable,
            types,
            is_hosted,
        }
    }

    /// All types of the host program, in the order in which they are needed.
    pub(super) fn hosts(&self) -> Vec<TypeId> {
        let mut seen = BTreeSet::new();
        let all = self.types.all.iter();
        let hosts = all.filter_map(|own| self.types.host(&own.ty));
        hosts.filter(|id| seen.insert(*id)).collect()
    }

    /// Those types of the host program that are made with these payloads.
    pub(super) fn made_hosts<'l>(
        &self,
        payloads: impl Iterator<Item = (Type, &'l Lengths)>,
    ) -> BTreeSet<TypeId> {
        let made = self.types.made(payloads).into_iter();
        made.filter_map(|at| self.types.host(&self.types.all[at].ty))
            .collect()
    }

    /// The suffix of the methods for a type of the host program.
    pub(super) fn host_name(&self, id: TypeId) -> String {
        let name = |id: TypeId| {
            let name = value_name(&self.scope.program.ty(id).name);
            name.trim_start_matches("r#").to_owned()
        };
        let own = name(id);
        let hosts = self.hosts().into_iter();
        let before = hosts.take_while(|other| *other != id);
        match before.filter(|other| name(*other) == own).count() {
            0 => own,
            count => format!("{own}__{}", count + 1),
        }
    }

    /// The path of a type from the module `robots`.
    pub(super) fn path(&self, ty: &Type) -> String {
        self.scope.ty(ty, &[]).flat()
    }

    /// All functions. `sent` has the payloads of each side.
    pub(super) fn functions(&self, sent: [Vec<(Type, &Lengths)>; 2]) -> String {
        let mut text = String::new();
        for (at, own) in self.types.all.iter().enumerate() {
            if !self.is_hosted[at] {
                if self.makeable.is(&own.ty) {
                    self.make_function(&mut text, at, None);
                }
                self.show_function(&mut text, at, None);
            }
        }
        for (side, sent) in [Side::Client, Side::Server].into_iter().zip(sent) {
            let made = self.types.made(sent.into_iter());
            for at in 0..self.types.all.len() {
                if self.is_hosted[at] {
                    if made.contains(&at) {
                        self.make_function(&mut text, at, Some(side));
                    }
                    self.show_function(&mut text, at, Some(side));
                }
            }
        }
        text
    }

    fn make_function(&self, text: &mut String, at: usize, side: Option<Side>) {
        let own = &self.types.all[at];
        let (name, generics, hooks) = head("make", at, side);
        let (path, body) = (self.path(&own.ty), self.make_body(own, side));
        let _ = write!(
            text,
            "\n    fn {name}{generics}({hooks}values: &mut ::duologue::robots::Values<'_>) -> {path} {{\n{body}    }}\n"
        );
    }

    fn show_function(&self, text: &mut String, at: usize, side: Option<Side>) {
        let own = &self.types.all[at];
        let (name, generics, hooks) = head("show", at, side);
        let (path, body) = (self.path(&own.ty), self.show_body(own, side));
        let _ = write!(
            text,
            "\n    fn {name}{generics}({hooks}value: &{path}, out: &mut ::duologue::robots::Line) {{\n{body}    }}\n"
        );
    }

    /// The expression that makes a value.
    pub(super) fn make(&self, ty: &Type, lengths: &Lengths, side: Option<Side>) -> String {
        let (ty, lengths) = self.types.key(ty, lengths);
        let most = lengths.most.map_or(u64::MAX, |limit| limit.most);
        if let Type::Builtin(builtin) = &ty {
            return match builtin {
                Builtin::Str => format!("values.text({most})"),
                Builtin::Bytes => format!("values.bytes({most})"),
                number @ (Builtin::Bool
                | Builtin::U8
                | Builtin::U16
                | Builtin::U32
                | Builtin::U64
                | Builtin::I8
                | Builtin::I16
                | Builtin::I32
                | Builtin::I64
                | Builtin::F32
                | Builtin::F64) => format!("values.{}()", builtin_word(*number)),
            };
        }
        let at = self.types.position(&ty, &lengths).unwrap_or_default();
        match side.filter(|_| self.is_hosted[at]) {
            Some(side) => format!("{}_make_{at}(hooks, values)", side.word()),
            None => format!("make_{at}(values)"),
        }
    }

    fn make_body(&self, own: &PayloadType, side: Option<Side>) -> String {
        let most = own.lengths.most.map_or(u64::MAX, |limit| limit.most);
        match &own.ty {
            Type::List(item) if !self.makeable.is(item) => {
                lines(["values.count_one();", "::std::vec::Vec::new()"])
            }
            Type::List(item) => {
                let item = self.make(item, own.lengths.part(0), side);
                lines([
                    &format!("let count = values.items({most});"),
                    "values.open();",
                    "let mut items = ::std::vec::Vec::new();",
                    &format!("for _ in 0..count {{ items.push({item}); }}"),
                    "values.close();",
                    "items",
                ])
            }
            Type::Option(item) if !self.makeable.is(item) => {
                lines(["values.count_one();", "::std::option::Option::None"])
            }
            Type::Option(item) => {
                let item = self.make(item, own.lengths.part(0), side);
                lines([
                    "if !values.is_some() { return ::std::option::Option::None; }",
                    "values.open();",
                    &format!("let item = {item};"),
                    "values.close();",
                    "::std::option::Option::Some(item)",
                ])
            }
            Type::Tuple(items) => {
                let parts = items.iter().enumerate();
                let parts = parts.map(|(at, item)| self.make(item, own.lengths.part(at), side));
                let parts: Vec<String> = parts.collect();
                let names: Vec<String> = (0..parts.len()).map(|at| format!("a{at}")).collect();
                let value = format!("({})", names.join(", "));
                format!("        values.count_one();\n{}", opened(&parts, &value))
            }
            Type::Named(id) => self.make_named(*id, own, side),
            Type::Endpoint(endpoint) => self.make_endpoint(endpoint),
            Type::Builtin(_) | Type::Parameter(_) | Type::Error => String::new(),
        }
    }

    fn make_named(&self, id: TypeId, own: &PayloadType, side: Option<Side>) -> String {
        let path = self.path(&own.ty);
        match &self.scope.program.ty(id).definition {
            Definition::Struct(fields) => {
                let make = |field: &Field| self.make(&field.ty, &field.lengths, side);
                let parts: Vec<String> = fields.iter().map(make).collect();
                let names = fields.iter().enumerate();
                let names = names.map(|(at, field)| format!("{}: a{at}", value_name(&field.name)));
                let value = format!("{path} {{ {} }}", names.collect::<Vec<_>>().join(", "));
                format!("        values.count_one();\n{}", opened(&parts, &value))
            }
            Definition::Enum(variants) => {
                let has = |at: &usize| self.makeable.has(&variants[*at]);
                let made: Vec<usize> = (0..variants.len()).filter(has).collect();
                let shallow = self.makeable.shallow(variants).unwrap_or(0);
                let shallow = made.iter().position(|at| *at == shallow).unwrap_or(0);
                let mut text = format!(
                    "        match values.variant({}, {shallow}) {{\n",
                    made.len()
                );
                for (position, at) in made.iter().enumerate() {
                    let variant = &variants[*at];
                    let make = |entry: &Entry| self.make(&entry.ty, &entry.lengths, side);
                    let parts: Vec<String> = variant.entries.iter().map(make).collect();
                    let head = format!("{path}::{}", type_name(&variant.name));
                    let names = fields::of_variant(&variant.entries);
                    let value = pattern(&head, names, parts.len(), "");
                    let position = match position + 1 == made.len() {
                        true => "_".to_owned(),
                        false => position.to_string(),
                    };
                    let body = match parts.is_empty() {
                        true => format!("        {value}\n"),
                        false => opened(&parts, &value),
                    };
                    let _ = write!(text, "        {position} => {{\n{body}        }}\n");
                }
                text + "        }\n"
            }
            Definition::Extern(..) | Definition::Undeclared => {
                let make = format!("hooks.make_{}(values)", self.host_name(id));
                lines(["values.count_one();", &make])
            }
            Definition::Alias(_) => String::new(),
        }
    }

    /// A session of its own, whose other side is closed.
    fn make_endpoint(&self, endpoint: &EndpointType) -> String {
        let path = self.scope.protocol(endpoint.protocol);
        let arguments = self.scope.types(&endpoint.arguments, &[]);
        let arguments: Vec<String> = arguments
            .iter()
            .map(super::layout::Document::flat)
            .collect();
        let init = match arguments.is_empty() {
            true => format!("{path}init()"),
            false => format!("{path}init::<{}>()", arguments.join(", ")),
        };
        let side = endpoint.side.word();
        lines([
            "values.count_one();",
            &format!("let (server, client) = {init};"),
            &format!("::std::mem::drop({});", endpoint.side.dual().word()),
            side,
        ])
    }
}

/// The trait with which a program supplies what a side's robot cannot know.
pub(super) fn role(side: Side) -> &'static str {
    match side {
        Side::Client => "Client",
        Side::Server => "Server",
    }
}

/// The name of a function, its type parameters and its first parameter.
fn head(word: &str, at: usize, side: Option<Side>) -> (String, String, &'static str) {
    match side {
        None => (format!("{word}_{at}"), String::new(), ""),
        Some(side) => {
            let role = role(side);
            (
                format!("{}_{word}_{at}", side.word()),
                format!("<H: {role} + ?Sized>"),
                "hooks: &mut H, ",
            )
        }
    }
}

/// A pattern or value of a variant with `a0` and so on, and what follows these.
pub(super) fn pattern(head: &str, names: Option<Vec<String>>, count: usize, rest: &str) -> String {
    let values = (0..count).map(|at| format!("a{at}"));
    let values: Vec<String> = match &names {
        Some(names) => {
            let fields = names.iter().zip(values);
            fields
                .map(|(name, value)| format!("{name}: {value}"))
                .collect()
        }
        None => values.collect(),
    };
    let mut values = values.join(", ");
    if !rest.is_empty() {
        let comma = if values.is_empty() { "" } else { ", " };
        values = format!("{values}{comma}{rest}");
    }
    match (values.is_empty(), names) {
        (true, _) => head.to_owned(),
        (false, Some(_)) => format!("{head} {{ {values} }}"),
        (false, None) => format!("{head}({values})"),
    }
}

/// Makes the parts, one level deeper, and then the value.
fn opened(parts: &[String], value: &str) -> String {
    let mut text = "        values.open();\n".to_owned();
    for (at, part) in parts.iter().enumerate() {
        let _ = writeln!(text, "        let a{at} = {part};");
    }
    text + &format!("        values.close();\n        {value}\n")
}

pub(super) fn lines<'t>(all: impl IntoIterator<Item = &'t str>) -> String {
    all.into_iter()
        .map(|line| format!("        {line}\n"))
        .collect()
}

/// For each type whether the program is needed for it.
fn hosted(types: &PayloadTypes<'_>) -> Vec<bool> {
    let mut users: Vec<Vec<usize>> = vec![Vec::new(); types.all.len()];
    let mut pending = Vec::new();
    for (at, own) in types.all.iter().enumerate() {
        own.parts.iter().for_each(|part| users[*part].push(at));
        pending.extend(types.host(&own.ty).map(|_| at));
    }
    let mut is_hosted = vec![false; types.all.len()];
    while let Some(at) = pending.pop() {
        if !std::mem::replace(&mut is_hosted[at], true) {
            pending.extend(&users[at]);
        }
    }
    is_hosted
}
