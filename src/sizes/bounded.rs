//! What the bounds in types say about the sizes of encoded values.

use super::{of_builtin, of_count, of_variant, plus};
use crate::protocol::{Builtin, Definition, Lengths, Program, Type, TypeDeclaration};

/// The bounds of all declared types of a program.
#[derive(Debug, Default)]
pub struct Bounded {
    /// For each declared type, the largest encoding that its bounds allow; `None` if there is none, or none that is known.
    most: Vec<Option<u64>>,
    /// For each declared type, whether it is an alias with a bound in it.
    aliases: Vec<bool>,
    /// Whether any declared type has a bound.
    has_any: bool,
}

impl Bounded {
    /// Visits each declared type once. A type that contains itself has no largest encoding.
    pub fn of(program: &Program) -> Bounded {
        let count = program.types.len();
        let mut bounded = Bounded {
            most: vec![None; count],
            aliases: vec![false; count],
            has_any: program.types.iter().any(has_bound),
        };
        for id in program.parts_first(&|id| program.ty(id).definition.named()) {
            let (definition, lengths) = (&program.ty(id).definition, &program.ty(id).lengths);
            bounded.most[id.index()] = bounded.of_definition(definition, lengths);
            let alias = definition.alias();
            bounded.aliases[id.index()] = alias.is_some_and(|ty| bounded.is_bounded(ty, lengths));
        }
        bounded
    }

    /// Whether there is a bound in a type, or in an alias that is written in it.
    pub fn is_bounded(&self, ty: &Type, lengths: &Lengths) -> bool {
        let mut named = ty.named().into_iter();
        !lengths.is_none() || named.any(|id| self.aliases[id.index()])
    }

    /// Whether any declared type has a bound.
    pub fn has_any(&self) -> bool {
        self.has_any
    }

    /// The largest encoding of a type that its bounds allow. Recurses as deeply as the type is written.
    pub fn most(&self, ty: &Type, lengths: &Lengths, arguments: &[Type]) -> Option<u64> {
        let bound = lengths.most.map(|limit| limit.most);
        match ty {
            Type::Builtin(Builtin::Str | Builtin::Bytes) => plus(bound.map(of_count), bound),
            Type::Builtin(builtin) => of_builtin(*builtin).most,
            Type::List(item) => {
                let item = self.most(item, lengths.part(0), arguments);
                let items = bound?.checked_mul(item?);
                plus(bound.map(of_count), items)
            }
            Type::Option(item) => plus(Some(1), self.most(item, lengths.part(0), arguments)),
            Type::Tuple(items) => {
                let items = items.iter().enumerate();
                let items = items.map(|(at, item)| self.most(item, lengths.part(at), arguments));
                items.fold(Some(0), plus)
            }
            Type::Named(id) => self.most[id.index()],
            Type::Parameter(index) => {
                let argument = arguments.get(*index as usize)?;
                self.most(argument, Lengths::NONE, &[])
            }
            // An obstacle: it has no encoding.
            Type::Endpoint(_) | Type::Error => None,
        }
    }

    /// The same for a declared type; those of its parts are known.
    fn of_definition(&self, definition: &Definition, lengths: &Lengths) -> Option<u64> {
        match definition {
            Definition::Alias(ty) => self.most(ty, lengths, &[]),
            Definition::Struct(fields) => {
                let fields = fields.iter();
                let fields = fields.map(|field| self.most(&field.ty, &field.lengths, &[]));
                fields.fold(Some(0), plus)
            }
            Definition::Enum(variants) => {
                let mut variants = variants.iter().enumerate().map(|(position, variant)| {
                    let entries = variant.entries.iter();
                    let entries = entries.map(|entry| self.most(&entry.ty, &entry.lengths, &[]));
                    entries.fold(of_variant(position).most, plus)
                });
                variants.try_fold(0, |most, variant| Some(variant?.max(most)))
            }
            Definition::Extern(..) => None,
        }
    }
}

/// Whether a bound is written in a declaration.
fn has_bound(declared: &TypeDeclaration) -> bool {
    let is_bounded = |lengths: &Lengths| !lengths.is_none();
    match &declared.definition {
        Definition::Struct(fields) => fields.iter().any(|field| is_bounded(&field.lengths)),
        Definition::Enum(variants) => {
            let mut entries = variants.iter().flat_map(|variant| &variant.entries);
            entries.any(|entry| is_bounded(&entry.lengths))
        }
        Definition::Alias(_) | Definition::Extern(..) => is_bounded(&declared.lengths),
    }
}
