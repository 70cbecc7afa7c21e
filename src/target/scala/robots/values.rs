//! The methods with which robots make values, and write them into transcripts: one of each for every type that is not built in.

use super::super::object_scope::{ObjectScope, nested, type_arguments};
use super::super::{spelling, three};
use crate::protocol::{
    Builtin, Definition, EndpointType, Field, Lengths, Side, Type, TypeId, Variant,
};
use crate::robots::Makeable;
use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Write as _;

pub const INT: &str = "_root_.scala.Int";
pub const UNIT: &str = "_root_.scala.Unit";
pub const STRING: &str = "_root_.java.lang.String";
pub const VALUES: &str = "_root_.duologue.robots.Values";

/// All types that the robots of a protocol need.
pub struct RobotTypes<'a> {
    /// The object `robots`.
    pub scope: ObjectScope<'a>,
    makeable: &'a Makeable,
    positions: BTreeMap<(Type, String), usize>,
    all: Vec<RobotType>,
}

pub struct RobotType {
    pub ty: Type,
    pub lengths: Lengths,
    /// Its parts that are not built in.
    parts: Vec<usize>,
}

/// A type of the program that uses the generated code.
pub struct Host {
    /// Its position among the types.
    pub at: usize,
    /// How the names of its methods end.
    pub name: String,
    pub path: String,
    /// Its name in the protocol file.
    pub written: String,
}

impl<'a> RobotTypes<'a> {
    /// The types of these payloads and all that they consist of.
    pub fn of<'l>(
        scope: ObjectScope<'a>,
        makeable: &'a Makeable,
        payloads: impl Iterator<Item = (Type, &'l Lengths, bool)>,
    ) -> RobotTypes<'a> {
        let mut types = RobotTypes {
            scope,
            makeable,
            positions: BTreeMap::new(),
            all: Vec::new(),
        };
        for (ty, lengths, _) in payloads {
            types.add(&ty, lengths);
        }
        let mut at = 0;
        while at < types.all.len() {
            let (ty, lengths) = (types.all[at].ty.clone(), types.all[at].lengths.clone());
            let parts = types.parts(&ty, &lengths);
            let parts = parts.iter();
            types.all[at].parts = parts
                .filter_map(|(ty, lengths)| types.add(ty, lengths))
                .collect();
            at += 1;
        }
        types
    }

    pub fn key(&self, ty: &Type, lengths: &Lengths) -> (Type, Lengths) {
        let (ty, lengths) = self.scope.whole.program.unaliased(ty, lengths);
        (ty.clone(), lengths.clone())
    }

    /// The position of a type; `None` if it is built in.
    fn add(&mut self, ty: &Type, lengths: &Lengths) -> Option<usize> {
        let (ty, lengths) = self.key(ty, lengths);
        if let Type::Builtin(_) = ty {
            return None;
        }
        let next = self.all.len();
        let position = self.positions.entry((ty.clone(), bounds(&lengths)));
        let position = *position.or_insert(next);
        if position == next {
            self.all.push(RobotType {
                ty,
                lengths,
                parts: Vec::new(),
            });
        }
        Some(position)
    }

    pub fn position(&self, ty: &Type, lengths: &Lengths) -> Option<usize> {
        let (ty, lengths) = self.key(ty, lengths);
        self.positions.get(&(ty, bounds(&lengths))).copied()
    }

    fn parts(&self, ty: &Type, lengths: &Lengths) -> Vec<(Type, Lengths)> {
        match ty {
            Type::List(item) | Type::Option(item) => {
                vec![((**item).clone(), lengths.part(0).clone())]
            }
            Type::Tuple(items) => {
                let items = items.iter().enumerate();
                items
                    .map(|(at, item)| (item.clone(), lengths.part(at).clone()))
                    .collect()
            }
            Type::Named(id) => {
                let parts = self.scope.whole.program.ty(*id).parts().into_iter();
                parts
                    .map(|(ty, lengths)| (ty.clone(), lengths.clone()))
                    .collect()
            }
            Type::Builtin(_) | Type::Parameter(_) | Type::Endpoint(_) | Type::Error => Vec::new(),
        }
    }

    /// The type of the host program that this is.
    fn host(&self, ty: &Type) -> Option<TypeId> {
        let Type::Named(id) = ty else { return None };
        match &self.scope.whole.program.ty(*id).definition {
            Definition::Extern(..) | Definition::Undeclared => Some(*id),
            Definition::Alias(_) | Definition::Struct(_) | Definition::Enum(_) => None,
        }
    }

    /// All types of the host program, in the order in which they are needed.
    pub fn hosts(&self) -> impl Iterator<Item = Host> + '_ {
        let mut seen: BTreeMap<String, usize> = BTreeMap::new();
        let all = self.all.iter().enumerate();
        all.filter_map(move |(at, own)| {
            let written = self.scope.whole.program.ty(self.host(&own.ty)?).name.text();
            let name = spelling::type_name(written);
            let count = seen.entry(name.clone()).or_insert(0);
            *count += 1;
            Some(Host {
                at,
                name: match *count {
                    1 => name,
                    count => format!("{name}__{count}"),
                },
                path: self.scope.payload_type(&own.ty),
                written: written.to_owned(),
            })
        })
    }

    /// The positions of the host program's types that are made with these payloads.
    pub fn made_hosts(&self, payloads: &[(Type, &Lengths)]) -> BTreeSet<usize> {
        let made = self.made(payloads).into_iter();
        made.filter(|at| self.host(&self.all[*at].ty).is_some())
            .collect()
    }

    /// The types that are made with these payloads.
    fn made(&self, payloads: &[(Type, &Lengths)]) -> BTreeSet<usize> {
        let positions = payloads
            .iter()
            .filter_map(|(ty, lengths)| self.position(ty, lengths));
        let mut pending: Vec<usize> = positions.collect();
        let mut made = BTreeSet::new();
        while let Some(at) = pending.pop() {
            if self.makeable.is(&self.all[at].ty) && made.insert(at) {
                pending.extend(&self.all[at].parts);
            }
        }
        made
    }

    /// The methods that do not depend on the side. `sent` has the payloads of both.
    pub fn methods(&self, sent: &[(Type, &Lengths)]) -> String {
        let made = self.made(sent);
        let mut text = String::new();
        for (at, own) in self.all.iter().enumerate() {
            let path = self.scope.payload_type(&own.ty);
            let is_host = self.host(&own.ty).is_some();
            let (make, show) = (
                format!("def $make{at}(): {path}"),
                format!("def $show{at}(value: {path}): {UNIT}"),
            );
            if is_host {
                if made.contains(&at) {
                    let _ = write!(text, "\n      {make}\n");
                }
                let _ = write!(text, "\n      {show}\n");
                continue;
            }
            if made.contains(&at) {
                write_method(&mut text, &make, &self.make_body(own));
            }
            write_method(&mut text, &show, &self.show_body(own));
        }
        text
    }

    /// The methods for types of the host program, in the robot of a side that makes what is in `own`.
    pub fn host_methods(&self, sent: &[(Type, &Lengths)], own: &[(Type, &Lengths)]) -> String {
        let (made, own) = (self.made(sent), self.made_hosts(own));
        let mut text = String::new();
        for host in self.hosts() {
            let (at, name, path) = (host.at, &host.name, &host.path);
            let make = format!("def $make{at}(): {path}");
            if own.contains(&at) {
                let lines = ["$values.one()", &format!("hooks.make{name}($values)")];
                write_method(&mut text, &make, &lines.map(str::to_owned));
            } else if made.contains(&at) {
                let lines = [format!("$unmade(\"{}\")", host.written)];
                write_method(&mut text, &make, &lines);
            }
            let show = format!("def $show{at}(value: {path}): {UNIT}");
            let lines = [format!("$out.raw(hooks.show{name}(value))")];
            write_method(&mut text, &show, &lines);
        }
        text
    }

    /// The expression that makes a value.
    pub fn make(&self, ty: &Type, lengths: &Lengths) -> String {
        let (plain, own) = self.key(ty, lengths);
        let Type::Builtin(builtin) = plain else {
            let at = self.position(ty, lengths).unwrap_or_default();
            return format!("$make{at}()");
        };
        let is_bounded = matches!(builtin, Builtin::Str | Builtin::Bytes) && own.most.is_some();
        let most = if is_bounded {
            most(&own)
        } else {
            String::new()
        };
        let code = format!("$values.{}({most})", word(builtin));
        three::converted(&self.scope, ty, &code)
    }

    fn make_body(&self, own: &RobotType) -> Vec<String> {
        let one = || "$values.one()".to_owned();
        match &own.ty {
            Type::List(item) if !self.makeable.is(item) => {
                vec![one(), "_root_.scala.Vector.empty".to_owned()]
            }
            Type::List(item) => {
                let item = self.make(item, own.lengths.part(0));
                vec![format!("$values.list({})({item})", most(&own.lengths))]
            }
            Type::Option(item) if !self.makeable.is(item) => {
                vec![one(), "_root_.scala.None".to_owned()]
            }
            Type::Option(item) => {
                let item = self.make(item, own.lengths.part(0));
                vec![format!("$values.option({item})")]
            }
            Type::Tuple(items) => {
                let parts = items.iter().enumerate();
                let parts = parts.map(|(at, item)| self.make(item, own.lengths.part(at)));
                let parts: Vec<String> = parts.collect();
                let values = names(parts.len());
                let tuple = nested(values, &|parts| format!("({})", parts.join(", ")));
                [vec![one()], opened(&parts, tuple)].concat()
            }
            Type::Named(id) => self.make_named(*id, own),
            Type::Endpoint(endpoint) => vec![self.make_endpoint(endpoint)],
            Type::Builtin(_) | Type::Parameter(_) | Type::Error => Vec::new(),
        }
    }

    fn make_named(&self, id: TypeId, own: &RobotType) -> Vec<String> {
        let path = self.scope.payload_type(&own.ty);
        match &self.scope.whole.program.ty(id).definition {
            Definition::Struct(fields) => {
                let make = |field: &Field| self.make(&field.ty, &field.lengths);
                let parts: Vec<String> = fields.iter().map(make).collect();
                let value = format!("new {path}({})", names(parts.len()).join(", "));
                [vec!["$values.one()".to_owned()], opened(&parts, value)].concat()
            }
            Definition::Enum(variants) => self.make_variant(&path, variants),
            Definition::Alias(_) | Definition::Extern(..) | Definition::Undeclared => Vec::new(),
        }
    }

    fn make_variant(&self, path: &str, variants: &[Variant]) -> Vec<String> {
        let has = |at: &usize| self.makeable.has(&variants[*at]);
        let made: Vec<usize> = (0..variants.len()).filter(has).collect();
        let shallow = self.makeable.shallow(variants).unwrap_or(0);
        let shallow = made.iter().position(|at| *at == shallow).unwrap_or(0);
        let mut lines = vec![format!(
            "$values.variant({}, {shallow}) match {{",
            made.len()
        )];
        for (position, at) in made.iter().enumerate() {
            let variant = &variants[*at];
            let entries = variant.entries.iter();
            let parts = entries.map(|entry| self.make(&entry.ty, &entry.lengths));
            let parts: Vec<String> = parts.collect();
            let mut value = format!("{path}.{}", spelling::type_name(variant.name.text()));
            let pattern = match position + 1 == made.len() {
                true => "_".to_owned(),
                false => position.to_string(),
            };
            if parts.is_empty() {
                lines.push(format!("  case {pattern} => {value}"));
                continue;
            }
            value += &format!("({})", names(parts.len()).join(", "));
            lines.push(format!("  case {pattern} =>"));
            let body = opened(&parts, value).into_iter();
            lines.extend(body.map(|line| format!("    {line}")));
        }
        lines.push("}".to_owned());
        lines
    }

    /// A session of its own, whose other side is closed.
    fn make_endpoint(&self, endpoint: &EndpointType) -> String {
        let protocol = self.scope.whole.program.protocol(endpoint.protocol);
        let name = spelling::object_name(protocol.name.text());
        let object = self.scope.object(protocol.file, &name);
        let arguments = endpoint.arguments.iter();
        let arguments = arguments.map(|ty| self.scope.payload_type(ty));
        let arguments = type_arguments(&arguments.collect::<Vec<String>>());
        let side = match endpoint.side {
            Side::Client => "client",
            Side::Server => "server",
        };
        format!("$values.{side}({object}.init{arguments}())")
    }
}

fn write_method(text: &mut String, head: &str, lines: &[String]) {
    let _ = writeln!(text, "\n      {head} = {{");
    for line in lines {
        let _ = writeln!(text, "        {line}");
    }
    text.push_str("      }\n");
}

/// The names of the parts of a value.
fn names(count: usize) -> Vec<String> {
    (0..count).map(|at| format!("a{at}")).collect()
}

/// Makes the parts, one level deeper, and then the value.
fn opened(parts: &[String], value: String) -> Vec<String> {
    let mut lines = vec!["$values.open()".to_owned()];
    let parts = parts.iter().enumerate();
    lines.extend(parts.map(|(at, part)| format!("val a{at} = {part}")));
    lines.push("$values.close()".to_owned());
    lines.push(value);
    lines
}

/// The bound of a type.
fn most(lengths: &Lengths) -> String {
    let most = lengths
        .most
        .and_then(|limit| i64::try_from(limit.most).ok());
    most.map_or_else(
        || "_root_.scala.Long.MaxValue".to_owned(),
        |most| format!("{most}L"),
    )
}

/// The bounds in a type as a text that is the same for the same bounds.
fn bounds(lengths: &Lengths) -> String {
    if lengths.is_none() {
        return String::new();
    }
    let own = lengths
        .most
        .map_or(String::new(), |limit| limit.most.to_string());
    let parts: Vec<String> = lengths.parts.iter().map(bounds).collect();
    format!("{own}[{}]", parts.join(","))
}

/// The runtime's methods for a built-in type.
pub fn word(builtin: Builtin) -> &'static str {
    match builtin {
        Builtin::Bool => "bool",
        Builtin::U8 => "u8",
        Builtin::U16 => "u16",
        Builtin::U32 => "u32",
        Builtin::U64 => "u64",
        Builtin::I8 => "i8",
        Builtin::I16 => "i16",
        Builtin::I32 => "i32",
        Builtin::I64 => "i64",
        Builtin::F32 => "f32",
        Builtin::F64 => "f64",
        Builtin::Str => "text",
        Builtin::Bytes => "bytes",
    }
}
