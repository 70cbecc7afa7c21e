//! The types in the payloads of a protocol, for targets that write a function for each of them.

use super::Makeable;
use crate::protocol::{Builtin, Definition, Lengths, Program, Type, TypeId};
use std::collections::{BTreeMap, BTreeSet};

/// All types that the robots of a protocol need, each once for all values with the same bounds. Types that are built in are not among
/// them.
pub(crate) struct PayloadTypes<'a> {
    program: &'a Program,
    makeable: &'a Makeable,
    positions: BTreeMap<(Type, String), usize>,
    pub(crate) all: Vec<PayloadType>,
}

/// One of them.
pub(crate) struct PayloadType {
    pub(crate) ty: Type,
    pub(crate) lengths: Lengths,
    /// The positions of its parts that are not built in.
    pub(crate) parts: Vec<usize>,
}

impl<'a> PayloadTypes<'a> {
    /// The types of these payloads and all that they consist of.
    pub(crate) fn of<'l>(
        program: &'a Program,
        makeable: &'a Makeable,
        payloads: impl Iterator<Item = (Type, &'l Lengths)>,
    ) -> PayloadTypes<'a> {
        let mut types = PayloadTypes {
            program,
            makeable,
            positions: BTreeMap::new(),
            all: Vec::new(),
        };
        for (ty, lengths) in payloads {
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

    /// A type and its bounds without aliases.
    pub(crate) fn key(&self, ty: &Type, lengths: &Lengths) -> (Type, Lengths) {
        let (ty, lengths) = self.program.unaliased(ty, lengths);
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
            self.all.push(PayloadType {
                ty,
                lengths,
                parts: Vec::new(),
            });
        }
        Some(position)
    }

    /// The position of a type; `None` if it is built in, or not in these payloads.
    pub(crate) fn position(&self, ty: &Type, lengths: &Lengths) -> Option<usize> {
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
                let parts = self.program.ty(*id).parts().into_iter();
                parts
                    .map(|(ty, lengths, _)| (ty.clone(), lengths.clone()))
                    .collect()
            }
            Type::Builtin(_) | Type::Parameter(_) | Type::Endpoint(_) | Type::Error => Vec::new(),
        }
    }

    /// The type of the host program that this is.
    pub(crate) fn host(&self, ty: &Type) -> Option<TypeId> {
        let Type::Named(id) = ty else { return None };
        match &self.program.ty(*id).definition {
            Definition::Extern(..) | Definition::Undeclared => Some(*id),
            Definition::Alias(_) | Definition::Struct(_) | Definition::Enum(_) => None,
        }
    }

    /// The positions of the types that are made with these payloads.
    pub(crate) fn made<'l>(
        &self,
        payloads: impl Iterator<Item = (Type, &'l Lengths)>,
    ) -> BTreeSet<usize> {
        let positions = payloads.filter_map(|(ty, lengths)| self.position(&ty, lengths));
        let mut pending: Vec<usize> = positions.collect();
        let mut made = BTreeSet::new();
        while let Some(at) = pending.pop() {
            if self.makeable.is(&self.all[at].ty) && made.insert(at) {
                pending.extend(&self.all[at].parts);
            }
        }
        made
    }
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

/// The word for a built-in type in the names of the runtimes' functions for robots.
pub(crate) fn builtin_word(builtin: Builtin) -> &'static str {
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
