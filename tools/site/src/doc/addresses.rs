//! The names of the site's files. All are in one folder, so that a link is the name of a file. Of two that would have the same name,
//! the second gets a number. A long name ends in a hash, so that it depends on nothing else in the program.

use duologue::name::Name;
use duologue::protocol::{File, FileId, Program, ProtocolId, StateId, TypeId};
use std::collections::{BTreeMap, BTreeSet};

/// The page with everything.
pub const INDEX: &str = "index.html";
/// The longest name, in characters, that its file keeps.
const LONGEST: usize = 100;
/// How many characters of a longer name its file keeps. A hash of the whole name follows.
const KEPT: usize = 80;
/// The hexadecimal digits of the hash.
const DIGITS: usize = 12;

/// The page of everything that has one.
pub struct Addresses {
    protocols: Vec<String>,
    states: Vec<Vec<String>>,
    types: Vec<String>,
    files: Vec<String>,
}

/// Names that are taken, in lower case, because some disks do not tell upper case from lower case.
struct Taken {
    files: BTreeSet<String>,
    /// The number of the last file with each name. The next search begins there, so that many equal names take little time.
    numbers: BTreeMap<String, usize>,
}

impl Taken {
    fn name(&mut self, parts: &[&str]) -> String {
        let whole = parts.join(".");
        let is_plain = |letter: char| letter.is_ascii_alphanumeric() || "_-.".contains(letter);
        let is_long = whole.chars().nth(LONGEST).is_some();
        let kept = if is_long { KEPT } else { LONGEST };
        let mut name: String = whole
            .chars()
            .take(kept)
            .map(|letter| if is_plain(letter) { letter } else { '_' })
            .collect();
        if is_long {
            let hash = blake3::hash(whole.as_bytes()).to_hex();
            name = format!("{name}-{}", &hash[..DIGITS]);
        }
        let number = self.numbers.entry(name.to_ascii_lowercase()).or_default();
        loop {
            *number += 1;
            let found = match *number {
                1 => format!("{name}.html"),
                number => format!("{name}-{number}.html"),
            };
            if self.files.insert(found.to_ascii_lowercase()) {
                return found;
            }
        }
    }
}

impl Addresses {
    pub fn of(program: &Program) -> Addresses {
        let mut taken = Taken {
            files: BTreeSet::from([INDEX.to_owned()]),
            numbers: BTreeMap::new(),
        };
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

#[cfg(test)]
mod tests {
    use super::Taken;
    use std::collections::{BTreeMap, BTreeSet};

    #[test]
    fn names_of_files_are_different_and_short() {
        let mut taken = Taken {
            files: BTreeSet::new(),
            numbers: BTreeMap::new(),
        };
        let mut name = |parts: &[&str]| taken.name(parts);
        assert_eq!(name(&["a", "b"]), "a.b.html");
        assert_eq!(name(&["a.b-2"]), "a.b-2.html");
        assert_eq!(name(&["A", "b"]), "A.b-3.html");
        assert_eq!(name(&["a.B"]), "a.B-4.html");
        assert_eq!(name(&["a/\u{e9}"]), "a__.html");
        let whole = "x".repeat(100);
        assert_eq!(name(&[&whole]), format!("{whole}.html"));
        let one = name(&[&whole, "one"]);
        let two = name(&[&whole, "two"]);
        let start = format!("{}-", "x".repeat(80));
        for name in [&one, &two] {
            assert!(name.starts_with(&start), "{name}");
            assert_eq!(name.len(), "-.html".len() + 80 + 12, "{name}");
        }
        assert_ne!(one, two);
    }
}
