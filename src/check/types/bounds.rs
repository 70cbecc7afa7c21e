//! Which types satisfy which bounds.
//!
//! | bound | types |
//! | --- | --- |
//! | `send`, declared bounds | all |
//! | `copy` | `bool`, numbers, options and tuples of them |
//! | `clone`, `debug` | all except endpoints |
//! | `eq`, `ord`, `hash` | all except `f32`, `f64` and endpoints |
//!
//! Where the table does not exclude them, lists, options, tuples, structs and enums satisfy a bound if all their parts do. A type
//! parameter and a type of the host program satisfy the bounds that they are declared with.

use crate::protocol::{
    Bound, Builtin, Definition, Entry, Field, Parameter, Program, Type, TypeDeclaration, TypeId,
};

/// For each declared type and bound, whether the type satisfies the bound.
pub struct Satisfied<'a> {
    program: &'a Program,
    /// One list for each of [`BUILTINS`].
    lacking: Vec<Vec<bool>>,
}

/// The bounds that not all types satisfy.
const BUILTINS: [Bound; 6] = [
    Bound::Copy,
    Bound::Clone,
    Bound::Debug,
    Bound::Eq,
    Bound::Ord,
    Bound::Hash,
];

impl<'a> Satisfied<'a> {
    /// Computes this for all declared types: a bound that a type lacks is lacking in the types that contain it, too.
    pub fn of(program: &'a Program) -> Satisfied<'a> {
        let lacking = BUILTINS.map(|bound| {
            program.settle(false, |lacking, id| {
                let declared = program.ty(id);
                let parts = declared.definition.named();
                lacks_itself(declared, bound) || parts.iter().any(|part| lacking[part.index()])
            })
        });
        Satisfied {
            program,
            lacking: lacking.into(),
        }
    }

    /// The first part of a type that does not satisfy a bound. The type appears in a state with these parameters.
    pub fn offender<'t>(
        &self,
        ty: &'t Type,
        parameters: &[Parameter],
        bound: Bound,
    ) -> Option<&'t Type> {
        let place = BUILTINS.iter().position(|builtin| *builtin == bound)?;
        let lacking = &self.lacking[place];
        let mut first = None;
        ty.walk(&mut |part| {
            let lacks = match part {
                Type::Named(id) => lacking[id.index()],
                Type::Parameter(index) => !parameters
                    .get(*index as usize)
                    .is_some_and(|parameter| has(&parameter.bounds, bound)),
                Type::Builtin(_)
                | Type::List(_)
                | Type::Option(_)
                | Type::Tuple(_)
                | Type::Endpoint(_)
                | Type::Error => lacks_in_place(part, bound),
            };
            if lacks && first.is_none() {
                first = Some(part);
            }
        });
        first
    }

    /// Why a declared type lacks a bound: the field or value that causes it, and its offending part.
    pub fn blame(&self, id: TypeId, bound: Bound) -> Option<(&'a str, &'a Type)> {
        let named = |name: &'a crate::name::Name, ty: &'a Type| {
            Some((name.text(), self.offender(ty, &[], bound)?))
        };
        let declaration = self.program.ty(id);
        match &declaration.definition {
            Definition::Struct(fields) => fields
                .iter()
                .find_map(|Field { name, ty, .. }| named(name, ty)),
            Definition::Enum(variants) => variants
                .iter()
                .flat_map(|variant| &variant.entries)
                .find_map(|Entry { name, ty, .. }| named(name, ty)),
            Definition::Alias(ty) => named(&declaration.name, ty),
            Definition::Extern(..) => None,
        }
    }
}

/// Whether declared bounds include a bound. In every target, a type that can be copied can be cloned, and a type with an order has
/// an equivalence.
fn has(declared: &[Bound], bound: Bound) -> bool {
    declared.iter().any(|own| {
        *own == bound
            || (*own == Bound::Copy && bound == Bound::Clone)
            || (*own == Bound::Ord && bound == Bound::Eq)
    })
}

/// Whether a declaration lacks a bound whatever the other declarations that it names satisfy.
fn lacks_itself(declaration: &TypeDeclaration, bound: Bound) -> bool {
    let by_parts = |bound| {
        let mut parts = declaration.definition.parts().into_iter();
        parts.any(|ty| ty.any(&|part| lacks_in_place(part, bound)))
    };
    match &declaration.definition {
        Definition::Alias(_) => by_parts(bound),
        Definition::Struct(_) | Definition::Enum(_) => bound == Bound::Copy || by_parts(bound),
        Definition::Extern(_, bounds) => !has(bounds, bound),
    }
}

/// Whether a type itself lacks a bound, regardless of its parts.
fn lacks_in_place(ty: &Type, bound: Bound) -> bool {
    let is_comparing = matches!(bound, Bound::Eq | Bound::Ord | Bound::Hash);
    match ty {
        Type::Builtin(Builtin::F32 | Builtin::F64) => is_comparing,
        Type::Builtin(builtin) => bound == Bound::Copy && builtin.width().is_none(),
        Type::List(_) => bound == Bound::Copy,
        Type::Endpoint(_) => true,
        Type::Option(_) | Type::Tuple(_) | Type::Named(_) | Type::Parameter(_) | Type::Error => {
            false
        }
    }
}
