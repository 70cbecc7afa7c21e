//! The names of the site's files. All are in one folder, so that a link is the name of a file. Of two that would have the same name,
//! the second gets a number.

use crate::name::Name;
use crate::protocol::{File, FileId, Program, ProtocolId, StateId, TypeId};
use std::collections::BTreeSet;

/// The page with everything.
pub const INDEX: &str = "index.html";
/// The most characters of a name that its file keeps.
const LONGEST: usize = 100;

/// The page of everything that has one.
pub struct Addresses {
    protocols: Vec<String>,
    states: Vec<Vec<String>>,
    types: Vec<String>,
    files: Vec<String>,
}

/// Names that are taken. Some disks do not tell upper case from lower case.
struct Taken(BTreeSet<String>);

impl Taken {
    fn name(&mut self, parts: &[&str]) -> String {
        let is_plain = |letter: char| letter.is_ascii_alphanumeric() || "_-.".contains(letter);
        let name: String = parts
            .join(".")
            .chars()
            .take(LONGEST)
            .map(|letter| if is_plain(letter) { letter } else { '_' })
            .collect();
        let mut found = format!("{name}.html");
        let mut number = 1;
        while !self.0.insert(found.to_ascii_lowercase()) {
            number += 1;
            found = format!("{name}-{number}.html");
        }
        found
    }
}

impl Addresses {
    pub fn of(program: &Program) -> Addresses {
        let mut taken = Taken(BTreeSet::from([INDEX.to_owned()]));
        let package = |file: FileId| -> Vec<&str> {
            let package = program.file(file).package.iter();
            package.map(Name::text).collect()
        };
        let mut protocols = Vec::new();
        let mut states = Vec::new();
        for protocol in &program.protocols {
            let mut parts = package(protocol.file);
            parts.push(protocol.name.text());
            protocols.push(taken.name(&parts));
            let of = protocol.states.iter().map(|state| {
                parts.push(state.name.text());
                let name = taken.name(&parts);
                parts.pop();
                name
            });
            states.push(of.collect());
        }
        let types = program.types.iter().map(|declared| {
            let mut parts = package(declared.file);
            parts.push(declared.name.text());
            taken.name(&parts)
        });
        let types = types.collect();
        let files = program.files.iter();
        let files = files.map(|File { path, .. }| taken.name(&[path]));
        let files = files.collect();
        Addresses {
            protocols,
            states,
            types,
            files,
        }
    }

    pub fn protocol(&self, id: ProtocolId) -> &str {
        &self.protocols[id.index()]
    }

    pub fn state(&self, protocol: ProtocolId, state: StateId) -> &str {
        &self.states[protocol.index()][state.index()]
    }

    pub fn ty(&self, id: TypeId) -> &str {
        &self.types[id.index()]
    }

    pub fn file(&self, index: usize) -> &str {
        &self.files[index]
    }
}
