//! The methods with which robots make values, and write them into transcripts: one of each for every type that is not built in.

use super::super::object_scope::{ObjectScope, nested, type_arguments};
use super::super::wire::{Matching, parts};
use super::super::{spelling, three};
use crate::protocol::{
    Builtin, Definition, EndpointType, Field, Lengths, Side, Type, TypeId, Variant,
};
use crate::robots::{Makeable, PayloadType, PayloadTypes, builtin_word};
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
    pub types: PayloadTypes<'a>,
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
        let payloads = payloads.map(|(ty, lengths, _)| (ty, lengths));
        let types = PayloadTypes::of(scope.whole.program, makeable, payloads);
        RobotTypes {
            scope,
            makeable,
            types,
        }
    }

    /// All types of the host program, in the order in which they are needed.
    pub fn hosts(&self) -> impl Iterator<Item = Host> + '_ {
        let mut seen: BTreeMap<String, usize> = BTreeMap::new();
        let all = self.types.all.iter().enumerate();
        all.filter_map(move |(at, own)| {
            let written = self
                .scope
                .whole
                .program
                .ty(self.types.host(&own.ty)?)
                .name
                .text();
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
        made.filter(|at| self.types.host(&self.types.all[*at].ty).is_some())
            .collect()
    }

    /// The positions of the types that are made with these payloads.
    fn made(&self, payloads: &[(Type, &Lengths)]) -> BTreeSet<usize> {
        let payloads = payloads.iter();
        self.types
            .made(payloads.map(|(ty, lengths)| (ty.clone(), *lengths)))
    }

    /// The methods that do not depend on the side. `sent` has the payloads of both.
    pub fn methods(&self, sent: &[(Type, &Lengths)]) -> String {
        let made = self.made(sent);
        let mut text = String::new();
        for (at, own) in self.types.all.iter().enumerate() {
            let path = self.scope.payload_type(&own.ty);
            let is_host = self.types.host(&own.ty).is_some();
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
            if let Type::Named(id) = &own.ty
                && let Definition::Enum(variants) = &self.scope.whole.program.ty(*id).definition
                && !variants.is_empty()
            {
                if made.contains(&at) {
                    self.write_make(&mut text, at, &path, variants);
                }
                self.write_show(&mut text, at, &path, variants);
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
        let (plain, own) = self.types.key(ty, lengths);
        let Type::Builtin(builtin) = plain else {
            let at = self.types.position(ty, lengths).unwrap_or_default();
            return format!("$make{at}()");
        };
        let is_bounded = matches!(builtin, Builtin::Str | Builtin::Bytes) && own.most.is_some();
        let most = if is_bounded {
            most(&own)
        } else {
            String::new()
        };
        let code = format!("$values.{}({most})", builtin_word(builtin));
        three::converted(&self.scope, ty, &code)
    }

    fn make_body(&self, own: &PayloadType) -> Vec<String> {
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

    fn make_named(&self, id: TypeId, own: &PayloadType) -> Vec<String> {
        let path = self.scope.payload_type(&own.ty);
        match &self.scope.whole.program.ty(id).definition {
            Definition::Struct(fields) => {
                let make = |field: &Field| self.make(&field.ty, &field.lengths);
                let parts: Vec<String> = fields.iter().map(make).collect();
                let value = format!("new {path}({})", names(parts.len()).join(", "));
                [vec!["$values.one()".to_owned()], opened(&parts, value)].concat()
            }
            // `write_make` has those that can be made.
            Definition::Enum(_)
            | Definition::Alias(_)
            | Definition::Extern(..)
            | Definition::Undeclared => Vec::new(),
        }
    }

    /// The method that makes a value of an enum, with a class for each part of a large one.
    fn write_make(&self, text: &mut String, at: usize, path: &str, variants: &[Variant]) {
        let made: Vec<&Variant> = variants.iter().filter(|it| self.makeable.has(it)).collect();
        let shallow = self.makeable.shallow(variants);
        let shallow = shallow.map(|at| &variants[at]);
        let shallow = made
            .iter()
            .position(|it| shallow.is_some_and(|shallow| std::ptr::eq(*it, shallow)));
        let number = format!("$values.variant({}, {})", made.len(), shallow.unwrap_or(0));
        let ends = parts(made.iter().copied());
        let cases = made.iter().enumerate().map(|(position, variant)| {
            let pattern = match position + 1 == made.len() {
                true => "_".to_owned(),
                false => position.to_string(),
            };
            self.make_variant(path, &pattern, variant)
        });
        let cases: Vec<Vec<String>> = cases.collect();
        if let [_] = ends.as_slice() {
            let lines = matched(&number, &cases, None);
            write_method(text, &format!("def $make{at}(): {path}"), &lines);
            return;
        }
        let whole = [format!("new $Make{at}_0().apply({number})")];
        write_method(text, &format!("def $make{at}(): {path}"), &whole);
        let mut start = 0;
        for (part, end) in ends.iter().enumerate() {
            let rest = format!("new $Make{at}_{}().apply($variant)", part + 1);
            let rest = (part + 1 < ends.len()).then_some(rest);
            let lines = matched("$variant", &cases[start..*end], rest.as_deref());
            let head = format!("def apply($variant: {INT}): {path}");
            write_part(text, &format!("$Make{at}_{part}"), &head, &lines);
            start = *end;
        }
    }

    /// The method that writes a value of an enum, with a class for each part of a large one.
    fn write_show(&self, text: &mut String, at: usize, path: &str, variants: &[Variant]) {
        let matching = Matching::of(self.scope.whole, variants);
        let cases = variants.iter().enumerate();
        let cases =
            cases.map(|(number, variant)| self.show_variant(path, &matching, number, variant));
        let cases: Vec<Vec<String>> = cases.collect();
        let head = format!("def $show{at}(value: {path}): {UNIT}");
        let ends = parts(variants.iter());
        if let [_] = ends.as_slice() {
            write_method(text, &head, &matched(matching.value, &cases, None));
            return;
        }
        write_method(text, &head, &[format!("new $Show{at}_0().apply(value)")]);
        let mut start = 0;
        for (part, end) in ends.iter().enumerate() {
            let rest = match part + 1 == ends.len() {
                true => "_root_.duologue.generated.unknown(value.hashCode)".to_owned(),
                false => format!("new $Show{at}_{}().apply(value)", part + 1),
            };
            let lines = matched(matching.value, &cases[start..*end], Some(&rest));
            let head = format!("def apply(value: {path}): {UNIT}");
            write_part(text, &format!("$Show{at}_{part}"), &head, &lines);
            start = *end;
        }
    }

    fn make_variant(&self, path: &str, pattern: &str, variant: &Variant) -> Vec<String> {
        let entries = variant.entries.iter();
        let parts = entries.map(|entry| self.make(&entry.ty, &entry.lengths));
        let parts: Vec<String> = parts.collect();
        let mut value = format!("{path}.{}", spelling::type_name(variant.name.text()));
        if parts.is_empty() {
            return vec![format!("  case {pattern} => {value}")];
        }
        value += &format!("({})", names(parts.len()).join(", "));
        let body = opened(&parts, value).into_iter();
        let mut lines = vec![format!("  case {pattern} =>")];
        lines.extend(body.map(|line| format!("    {line}")));
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

/// A match with these cases, and one for what the others do not cover.
fn matched(value: &str, cases: &[Vec<String>], rest: Option<&str>) -> Vec<String> {
    let mut lines = vec![format!("{value} match {{")];
    lines.extend(cases.iter().flatten().cloned());
    lines.extend(rest.map(|rest| format!("  case _ => {rest}")));
    lines.push("}".to_owned());
    lines
}

fn write_method(text: &mut String, head: &str, lines: &[String]) {
    let _ = writeln!(text, "\n      {head} = {{");
    for line in lines {
        let _ = writeln!(text, "        {line}");
    }
    text.push_str("      }\n");
}

/// A class with a method for a part of a large enum: the JVM limits the constants of a class.
fn write_part(text: &mut String, class: &str, head: &str, lines: &[String]) {
    let _ = writeln!(text, "\n      private final class {class} {{");
    let mut method = String::new();
    write_method(&mut method, head, lines);
    for line in method.trim_start_matches('\n').lines() {
        let _ = writeln!(text, "  {line}");
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
