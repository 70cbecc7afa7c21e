//! What happens to a payload between the caller of a sending method and the ring: ranges are checked, endpoints are handed over.

use super::names::object_scope::{nested, tuple_paths};
use super::names::whole::Whole;
use crate::protocol::{Builtin, Definition, Message, Next, Type};
use askama::Template;

/// How many levels of nested lists, options, tuples and aliases generated code looks into. Deeper endpoints are found at run
/// time; deeper ranges are not checked.
const DEEPEST: usize = 32;

/// A statement that rejects values which the type cannot hold.
#[derive(Template)]
#[template(path = "scala/check.scala.jinja")]
pub enum Check {
    Range {
        range: &'static str,
        /// What the user calls the value.
        name: String,
        value: String,
    },
    /// Of each item of a list or an option.
    Each { value: String, checks: Vec<Check> },
}

/// The statements that reject a value that the type cannot hold; none if the Scala type already guarantees it, or if the value
/// was checked when it was created.
pub fn check(whole: &Whole, ty: &Type, name: &str, value: &str) -> Vec<Check> {
    check_at(0, whole, ty, name, value)
}

fn check_at(depth: usize, whole: &Whole, ty: &Type, name: &str, value: &str) -> Vec<Check> {
    if depth > DEEPEST {
        return Vec::new();
    }
    let (name, value) = (name.to_owned(), value.to_owned());
    let range = |range| {
        vec![Check::Range {
            range,
            name: name.clone(),
            value: value.clone(),
        }]
    };
    match ty {
        Type::Builtin(Builtin::U8) => range("u8"),
        Type::Builtin(Builtin::U16) => range("u16"),
        Type::Builtin(Builtin::U32) => range("u32"),
        Type::List(item) | Type::Option(item) => {
            match check_at(depth + 1, whole, item, &name, "$item") {
                checks if checks.is_empty() => checks,
                checks => vec![Check::Each { value, checks }],
            }
        }
        Type::Tuple(items) => {
            let parts = items.iter().zip(tuple_paths(items.len()));
            let checks = parts.flat_map(|(item, path)| {
                check_at(depth + 1, whole, item, &name, &format!("{value}{path}"))
            });
            checks.collect()
        }
        Type::Named(id) => match whole.program.ty(*id).definition.alias() {
            // An opaque type checks its values when they are created.
            Some(target) if !whole.is_distinct(ty) => {
                check_at(depth + 1, whole, target, &name, &value)
            }
            Some(_) | None => Vec::new(),
        },
        Type::Builtin(
            Builtin::Bool
            | Builtin::U64
            | Builtin::I8
            | Builtin::I16
            | Builtin::I32
            | Builtin::I64
            | Builtin::F32
            | Builtin::F64
            | Builtin::Str
            | Builtin::Bytes,
        )
        | Type::Parameter(_)
        | Type::Endpoint(_)
        | Type::Error => Vec::new(),
    }
}

/// A value with its endpoints taken away from the sender.
#[derive(Template)]
#[template(path = "scala/moved.scala.jinja")]
pub enum Moved {
    /// It holds none.
    Same(String),
    Endpoint(String),
    /// Only at run time it is known whether it holds endpoints, and where.
    Any(String),
    /// A value of a declared type.
    Declared(String),
    /// A list or an option.
    Each {
        value: String,
        item: Box<Moved>,
    },
    Tuple(Vec<Moved>),
}

pub fn moved(whole: &Whole, ty: &Type, value: &str) -> Moved {
    moved_at(0, whole, ty, value.to_owned())
}

fn moved_at(depth: usize, whole: &Whole, ty: &Type, value: String) -> Moved {
    if !whole.holds_endpoints(ty) {
        return Moved::Same(value);
    }
    if depth > DEEPEST {
        return Moved::Any(value);
    }
    match ty {
        Type::Endpoint(_) => Moved::Endpoint(value),
        Type::Parameter(_) => Moved::Any(value),
        Type::List(item) | Type::Option(item) => Moved::Each {
            value,
            item: Box::new(moved_at(depth + 1, whole, item, "$item".to_owned())),
        },
        Type::Tuple(items) => {
            let parts = items.iter().zip(tuple_paths(items.len()));
            let parts =
                parts.map(|(item, path)| moved_at(depth + 1, whole, item, value.clone() + &path));
            nested(parts.collect(), &Moved::Tuple)
        }
        Type::Named(id) => match &whole.program.ty(*id).definition {
            Definition::Alias(target) => moved_at(depth + 1, whole, target, value),
            Definition::Struct(_) | Definition::Enum(_) => Moved::Declared(value),
            Definition::Extern(..) => Moved::Same(value),
        },
        Type::Builtin(_) | Type::Error => Moved::Same(value),
    }
}

/// Whether a message is an object, because all its values are equal.
pub fn is_object(message: &Message, has_parameters: bool) -> bool {
    !has_parameters && message.entries.is_empty() && message.next == Next::End
}

/// The only value of a message, if it is primitive: then its payload is a number, which needs no object.
pub fn number<'t>(whole: &Whole, types: impl IntoIterator<Item = &'t Type>) -> Option<Builtin> {
    let mut types = types.into_iter();
    let only = types.next().filter(|_| types.next().is_none())?;
    let Type::Builtin(builtin) = whole.underlying(only) else {
        return None;
    };
    (!matches!(builtin, Builtin::Str | Builtin::Bytes)).then_some(*builtin)
}
