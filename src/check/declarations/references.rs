//! Which declarations each file uses.

use crate::protocol::{
    Bound, BoundId, Definition, FileId, Message, Program, Protocol, ProtocolId, Type, TypeId,
};
use std::collections::HashSet;

/// What is used anywhere, and which file uses something from which other file.
#[derive(Default)]
pub struct Uses {
    pub used_types: HashSet<TypeId>,
    pub used_bounds: HashSet<BoundId>,
    used_files: HashSet<(FileId, FileId)>,
}

struct Reader<'a> {
    program: &'a Program,
    uses: Uses,
    from: FileId,
}

impl Uses {
    /// Reads the whole program.
    pub fn of(program: &Program) -> Uses {
        let mut reader = Reader {
            program,
            uses: Uses::default(),
            from: FileId::new(0),
        };
        for (index, file) in program.files.iter().enumerate() {
            reader.from = FileId::new(index);
            for id in &file.types {
                reader.definition(&program.ty(*id).definition);
            }
            for id in &file.protocols {
                reader.protocol(program.protocol(*id));
            }
            for id in &file.instances {
                let instance = program.instance(*id);
                reader.callee(instance.protocol);
                instance.arguments.iter().for_each(|ty| reader.ty(ty));
            }
        }
        reader.uses
    }

    /// Whether `from` uses something that `to` declares.
    pub fn of_file(&self, from: FileId, to: FileId) -> bool {
        self.used_files.contains(&(from, to))
    }
}

impl Reader<'_> {
    fn definition(&mut self, definition: &Definition) {
        definition.parts().into_iter().for_each(|ty| self.ty(ty));
        if let Definition::Extern(_, bounds) = definition {
            bounds.iter().for_each(|bound| self.bound(*bound));
        }
    }

    fn protocol(&mut self, protocol: &Protocol) {
        for (dual, _) in &protocol.dual_of {
            self.callee(*dual);
        }
        for state in &protocol.states {
            for parameter in &state.parameters {
                parameter.bounds.iter().for_each(|bound| self.bound(*bound));
            }
            let types = state.messages.iter().flat_map(Message::types);
            types.for_each(|ty| self.ty(ty));
        }
    }

    fn ty(&mut self, ty: &Type) {
        for id in ty.named() {
            self.uses.used_types.insert(id);
            self.file(self.program.ty(id).file);
        }
        for endpoint in ty.endpoints() {
            self.callee(endpoint.protocol);
        }
    }

    fn bound(&mut self, bound: Bound) {
        if let Bound::Extern(id) = bound {
            self.uses.used_bounds.insert(id);
            self.file(self.program.bound(id).file);
        }
    }

    fn callee(&mut self, protocol: ProtocolId) {
        self.file(self.program.protocol(protocol).file);
    }

    fn file(&mut self, file: FileId) {
        self.uses.used_files.insert((self.from, file));
    }
}
