//! Types as C stores them. Unlike the types of the program they include bounds, because a value with a bound may be stored inline.

use crate::protocol::{
    Builtin, Definition, EndpointType, Lengths, Limit, Program, Type, TypeDeclaration, TypeId,
};
use crate::wire::BuiltinEncoding;

/// How C stores the values of a type. Aliases are kept.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum CType {
    /// A number, or a view of text or bytes.
    Builtin(Builtin),
    /// At most this many bytes, inline; no bound is 0.
    Inline(Bytes, u16),
    /// A view of items.
    List(Box<CType>),
    /// At most this many items, inline.
    Array(Box<CType>, u16),
    Option(Box<CType>),
    Tuple(Vec<CType>),
    Named(TypeId),
    /// Only in a program that breaks rules.
    Parameter(u32),
    Endpoint(Box<EndpointType>),
}

impl CType {
    /// Whether values contain their bytes or items.
    pub fn is_inline(&self) -> bool {
        matches!(self, CType::Inline(..) | CType::Array(..))
    }
}

/// What is stored as bytes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Bytes {
    /// UTF-8.
    Text,
    /// Any bytes.
    Any,
}

impl Bytes {
    /// The type of a view of them.
    pub fn view(self) -> &'static str {
        match self {
            Bytes::Text => "duo_str",
            Bytes::Any => "duo_bytes",
        }
    }

    /// The type of one of them.
    pub fn item(self) -> &'static str {
        match self {
            Bytes::Text => "char",
            Bytes::Any => "uint8_t",
        }
    }

    fn of(builtin: Builtin) -> Option<Bytes> {
        match BuiltinEncoding::of(builtin) {
            BuiltinEncoding::Text => Some(Bytes::Text),
            BuiltinEncoding::Bytes => Some(Bytes::Any),
            BuiltinEncoding::Bool | BuiltinEncoding::Number => None,
        }
    }
}

/// The contents of a value that is stored inline take at most this many bytes, on 64-bit machines. Their number is a `uint16_t`.
const MOST: u64 = u16::MAX as u64;

/// The size and the alignment of values, in bytes, on 64-bit machines.
#[derive(Clone, Copy)]
struct Extent {
    size: u64,
    align: u64,
}

impl Extent {
    const NOTHING: Extent = Extent { size: 0, align: 1 };
    /// An address and a number of 8 bytes: a view, or an endpoint.
    const VIEW: Extent = Extent { size: 16, align: 8 };
    const TAG: Extent = Extent::number(4);

    const fn number(size: u64) -> Extent {
        Extent { size, align: size }
    }

    /// A struct of these members.
    fn all(members: impl IntoIterator<Item = Option<Extent>>) -> Option<Extent> {
        let mut all = Extent::NOTHING;
        for member in members {
            let member = member?;
            let size = all.size.checked_next_multiple_of(member.align)?;
            all.size = size.checked_add(member.size)?;
            all.align = all.align.max(member.align);
        }
        // C has no empty struct.
        all.size = all.size.max(1).checked_next_multiple_of(all.align)?;
        Some(all)
    }

    /// A union of these members.
    fn any(members: impl IntoIterator<Item = Option<Extent>>) -> Option<Extent> {
        let mut any = Extent::NOTHING;
        for member in members {
            let member = member?;
            any.size = any.size.max(member.size);
            any.align = any.align.max(member.align);
        }
        any.size = any.size.checked_next_multiple_of(any.align)?;
        Some(any)
    }

    /// The number of items, and that many items.
    fn counted(self, count: u16) -> Option<Extent> {
        let size = self.size.checked_mul(u64::from(count))?;
        Extent::all([Some(Extent::number(2)), Some(Extent { size, ..self })])
    }
}

/// Which values with a bound are stored inline.
pub struct Inline {
    /// For each declared type, the extent of its values. `None` if it is not known, or if a value may contain another one of its type
    /// through lists: that value could not contain it inline.
    extents: Vec<Option<Extent>>,
}

impl Inline {
    /// Visits each declared type once. A type has no extent until those that it consists of have theirs, so one that contains
    /// itself, or consists of such a type, never gets one.
    pub fn of(program: &Program) -> Inline {
        let mut inline = Inline {
            extents: vec![None; program.types.len()],
        };
        for id in program.parts_first(&|id| program.ty(id).definition.named()) {
            inline.extents[id.index()] = inline.of_declared(program.ty(id));
        }
        inline
    }

    fn of_declared(&self, declared: &TypeDeclaration) -> Option<Extent> {
        let of = |(ty, lengths)| self.extent(&stored(ty, lengths, Some(self)));
        match &declared.definition {
            Definition::Alias(ty) => of((ty, &declared.lengths)),
            Definition::Struct(fields) => {
                Extent::all(fields.iter().map(|field| of((&field.ty, &field.lengths))))
            }
            Definition::Enum(variants) => {
                let variants = variants.iter().map(|variant| {
                    let entries = variant.entries.iter();
                    Extent::all(entries.map(|entry| of((&entry.ty, &entry.lengths))))
                });
                Extent::all([Some(Extent::TAG), Extent::any(variants)])
            }
            Definition::Extern(..) => None,
        }
    }

    fn extent(&self, ty: &CType) -> Option<Extent> {
        match ty {
            CType::Builtin(builtin) => Some(of_builtin(*builtin)),
            CType::Inline(_, most) => Extent::number(1).counted(*most),
            CType::List(item) => self.extent(item).map(|_| Extent::VIEW),
            CType::Array(item, most) => self.extent(item)?.counted(*most),
            CType::Option(item) => Extent::all([Some(Extent::number(1)), self.extent(item)]),
            CType::Tuple(items) => Extent::all(items.iter().map(|item| self.extent(item))),
            CType::Named(id) => self.extents[id.index()],
            CType::Parameter(_) => None,
            CType::Endpoint(_) => Some(Extent::VIEW),
        }
    }

    /// The bound of a list of such items, if it is stored inline.
    fn most_items(&self, item: &CType, bound: Option<Limit>) -> Option<u16> {
        let most = bound?.most;
        let size = self.extent(item)?.size.checked_mul(most)?;
        u16::try_from(most).ok().filter(|_| size <= MOST)
    }
}

fn of_builtin(builtin: Builtin) -> Extent {
    let width = builtin.width();
    width.map_or(Extent::VIEW, |width| Extent::number(width as u64))
}

/// How values of a type with these bounds are stored. Without `inline`, bounds do not matter.
pub fn stored(ty: &Type, lengths: &Lengths, inline: Option<&Inline>) -> CType {
    let part = |item: &Type| Box::new(stored(item, lengths.part(0), inline));
    match ty {
        Type::Builtin(builtin) => {
            let bytes = Bytes::of(*builtin);
            let bound = lengths.most.filter(|_| inline.is_some());
            let most = bound.and_then(|limit| u16::try_from(limit.most).ok());
            match bytes.zip(most) {
                Some((bytes, most)) => CType::Inline(bytes, most),
                None => CType::Builtin(*builtin),
            }
        }
        Type::List(item) => {
            let item = part(item);
            match inline.and_then(|inline| inline.most_items(&item, lengths.most)) {
                Some(most) => CType::Array(item, most),
                None => CType::List(item),
            }
        }
        Type::Option(item) => CType::Option(part(item)),
        Type::Tuple(items) => {
            let items = items.iter().enumerate();
            let items = items.map(|(at, item)| stored(item, lengths.part(at), inline));
            CType::Tuple(items.collect())
        }
        Type::Named(id) => CType::Named(*id),
        Type::Parameter(index) => CType::Parameter(*index),
        Type::Endpoint(endpoint) => CType::Endpoint(endpoint.clone()),
        // Only names are asked of a program with errors, and a built-in type adds none.
        Type::Error => CType::Builtin(Builtin::Bool),
    }
}
