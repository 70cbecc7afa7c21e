//! Two equal versions of a protocol: whether programs in every target language compile with the new one as they did with the old one.
//!
//! Programs name states, values, declared types and the modules and headers that contain them, and generic programs rely on bounds.
//! None of that is transmitted, so equal versions may differ in it.

use crate::protocol::{
    Bound, Definition, Entry, FileId, Language, Mapping, Mappings, Parameter, Program, Side, State,
    Type, TypeDeclaration, TypeId, text,
};
use crate::relation::View;
use crate::relation::shape::{Node, Origin, Shape, Shapes, StateInstance, matches};
use crate::relation::walk::{Demand, Walk};
use std::collections::{BTreeSet, HashMap, HashSet};

/// Something that has a different name for programs, or requires something different of them.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Renamed {
    /// What it is, such as `state`.
    pub what: &'static str,
    /// The old name or text; empty if there was none.
    pub old: String,
    /// The new name or text; empty if there is none.
    pub new: String,
}

/// The first difference between two equal versions that programs can see.
pub fn renaming(old: View<'_>, new: View<'_>) -> Option<Renamed> {
    let mut walk = Walk::new(old, new, Demand::Equal);
    // The two are equal, so there is no disagreement.
    let _ = walk.run();
    let mut comparison = Comparison {
        shapes: walk.into_shapes(),
        programs: [old.program, new.program],
        views: [old, new],
    };
    comparison
        .of_nodes()
        .or_else(|| comparison.of_lists_of_states())
        .or_else(|| comparison.of_host_types())
        .or_else(|| comparison.of_aliases())
}

struct Comparison<'a> {
    shapes: Shapes<'a>,
    programs: [&'a Program; 2],
    views: [View<'a>; 2],
}

fn differ(what: &'static str, old: &str, new: &str) -> Option<Renamed> {
    let (old, new) = (old.to_owned(), new.to_owned());
    (old != new).then_some(Renamed { what, old, new })
}

impl Comparison<'_> {
    /// Compares the states and declared types that were found to be equal.
    fn of_nodes(&self) -> Option<Renamed> {
        let united = self.shapes.united().iter();
        let mut found = united.filter_map(|(one, other)| {
            let shapes = (self.shapes.shape(*one), self.shapes.shape(*other));
            if let (Shape::State(old), Shape::State(new)) = shapes
                && old.origin != new.origin
            {
                return self.of_states([*one, *other], [old, new]);
            }
            let (Shape::Declared(_, old), Shape::Declared(_, new)) = shapes else {
                return None;
            };
            self.of_types([*old, *new])
        });
        found.next()
    }

    fn of_states(&self, nodes: [Node; 2], stands: [&StateInstance; 2]) -> Option<Renamed> {
        let [old, new] = nodes.map(|node| self.shapes.state(node));
        let (old, new) = (old?, new?);
        let is_own = |side: usize| stands[side].protocol == self.views[side].protocol;
        let names = if is_own(0) && is_own(1) {
            differ("state", old.name.text(), new.name.text())
        } else {
            let [old, new] = [0, 1].map(|side| self.endpoint(stands[side], [old, new][side]));
            differ("endpoint", &old, &new)
        };
        let count = |state: &State| format!("{} type parameters", state.parameters.len());
        let bounds = || {
            let parameters = old.parameters.iter().zip(&new.parameters);
            let mut pairs = parameters.map(|(old, new)| {
                let texts = [(0, &old.bounds), (1, &new.bounds)]
                    .map(|(side, bounds)| self.bounds(self.programs[side], bounds));
                differ("bound of a type parameter", &texts[0], &texts[1])
            });
            pairs.find_map(|found| found)
        };
        let entries = || {
            let (pairs, _) = matches(old, new);
            let mut pairs = pairs.into_iter();
            pairs.find_map(|(old_at, new_at)| {
                let entries = [
                    old.messages[old_at].entries.as_slice(),
                    &new.messages[new_at].entries,
                ];
                let parameters = [old, new].map(|state| state.parameters.as_slice());
                self.of_entries("payload entry", entries, parameters)
            })
        };
        names
            .or_else(|| differ("state", &count(old), &count(new)))
            .or_else(bounds)
            .or_else(entries)
    }

    /// An endpoint as programs name it.
    fn endpoint(&self, stand: &StateInstance, state: &State) -> String {
        let program = self.shapes.program(stand.origin);
        let protocol = program.protocol(stand.protocol);
        let side = match stand.is_turned {
            true => Side::Server,
            false => Side::Client,
        };
        let name = qualified(program, protocol.file, protocol.name.text());
        format!("{name}::{}::{}", side.word(), state.name)
    }

    fn of_types(&self, ids: [TypeId; 2]) -> Option<Renamed> {
        let [old, new] = [0, 1].map(|side| self.programs[side].ty(ids[side]));
        let [old_name, new_name] = [(0, old), (1, new)]
            .map(|(side, ty)| qualified(self.programs[side], ty.file, ty.name.text()));
        let [old_file, new_file] =
            [(0, old), (1, new)].map(|(side, ty)| &self.programs[side].file(ty.file).stem);
        let variants = || {
            let (Definition::Enum(old), Definition::Enum(new)) = (&old.definition, &new.definition)
            else {
                return None;
            };
            let mut variants = old.iter().zip(new);
            variants.find_map(|(old, new)| {
                self.of_entries("variant's value", [&old.entries, &new.entries], [&[]; 2])
            })
        };
        differ("type", &old_name, &new_name)
            .or_else(|| differ("file of a type", old_file, new_file))
            .or_else(variants)
    }

    /// Compares the names of equal entries. If these are the same, compares whether they are written for all of the entries, because
    /// then they are names of fields in Rust.
    fn of_entries(
        &self,
        what: &'static str,
        [old, new]: [&[Entry]; 2],
        parameters: [&[Parameter]; 2],
    ) -> Option<Renamed> {
        let mut pairs = old.iter().zip(new);
        let renamed = pairs.find_map(|(old, new)| differ(what, old.name.text(), new.name.text()));
        if renamed.is_some() || Entry::are_named(old) == Entry::are_named(new) {
            return renamed;
        }
        let written = |side: usize, entry: &Entry| {
            let ty = text::type_text(self.programs[side], parameters[side], &entry.ty);
            match entry.is_derived {
                true => ty,
                false => format!("{}: {ty}", entry.name),
            }
        };
        let mut pairs = old.iter().zip(new);
        let (old, new) = pairs.find(|(old, new)| old.is_derived != new.is_derived)?;
        differ(what, &written(0, old), &written(1, new))
    }

    /// Compares the names of all states, including those that no session reaches.
    fn of_lists_of_states(&self) -> Option<Renamed> {
        let [old, new] = self.views.map(|view| &view.description().states);
        let lacking = |states: &[State], from: &[State]| {
            let names: HashSet<&str> = states.iter().map(|state| state.name.text()).collect();
            let mut from = from.iter().map(|state| state.name.text());
            from.find(|name| !names.contains(name)).map(str::to_owned)
        };
        let added = lacking(old, new).and_then(|name| differ("state", "", &name));
        added.or_else(|| lacking(new, old).and_then(|name| differ("state", &name, "")))
    }

    /// Compares the types of the host program, of which only the name counts for equality.
    fn of_host_types(&self) -> Option<Renamed> {
        let nodes = (0..).map_while(|index| self.shapes.nth(index));
        let mut hosts = nodes.filter_map(|node| {
            let Shape::Host(name) = self.shapes.shape(node) else {
                return None;
            };
            Some(*name)
        });
        let declared = self.programs.map(|program| {
            let mut found: HashMap<&str, BTreeSet<String>> = HashMap::new();
            for ty in &program.types {
                if let Some(text) = self.host(program, ty) {
                    found.entry(ty.name.text()).or_default().insert(text);
                }
            }
            found
        });
        hosts.find_map(|name| {
            let text = |side: usize| {
                let found = declared[side].get(name).into_iter().flatten();
                found.map(String::as_str).collect::<Vec<_>>().join(", ")
            };
            differ("external type", &text(0), &text(1))
        })
    }

    /// What programs have to supply for a type of the host program.
    fn host(&self, program: &Program, ty: &TypeDeclaration) -> Option<String> {
        let name = qualified(program, ty.file, ty.name.text());
        let file = &program.file(ty.file).stem;
        match &ty.definition {
            Definition::Extern(mappings, bounds) => {
                let bounds = self.bounds(program, bounds);
                Some(format!("{name} of {file}{}: {bounds}", mapped(mappings)))
            }
            Definition::Alias(_) | Definition::Struct(_) | Definition::Enum(_) => None,
        }
    }

    /// Compares the aliases of the old version, which programs may name although they are not transmitted.
    fn of_aliases(&mut self) -> Option<Renamed> {
        let mut aliases: Vec<TypeId> = self
            .shapes
            .aliases()
            .iter()
            .filter_map(|node| {
                let Shape::Declared(Origin::Left, id) = self.shapes.shape(*node) else {
                    return None;
                };
                Some(*id)
            })
            .collect();
        aliases.sort_unstable();
        let [old, new] = self.programs;
        let mut met: BTreeSet<TypeId> = aliases.iter().copied().collect();
        let mut at = 0;
        while let Some(id) = aliases.get(at).copied() {
            at += 1;
            let Definition::Alias(ty) = &old.ty(id).definition else {
                continue;
            };
            ty.walk(&mut |part| {
                if let Type::Named(id) = part
                    && matches!(old.ty(*id).definition, Definition::Alias(_))
                    && met.insert(*id)
                {
                    aliases.push(*id);
                }
            });
        }
        let place = |program: &Program, ty: &TypeDeclaration| {
            let name = qualified(program, ty.file, ty.name.text());
            (name, program.file(ty.file).stem.clone())
        };
        let there: HashMap<(String, String), usize> = new
            .types
            .iter()
            .enumerate()
            .map(|(index, ty)| (place(new, ty), index))
            .collect();
        for id in aliases {
            let (name, file) = place(old, old.ty(id));
            let Some(index) = there.get(&(name.clone(), file)) else {
                return differ("alias", &name, "");
            };
            let Definition::Alias(ours) = &old.ty(id).definition else {
                continue;
            };
            let Definition::Alias(theirs) = &new.types[*index].definition else {
                return differ("alias", &name, "");
            };
            let node = self.shapes.lower(Origin::Left, ours, &[]);
            let other = self.shapes.lower(Origin::Right, theirs, &[]);
            if !self.shapes.are_equal(vec![(node, other)]) {
                let written = |program, ty: &Type| text::type_text(program, &[], ty);
                let (old, new) = (written(old, ours), written(new, theirs));
                return differ("meaning of an alias", &old, &new);
            }
        }
        None
    }

    /// Bounds in words, sorted. That a payload can move to another thread always holds, so `send` is left out.
    fn bounds(&self, program: &Program, bounds: &[Bound]) -> String {
        let words = bounds.iter().filter_map(|bound| match bound {
            Bound::Send => None,
            Bound::Extern(id) => {
                let declared = program.bound(*id);
                let name = qualified(program, declared.file, declared.name.text());
                Some(name + &mapped(&declared.mappings))
            }
            Bound::Copy | Bound::Clone | Bound::Eq | Bound::Ord | Bound::Hash | Bound::Debug => {
                let mut words = Bound::BUILTINS.iter();
                let word = words.find(|(_, known)| known == bound);
                word.map(|(word, _)| (*word).to_owned())
            }
        });
        let words: BTreeSet<String> = words.collect();
        if words.is_empty() {
            return "no bounds".to_owned();
        }
        words.into_iter().collect::<Vec<_>>().join(" + ")
    }
}

/// A name with the package of its file.
fn qualified(program: &Program, file: FileId, name: &str) -> String {
    let package = program.file(file).package.iter().map(|part| part.text());
    let parts: Vec<&str> = package.chain([name]).collect();
    parts.join(".")
}

/// Where the host program's type or trait is found.
fn mapped(mappings: &Mappings) -> String {
    let line = |(language, mapping): (&Language, &Mapping)| {
        let Mapping {
            name, from, drop, ..
        } = mapping;
        let parts = [Some(name), from.as_ref(), drop.as_ref()];
        let parts: Vec<&str> = parts.into_iter().flatten().map(String::as_str).collect();
        format!(", in {} {}", language.title, parts.join(" "))
    };
    mappings.iter().map(line).collect()
}
