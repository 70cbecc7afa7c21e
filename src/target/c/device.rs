//! Why sessions of a protocol need an allocator, for devices that have none.

use super::units::Kind;
use super::view::UnitView;
use crate::graph::Capacity;
use crate::protocol::{Builtin, Type};
use std::collections::BTreeSet;

impl UnitView<'_> {
    /// Whether sessions can live in the caller's memory.
    pub fn fits_in(&self) -> bool {
        self.unit.kind != Kind::Mentioned
            && self.state(0).direction.is_some()
            && self.allocates().is_none()
    }

    /// The error that the header reports if it is used without an allocator.
    pub fn refusal(&self) -> Option<String> {
        if self.unit.kind == Kind::Mentioned {
            return None;
        }
        let name = &self.unit.prefix;
        self.allocates().map(|(reason, instead)| {
            format!(
                "{name}: {reason}. Its sessions need an allocator, which DUO_NO_MALLOC excludes: {instead}, or compile \
                 everything without DUO_NO_MALLOC"
            )
        })
    }

    /// The first reason why memory is allocated, and what to write instead. The reason is a message that needs a block or an
    /// unbounded run.
    fn allocates(&self) -> Option<(String, &'static str)> {
        for index in self.own_states() {
            let state = self.state(index);
            for message in &state.messages {
                let mut types = message
                    .entries
                    .iter()
                    .map(|entry| self.entry_type(index, entry));
                if let Some(what) = types.find_map(|ty| self.outside(&ty)) {
                    let (message, state) = (message.name.text(), &state.name);
                    let reason = format!("message `{message}` of state `{state}` has {what}");
                    return Some((reason, "send numbers, enums or structs of them"));
                }
            }
        }
        if self.capacity != Capacity::Unbounded {
            return None;
        }
        let state = self.own_states().find(|index| self.repeats(*index))?;
        let name = &self.state(state).name;
        let reason = format!("the run of messages in state `{name}` has no bound");
        Some((reason, "let the receiver answer within the run"))
    }

    /// A description of what a value of the type stores outside of itself.
    fn outside(&self, ty: &Type) -> Option<String> {
        let types = self.types;
        if !types.facts(ty).spreads {
            return None;
        }
        match types.underlying(ty) {
            Type::Builtin(Builtin::Str) => Some("text".to_owned()),
            Type::Builtin(_) => Some("bytes".to_owned()),
            Type::List(_) => Some("a list".to_owned()),
            Type::Option(item) => self.outside(item),
            Type::Tuple(items) => items.iter().find_map(|item| self.outside(item)),
            Type::Named(id) => {
                let declared = types.program.ty(*id);
                match declared.definition.parts().as_slice() {
                    [] => Some(format!("values of the host type `{}`", declared.name)),
                    parts => parts.iter().find_map(|part| self.outside(part)),
                }
            }
            Type::Parameter(_) | Type::Endpoint(_) => None,
        }
    }

    /// Whether a state can be reached again from itself without a change of direction.
    fn repeats(&self, index: usize) -> bool {
        let mut seen = BTreeSet::new();
        let mut open = vec![index];
        while let Some(at) = open.pop() {
            let state = self.state(at);
            let next = state
                .messages
                .iter()
                .filter_map(|message| self.next(at, message));
            for next in next.filter(|next| self.state(*next).direction == state.direction) {
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
