//! Messages of plain bytes that do not end the session. The header writes them to the ring and reads them from it, so the
//! compiler sees the whole operation.

use crate::endpoint::Edge;
use crate::languages::c::names::OfType;
use crate::languages::c::spelling;
use crate::languages::c::types::ctype::CType;
use crate::languages::c::types::{Types, is_bare};
use crate::languages::c::view::UnitView;
use crate::protocol::{Builtin, Definition, Entry, Message, TypeId, Variant};

/// What the header needs to know about such a message.
pub struct Plain {
    pub edge: &'static str,
    /// Whether the state after it has messages that keep the direction.
    pub stays: bool,
    /// The conditions that its entries must meet before it is sent; `None` if they take more than a few comparisons.
    pub conditions: Option<Vec<String>>,
}

/// The header compares at most this many tags of a message; a message with more goes through the library.
const MOST_TAGS: usize = 4;

/// The conditions for a value at `place` that stores nothing outside of itself: its enums must have valid tags. `left` is how
/// many more tags may be compared.
fn tags(types: &Types, ty: &CType, place: &str, left: &mut usize) -> Option<Vec<String>> {
    let ty = types.underlying(ty);
    if !types.facts(ty).checks {
        return Some(Vec::new());
    }
    let mut all = Vec::new();
    match ty {
        CType::Option(item) => {
            let inner = tags(types, item, &format!("{place}.value"), left)?;
            all.push(format!("(!{place}.some || {})", together(&inner)));
        }
        CType::Tuple(items) => {
            for (position, item) in items.iter().enumerate() {
                all.extend(tags(types, item, &format!("{place}.v{position}"), left)?);
            }
        }
        CType::Named(id) => match &types.program.ty(*id).definition {
            Definition::Struct(fields) => {
                for field in fields {
                    let member = spelling::member(field.name.text());
                    let ty = types.stored(&field.ty, &field.lengths);
                    all.extend(tags(types, &ty, &format!("{place}.{member}"), left)?);
                }
            }
            Definition::Enum(variants) => {
                *left = left.checked_sub(1)?;
                if is_bare(variants) {
                    all.push(format!("duo_is_tag({place}, {})", variants.len()));
                } else {
                    all.push(format!("duo_is_tag({place}.tag, {})", variants.len()));
                    for variant in variants {
                        all.extend(variant_tags(types, *id, variant, place, left)?);
                    }
                }
            }
            Definition::Alias(_) | Definition::Extern(..) | Definition::Undeclared => return None,
        },
        CType::Builtin(_)
        | CType::Inline(..)
        | CType::List(_)
        | CType::Array(..)
        | CType::Parameter(_)
        | CType::Endpoint(_) => return None,
    }
    Some(all)
}

/// Conditions that must all hold, as one operand.
fn together(conditions: &[String]) -> String {
    match conditions {
        [only] => only.clone(),
        several => format!("({})", several.join(" && ")),
    }
}

/// The same for the values of one variant, if the enum at `place` has its tag.
fn variant_tags(
    types: &Types,
    id: TypeId,
    variant: &Variant,
    place: &str,
    left: &mut usize,
) -> Option<Option<String>> {
    let constant = types.of_type(id, OfType::Variant(variant.name.text()));
    let own = spelling::member(variant.name.text());
    let mut inner = Vec::new();
    for entry in &variant.entries {
        let member = spelling::member(entry.name.text());
        let place = format!("{place}.as.{own}.{member}");
        let ty = types.stored(&entry.ty, &entry.lengths);
        inner.extend(tags(types, &ty, &place, left)?);
    }
    let is_any = inner.is_empty();
    Some((!is_any).then(|| format!("({place}.tag != {constant} || {})", together(&inner))))
}

impl UnitView<'_> {
    /// The memory layout of the sessions that reach a state, or `NULL` if it is not known.
    pub fn shape_of(&self, index: usize) -> String {
        if self.begun[index] {
            self.shape_table()
        } else {
            "NULL".to_owned()
        }
    }

    /// The description of a message, if it is plain bytes and does not end the session. The library copies inline values, which
    /// may be large.
    pub fn plain(&self, index: usize, message: &Message) -> Option<Plain> {
        let next = self.next(index, message)?;
        let facts = self.facts(index, message);
        if !facts.is_plain() || facts.has_inline {
            return None;
        }
        let mut left = MOST_TAGS;
        let conditions = message.entries.iter().map(|entry| {
            let ty = self.entry_type(index, entry);
            let parameter = self.types.parameter(entry.name.text());
            tags(self.types, &ty, &parameter, &mut left)
        });
        let conditions: Option<Vec<Vec<String>>> = conditions.collect();
        (self.edge(index, message) != Edge::End).then(|| Plain {
            edge: self.edge_name(index, message),
            stays: self.stays(next),
            conditions: conditions.map(|all| all.concat()),
        })
    }
}

/// The header checks for at most this many messages of a state that reverse the direction; the library finds the others.
const MOST_SINGLE_LINE_TURNS: usize = 4;

impl UnitView<'_> {
    fn is_number(&self, index: usize, entry: &Entry) -> bool {
        let ty = self.entry_type(index, entry);
        matches!(
            self.types.underlying(&ty),
            CType::Builtin(Builtin::U64 | Builtin::I64 | Builtin::F64)
        )
    }

    /// Whether a message is an 8-byte number that leads back to its state, in a protocol that can be used between processes.
    pub fn is_lane(&self, index: usize, message: &Message) -> bool {
        let [only] = message.entries.as_slice() else {
            return false;
        };
        self.has_lanes
            && message.at_most.is_none_or(|limit| limit.most >= 8)
            && self.is_number(index, only)
            && self.next(index, message) == Some(index)
    }

    /// Whether a state has such a message.
    pub fn has_lane(&self, index: usize) -> bool {
        let mut messages = self.state(index).messages.iter();
        messages.any(|message| self.is_lane(index, message))
    }

    /// The messages of a state that the runtime may put into a lane.
    pub fn lanes(&self, index: usize) -> Vec<&Message> {
        let messages = self.state(index).messages.iter();
        messages
            .filter(|message| {
                self.next(index, message) == Some(index) && !message.entries.is_empty()
            })
            .collect()
    }

    /// Whether a message consists only of 8-byte numbers, at most as many as fit in a line, and reverses the direction, in a
    /// protocol that can be used in shared memory.
    pub fn is_single_line_turn(&self, index: usize, message: &Message) -> bool {
        let mut entries = message.entries.iter();
        let size = 8 * message.entries.len() as u64;
        self.has_single_line_turns
            && message.entries.len() <= 7
            && message.at_most.is_none_or(|limit| limit.most >= size)
            && self.edge(index, message) == Edge::Turn
            && entries.all(|entry| self.is_number(index, entry))
    }

    /// Such messages of a state, as many as the header checks for.
    pub fn single_line_turns(&self, index: usize) -> Vec<&Message> {
        let messages = self.state(index).messages.iter();
        messages
            .filter(|message| self.is_single_line_turn(index, message))
            .take(MOST_SINGLE_LINE_TURNS)
            .collect()
    }
}
