//! Which traits can be derived for the types that a program declares.

use crate::protocol::{Bound, Builtin, Definition, Program, Type, TypeId};

/// A set of derivable traits.
#[derive(Clone, Copy, PartialEq, Eq)]
pub struct Abilities(u8);

const DEBUG: u8 = 1;
const CLONE: u8 = 2;
const PARTIAL_EQ: u8 = 4;
const EQ: u8 = 8;
const PARTIAL_ORD: u8 = 16;
const ORD: u8 = 32;
const HASH: u8 = 64;
const ALL: u8 = 127;
const NAMES: [(u8, &str); 7] = [
    (DEBUG, "Debug"),
    (CLONE, "Clone"),
    (PARTIAL_EQ, "PartialEq"),
    (EQ, "Eq"),
    (PARTIAL_ORD, "PartialOrd"),
    (ORD, "Ord"),
    (HASH, "Hash"),
];

impl Abilities {
    /// The names of these traits.
    pub fn names(self) -> impl Iterator<Item = &'static str> {
        let own = NAMES.iter();
        let own = own.filter(move |(ability, _)| self.0 & ability != 0);
        own.map(|(_, name)| *name)
    }
}

/// Whether a type derives this trait if its fields allow it.
pub fn is_derived(name: &str) -> bool {
    NAMES.iter().any(|(_, derived)| *derived == name)
}

/// The derivable traits of each declared type, by its id.
pub struct Derivable(Vec<Abilities>);

impl Derivable {
    /// Starts with all traits for every type and removes those that some part lacks. There are only seven to lose, so this is linear.
    pub fn of(program: &Program) -> Derivable {
        Derivable(program.settle(Abilities(ALL), |known, id| {
            of_definition(known, &program.ty(id).definition)
        }))
    }

    /// The derivable traits of a declared type.
    pub fn get(&self, id: TypeId) -> Abilities {
        self.0[id.index()]
    }

    /// Whether a type implements `Debug`, provided that all type parameters do.
    pub fn is_debug(&self, ty: &Type) -> bool {
        of_type(&self.0, ty) & DEBUG != 0
    }
}

fn of_definition(known: &[Abilities], definition: &Definition) -> Abilities {
    let own = match definition {
        Definition::Extern(_, bounds) => bounds.iter().fold(0, |all, bound| all | of_bound(*bound)),
        Definition::Alias(_) | Definition::Struct(_) | Definition::Enum(_) => ALL,
    };
    let parts = definition.parts().into_iter();
    Abilities(parts.fold(own, |all, part| all & of_type(known, part)))
}

fn of_type(known: &[Abilities], ty: &Type) -> u8 {
    match ty {
        Type::Builtin(Builtin::F32 | Builtin::F64) => DEBUG | CLONE | PARTIAL_EQ | PARTIAL_ORD,
        Type::Builtin(_) | Type::Parameter(_) | Type::Error => ALL,
        Type::List(item) | Type::Option(item) => of_type(known, item),
        // The standard library implements its traits for tuples of up to twelve items.
        Type::Tuple(items) if items.len() > 12 => 0,
        Type::Tuple(items) => items
            .iter()
            .fold(ALL, |all, item| all & of_type(known, item)),
        Type::Named(id) => known[id.index()].0,
        Type::Endpoint(_) => DEBUG,
    }
}

fn of_bound(bound: Bound) -> u8 {
    match bound {
        Bound::Send | Bound::Extern(_) => 0,
        // Rust's own traits imply each other: `Ord` requires `Eq`, and so on.
        Bound::Copy | Bound::Clone => CLONE,
        Bound::Eq => PARTIAL_EQ | EQ,
        Bound::Ord => PARTIAL_EQ | EQ | PARTIAL_ORD | ORD,
        Bound::Hash => HASH,
        Bound::Debug => DEBUG,
    }
}
