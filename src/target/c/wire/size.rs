//! How many bytes values occupy on the wire.

use super::super::view::UnitView;
use crate::protocol::{Builtin, Definition, Type, TypeId};
use std::collections::BTreeMap;

/// The minimum and maximum number of bytes that values occupy on the wire; the maximum is `None` if there is no bound.
#[derive(Clone, Copy)]
pub struct Size {
    pub least: u64,
    pub most: Option<u64>,
}

/// The sizes of declared types, each computed once.
pub struct Sizes<'a> {
    view: &'a UnitView<'a>,
    known: BTreeMap<TypeId, Size>,
}

impl Size {
    fn exactly(bytes: u64) -> Size {
        Size {
            least: bytes,
            most: Some(bytes),
        }
    }

    fn and(self, other: Size) -> Size {
        Size {
            least: self.least.saturating_add(other.least),
            most: self.most.and_then(|most| most.checked_add(other.most?)),
        }
    }
}

impl<'a> Sizes<'a> {
    pub fn of(view: &'a UnitView<'a>) -> Sizes<'a> {
        Sizes {
            view,
            known: BTreeMap::new(),
        }
    }

    fn all<'t>(&mut self, types: impl Iterator<Item = &'t Type>) -> Size {
        types.fold(Size::exactly(0), |sum, ty| sum.and(self.of_type(ty)))
    }

    /// Recurses as deeply as types hold each other by value, which is finite; the items of lists do not matter.
    pub fn of_type(&mut self, ty: &Type) -> Size {
        let any = Size {
            least: 1,
            most: None,
        };
        match ty {
            Type::Builtin(builtin) => match builtin {
                Builtin::Bool | Builtin::U8 | Builtin::I8 => Size::exactly(1),
                Builtin::U16 | Builtin::I16 => Size::exactly(2),
                Builtin::U32 | Builtin::I32 | Builtin::F32 => Size::exactly(4),
                Builtin::U64 | Builtin::I64 | Builtin::F64 => Size::exactly(8),
                Builtin::Str | Builtin::Bytes => any,
            },
            Type::List(_) => any,
            Type::Option(item) => Size {
                least: 1,
                most: self.of_type(item).most.and_then(|most| most.checked_add(1)),
            },
            Type::Tuple(items) => self.all(items.iter()),
            Type::Named(id) => {
                let target = self.view.types.underlying(ty);
                if let Type::Named(_) = target {
                    self.of_declared(*id)
                } else {
                    self.of_type(target)
                }
            }
            Type::Parameter(_) | Type::Endpoint(_) => Size::exactly(0),
        }
    }

    fn of_declared(&mut self, id: TypeId) -> Size {
        if let Some(known) = self.known.get(&id) {
            return *known;
        }
        let program = self.view.types.program;
        let size = match &program.ty(id).definition {
            Definition::Alias(ty) => self.of_type(ty),
            Definition::Struct(fields) => self.all(fields.iter().map(|field| &field.ty)),
            Definition::Enum(variants) => {
                let mut least = u64::MAX;
                let mut most = Some(0);
                for (position, variant) in variants.iter().enumerate() {
                    let tag = Size::exactly(match position {
                        0..0x80 => 1,
                        0x80..0x4000 => 2,
                        _ => 3,
                    });
                    let own = tag.and(self.all(variant.entries.iter().map(|entry| &entry.ty)));
                    least = least.min(own.least);
                    most = most.and_then(|most: u64| own.most.map(|own| most.max(own)));
                }
                Size { least, most }
            }
            Definition::Extern(..) | Definition::Undeclared => Size::exactly(0),
        };
        self.known.insert(id, size);
        size
    }
}
