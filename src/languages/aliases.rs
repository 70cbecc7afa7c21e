//! What aliases stand for.

use crate::protocol::{Program, Type, TypeId};

/// For each alias of a program, what it stands for.
pub struct Aliases {
    /// The last alias of the chain that begins with a type; other types are their own entry.
    ends: Vec<TypeId>,
}

impl Aliases {
    /// The aliases of a program.
    pub fn of(program: &Program) -> Aliases {
        Aliases {
            ends: ends_of_chains(program),
        }
    }

    /// The last alias of the chain that begins with a type, of which it has the values; other types are returned as they are.
    pub fn last(&self, id: TypeId) -> TypeId {
        self.ends[id.index()]
    }

    /// What an alias of the same program stands for, through all aliases; other types are returned as they are. A cycle
    /// of aliases is a separate error; here it only matters that this terminates.
    pub fn underlying<'t>(&self, program: &'t Program, ty: &'t Type) -> &'t Type {
        let Type::Named(id) = ty else { return ty };
        let end = &program.ty(self.ends[id.index()]).definition;
        end.alias().unwrap_or(ty)
    }
}

/// For each alias, the last one of its chain: among aliases for aliases, only the last stands for a different type. Each alias is
/// visited once, so long chains take no longer than short ones. In a cycle it is any of them.
fn ends_of_chains(program: &Program) -> Vec<TypeId> {
    let alias = |id: TypeId| program.ty(id).definition.alias();
    let next_alias = |id: TypeId| {
        let Type::Named(next) = alias(id)? else {
            return None;
        };
        alias(*next).map(|_| *next)
    };
    let mut ends: Vec<Option<TypeId>> = vec![None; program.types.len()];
    for first in (0..program.types.len()).map(TypeId::new) {
        let mut chain = Vec::new();
        let mut at = first;
        let end = loop {
            if let Some(end) = ends[at.index()] {
                break end;
            }
            ends[at.index()] = Some(at);
            chain.push(at);
            match next_alias(at) {
                Some(next) => at = next,
                None => break at,
            }
        };
        for id in chain {
            ends[id.index()] = Some(end);
        }
    }
    ends.into_iter().flatten().collect()
}
