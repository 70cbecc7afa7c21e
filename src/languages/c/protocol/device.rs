//! Why sessions of a protocol need an allocator, for devices that have none.

use crate::graph::Capacity;
use crate::languages::c::ctype::CType;
use crate::languages::c::names::units::UnitKind;
use crate::languages::c::scope::Scope;
use crate::protocol::{Builtin, Definition, Lengths, Type};
use std::collections::BTreeSet;

const LIST: &str = "a list";

/// What needs no allocator.
const NUMBERS: &str = "send numbers, enums or structs of them";

/// Why memory is allocated, and what to write instead.
pub struct Reason {
    pub what: String,
    pub instead: &'static str,
}

impl Scope<'_> {
    /// Whether sessions can live in the caller's memory.
    pub fn fits_in(&self) -> bool {
        self.unit.kind != UnitKind::Mentioned
            && self.state(0).active_side().is_some()
            && self.allocates().is_none()
    }

    /// Why the header reports an error if it is used without an allocator.
    pub fn refusal(&self) -> Option<Reason> {
        if self.unit.kind == UnitKind::Mentioned {
            return None;
        }
        self.allocates()
    }

    /// A note on a protocol whose sessions need an allocator although values with a bound are stored inline.
    pub fn allocation_note(&self) -> Option<String> {
        if self.unit.kind == UnitKind::Mentioned || !self.types.has_inline_bounds() {
            return None;
        }
        let name = &self.unit.prefix;
        self.allocates().map(|Reason { what, instead }| {
            format!("C: sessions of `{name}` need an allocator: {what}; without one, {instead}")
        })
    }

    /// The first reason why memory is allocated: a message that needs a block, or an unbounded run.
    fn allocates(&self) -> Option<Reason> {
        for index in self.own_states() {
            let state = self.state(index);
            for message in &state.messages {
                for entry in &message.entries {
                    let place = format!("`{}`", entry.name);
                    let arguments = &self.unit.states[index].arguments;
                    let ty = entry.ty.substitute(arguments);
                    if let Some(outside) = self.outside(&ty, &entry.lengths, &place) {
                        let (message, state) = (message.name.text(), &state.name);
                        let Reason { what, mut instead } = outside;
                        if let Type::Parameter(_) = entry.ty {
                            // Its argument cannot have a bound.
                            instead = NUMBERS;
                        }
                        let what = format!("message `{message}` of state `{state}` has {what}");
                        return Some(Reason { what, instead });
                    }
                }
            }
        }
        if self.capacity != Capacity::Unbounded {
            return None;
        }
        let state = self.own_states().find(|index| self.repeats(*index))?;
        let name = &self.state(state).name;
        Some(Reason {
            what: format!("the run of messages in state `{name}` has no bound"),
            instead: "let the receiver answer within the run",
        })
    }

    /// A description of what a value of the type stores outside of itself. `place` is the entry or field that has it.
    fn outside(&self, ty: &Type, lengths: &Lengths, place: &str) -> Option<Reason> {
        let types = self.types;
        let (ty, lengths) = types.program.unaliased(ty, lengths);
        let stored = types.stored(ty, lengths);
        if !types.facts(&stored).spreads {
            return None;
        }
        let part = |item, at| self.outside(item, lengths.part(at), place);
        match (ty, &stored) {
            (Type::List(item), CType::Array(..)) | (Type::Option(item), _) => part(item, 0),
            (Type::Tuple(items), _) => {
                let mut items = items.iter().enumerate();
                items.find_map(|(at, item)| part(item, at))
            }
            (Type::Named(id), _) => {
                let declared = types.program.ty(*id);
                let name = &declared.name;
                match &declared.definition {
                    Definition::Struct(fields) => fields.iter().find_map(|field| {
                        let place = format!("field `{}` of `{name}`", field.name);
                        self.outside(&field.ty, &field.lengths, &place)
                    }),
                    Definition::Enum(variants) => {
                        let mut entries = variants.iter().flat_map(|variant| &variant.entries);
                        entries.find_map(|entry| {
                            let place = format!("`{}` of `{name}`", entry.name);
                            self.outside(&entry.ty, &entry.lengths, &place)
                        })
                    }
                    Definition::Alias(_) => None,
                    Definition::Extern(..) => Some(Reason {
                        what: format!("values of the host type `{name}` in {place}"),
                        instead: NUMBERS,
                    }),
                }
            }
            (Type::Builtin(Builtin::Str), _) => Some(self.view("text", lengths, place)),
            (Type::Builtin(_), _) => Some(self.view("bytes", lengths, place)),
            (Type::List(_), _) => Some(self.view(LIST, lengths, place)),
            (Type::Parameter(_) | Type::Endpoint(_) | Type::Error, _) => None,
        }
    }

    /// What to do about text, bytes or a list that is a view.
    fn view(&self, kind: &str, lengths: &Lengths, place: &str) -> Reason {
        let is_inline = self.types.has_inline_bounds();
        let (limit, instead) = match (lengths.most, is_inline) {
            (None, false) => (
                "",
                "send numbers, enums or structs of them, or give the value a bound and generate with --c-inline-bounds",
            ),
            (None, true) => (
                " without a bound",
                "give it a bound, such as `str<32>` or `[u32; 10]`",
            ),
            (Some(_), false) => ("", "generate with --c-inline-bounds"),
            (Some(_), true) if kind == LIST => (
                " that is not stored inline",
                "its items may take 65,535 bytes, and contain neither values of their own type nor of the host",
            ),
            (Some(_), true) => (" of more than 65,535 bytes", "lower its bound"),
        };
        Reason {
            what: format!("{kind}{limit} in {place}"),
            instead,
        }
    }

    /// Whether a state can be reached again from itself without a change of direction.
    fn repeats(&self, index: usize) -> bool {
        let mut seen = BTreeSet::new();
        let mut open = vec![index];
        while let Some(at) = open.pop() {
            for next in self.run_after(at) {
                if next == index {
                    return true;
                }
                if seen.insert(next) {
                    open.push(next);
                }
            }
        }
        false
    }
}
