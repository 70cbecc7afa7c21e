//! What happens to a payload between the caller of a sending method and the ring: ranges are checked, endpoints change hands.

use super::layout::Code;
use super::place::{GENERATED, nested, tuple_paths};
use crate::protocol::{Builtin, Definition, Program, Type, TypeId};

/// The statements that refuse a value that the type cannot hold; none if Scala's own type says it all, or if the value was
/// checked when it was made.
pub fn check(program: &Program, ty: &Type, name: &str, value: &str) -> Vec<String> {
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
            let each = check(program, item, name, "$item");
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
                check(program, item, name, &value)
            });
            parts.collect()
        }
        Type::Named(id) => match &program.ty(*id).definition {
            Definition::Alias(target) => check(program, target, name, value),
            Definition::Struct(_)
            | Definition::Enum(_)
            | Definition::Extern(..)
            | Definition::Undeclared => Vec::new(),
        },
        Type::Parameter(_) | Type::Endpoint(_) => Vec::new(),
    }
}

/// Whether values of a type can hold endpoints, as far as the specification tells.
pub fn holds_endpoints(program: &Program, ty: &Type) -> bool {
    holds(program, ty, &mut Vec::new())
}

fn holds(program: &Program, ty: &Type, open: &mut Vec<TypeId>) -> bool {
    match ty {
        Type::Builtin(_) => false,
        Type::List(item) | Type::Option(item) => holds(program, item, open),
        Type::Tuple(items) => items.iter().any(|item| holds(program, item, open)),
        Type::Parameter(_) | Type::Endpoint(_) => true,
        Type::Named(id) => {
            // A type seen before on the way adds nothing that is not found there.
            if open.contains(id) {
                return false;
            }
            open.push(*id);
            match &program.ty(*id).definition {
                Definition::Alias(target) => holds(program, target, open),
                Definition::Struct(fields) => {
                    fields.iter().any(|field| holds(program, &field.ty, open))
                }
                Definition::Enum(variants) => {
                    let mut entries = variants.iter().flat_map(|variant| &variant.entries);
                    entries.any(|entry| holds(program, &entry.ty, open))
                }
                Definition::Extern(..) | Definition::Undeclared => false,
            }
        }
    }
}

/// The value with its endpoints taken away from the sender; the value itself if it holds none.
pub fn moved(program: &Program, ty: &Type, value: &str) -> Code {
    if !holds_endpoints(program, ty) {
        return Code::word(value);
    }
    match ty {
        Type::Endpoint(_) => Code::word(format!("$moving.take({value})")),
        Type::Parameter(_) => Code::word(format!("$moving.any({value})")),
        Type::List(item) | Type::Option(item) => {
            let each = moved(program, item, "$item").at(0);
            Code::word(format!("{value}.map($item => {each})"))
        }
        Type::Tuple(items) => {
            let paths = tuple_paths(items.len());
            let parts = items.iter().zip(paths).map(|(item, path)| {
                let value = format!("{value}{path}");
                moved(program, item, &value)
            });
            tuple(parts.collect())
        }
        Type::Named(id) => match &program.ty(*id).definition {
            Definition::Alias(target) => moved(program, target, value),
            Definition::Struct(_) | Definition::Enum(_) => {
                Code::word(format!("{value}.$moved($moving)"))
            }
            Definition::Extern(..) | Definition::Undeclared => Code::word(value),
        },
        Type::Builtin(_) => Code::word(value),
    }
}

/// One value for several: the value itself, or a tuple.
pub fn tuple(mut parts: Vec<Code>) -> Code {
    match parts.len() {
        0 => Code::word("null"),
        1 => parts.remove(0),
        _ => nested(parts, &|parts| Code::Call(String::new(), parts)),
    }
}
