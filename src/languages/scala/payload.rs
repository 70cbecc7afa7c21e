//! What happens to a payload between the caller of a sending method and the ring: ranges are checked, endpoints are handed over.

use super::layout::Document;
use super::object_scope::{GENERATED, nested, tuple_paths};
use super::whole::Whole;
use crate::protocol::{Builtin, Definition, Type};

/// How many levels of nested lists, options, tuples and aliases generated code looks into. Deeper endpoints are found at run
/// time; deeper ranges are not checked.
const DEEPEST: usize = 32;

/// The statements that reject a value that the type cannot hold; none if the Scala type already guarantees it, or if the value
/// was checked when it was created.
pub fn check(whole: &Whole, ty: &Type, name: &str, value: &str) -> Vec<String> {
    check_at(0, whole, ty, name, value)
}

fn check_at(depth: usize, whole: &Whole, ty: &Type, name: &str, value: &str) -> Vec<String> {
    if depth > DEEPEST {
        return Vec::new();
    }
    match ty {
        Type::Builtin(builtin) => {
            let range = match builtin {
                Builtin::U8 => "u8",
                Builtin::U16 => "u16",
                Builtin::U32 => "u32",
                Builtin::Bool
                | Builtin::U64
                | Builtin::I8
                | Builtin::I16
                | Builtin::I32
                | Builtin::I64
                | Builtin::F32
                | Builtin::F64
                | Builtin::Str
                | Builtin::Bytes => return Vec::new(),
            };
            vec![format!("{GENERATED}.{range}(\"{name}\", {value})")]
        }
        Type::List(item) | Type::Option(item) => {
            let each = check_at(depth + 1, whole, item, name, "$item");
            match each.as_slice() {
                [] => each,
                [only] => vec![format!("{value}.foreach($item => {only})")],
                _ => vec![format!(
                    "{value}.foreach {{ $item => {} }}",
                    each.join("; ")
                )],
            }
        }
        Type::Tuple(items) => {
            let paths = tuple_paths(items.len());
            let parts = items.iter().zip(paths).flat_map(|(item, path)| {
                let value = format!("{value}{path}");
                check_at(depth + 1, whole, item, name, &value)
            });
            parts.collect()
        }
        Type::Named(id) => match &whole.program.ty(*id).definition {
            // An opaque type checks its values when they are created.
            Definition::Alias(_) if whole.is_distinct(ty) => Vec::new(),
            Definition::Alias(target) => check_at(depth + 1, whole, target, name, value),
            Definition::Struct(_)
            | Definition::Enum(_)
            | Definition::Extern(..)
            | Definition::Undeclared => Vec::new(),
        },
        Type::Parameter(_) | Type::Endpoint(_) | Type::Error => Vec::new(),
    }
}

/// The value with its endpoints taken away from the sender; the value itself if it holds none.
pub fn moved(whole: &Whole, ty: &Type, value: &str) -> Document {
    moved_at(0, whole, ty, value)
}

fn moved_at(depth: usize, whole: &Whole, ty: &Type, value: &str) -> Document {
    if !whole.holds_endpoints(ty) {
        return Document::word(value);
    }
    if depth > DEEPEST {
        return Document::word(format!("$moving.any({value})"));
    }
    match ty {
        Type::Endpoint(_) => Document::word(format!("$moving.take({value})")),
        Type::Parameter(_) => Document::word(format!("$moving.any({value})")),
        Type::List(item) | Type::Option(item) => {
            let each = moved_at(depth + 1, whole, item, "$item").at(0);
            Document::word(format!("{value}.map($item => {each})"))
        }
        Type::Tuple(items) => {
            let paths = tuple_paths(items.len());
            let parts = items.iter().zip(paths).map(|(item, path)| {
                let value = format!("{value}{path}");
                moved_at(depth + 1, whole, item, &value)
            });
            tuple(parts.collect())
        }
        Type::Named(id) => match &whole.program.ty(*id).definition {
            Definition::Alias(target) => moved_at(depth + 1, whole, target, value),
            Definition::Struct(_) | Definition::Enum(_) => {
                Document::word(format!("{value}.$moved($moving)"))
            }
            Definition::Extern(..) | Definition::Undeclared => Document::word(value),
        },
        Type::Builtin(_) | Type::Error => Document::word(value),
    }
}

/// A single value for several: the only value itself, or a tuple.
pub fn tuple(mut parts: Vec<Document>) -> Document {
    match parts.len() {
        0 => Document::word("null"),
        1 => parts.remove(0),
        _ => nested(parts, &|parts| Document::application(String::new(), parts)),
    }
}

/// How a payload that is one primitive value is encoded as a number, which needs no object.
pub struct Number {
    /// The expression that encodes `value` as a number.
    pub encode: fn(value: &str) -> String,
    /// The expression that decodes the value from `number`.
    pub decode: &'static str,
}

/// The encoding of a value as a number, if it is primitive and the only value of its message.
pub fn number(whole: &Whole, types: &[&Type]) -> Option<Number> {
    let [only] = types else { return None };
    let Type::Builtin(builtin) = whole.underlying(only) else {
        return None;
    };
    let widened = |value: &str| format!("{value}.toLong");
    let (encode, decode): (fn(&str) -> String, _) = match builtin {
        // In Scala 3, `-new-syntax` rejects the other form.
        Builtin::Bool if whole.is_for_three() => (
            |value| format!("if {value} then 1L else 0L"),
            "number != 0L",
        ),
        Builtin::Bool => (|value| format!("if ({value}) 1L else 0L"), "number != 0L"),
        Builtin::U8 | Builtin::U16 | Builtin::I32 => (widened, "number.toInt"),
        Builtin::I8 => (widened, "number.toByte"),
        Builtin::I16 => (widened, "number.toShort"),
        Builtin::U32 | Builtin::U64 | Builtin::I64 => (str::to_owned, "number"),
        Builtin::F32 => (
            |value| format!("_root_.java.lang.Float.floatToRawIntBits({value}).toLong"),
            "_root_.java.lang.Float.intBitsToFloat(number.toInt)",
        ),
        Builtin::F64 => (
            |value| format!("_root_.java.lang.Double.doubleToRawLongBits({value})"),
            "_root_.java.lang.Double.longBitsToDouble(number)",
        ),
        Builtin::Str | Builtin::Bytes => return None,
    };
    Some(Number { encode, decode })
}
