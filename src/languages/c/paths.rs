//! Messages of plain bytes that do not end the session. The header writes them to the ring and reads them from it, so the
//! compiler sees the whole operation.

use super::ctype::CType;
use super::names::spelling;
use super::scope::Scope;
use super::types::{Types, is_bare};
use crate::protocol::{Builtin, Definition};

/// The header compares at most this many tags of a message; a message with more goes through the library.
const MOST_TAGS: usize = 4;

/// A tag in an entry, which is checked before the entry is sent.
pub struct TagCheck {
    /// The check is skipped if one of these does not hold.
    pub guards: Vec<Guard>,
    /// The tag.
    pub place: String,
    /// How many variants its enum has.
    pub variants: usize,
}

/// Whether an option has a value or, with the constant of its tag, an enum a variant.
#[derive(Clone)]
pub struct Guard {
    pub place: String,
    pub variant: Option<String>,
}

/// The checks of a message under construction.
struct Checks<'a> {
    types: &'a Types<'a>,
    guards: Vec<Guard>,
    found: Vec<TagCheck>,
}

impl Checks<'_> {
    /// Adds those of a value at `place` that stores nothing outside of itself. `None` if they are too many.
    fn add(&mut self, ty: &CType, place: &str) -> Option<()> {
        let types = self.types;
        let ty = types.underlying(ty);
        if !types.facts(ty).checks {
            return Some(());
        }
        match ty {
            CType::Option(item) => self.guarded(place, None, |checks| {
                checks.add(item, &format!("{place}.value"))
            })?,
            CType::Tuple(items) => {
                for (position, item) in items.iter().enumerate() {
                    self.add(item, &format!("{place}.v{position}"))?;
                }
            }
            CType::Named(id) => match &types.program.ty(*id).definition {
                Definition::Struct(fields) => {
                    for field in fields {
                        let member = spelling::member(field.name.text());
                        let ty = types.stored(&field.ty, &field.lengths);
                        self.add(&ty, &format!("{place}.{member}"))?;
                    }
                }
                Definition::Enum(variants) => {
                    let tag = if is_bare(variants) { "" } else { ".tag" };
                    self.found.push(TagCheck {
                        guards: self.guards.clone(),
                        place: format!("{place}{tag}"),
                        variants: variants.len(),
                    });
                    if self.found.len() > MOST_TAGS {
                        return None;
                    }
                    for variant in variants {
                        let name = variant.name.text();
                        let constant = types.variant(*id, name);
                        self.guarded(place, Some(constant), |checks| {
                            for entry in &variant.entries {
                                let own = spelling::member(name);
                                let member = spelling::member(entry.name.text());
                                let ty = types.stored(&entry.ty, &entry.lengths);
                                checks.add(&ty, &format!("{place}.as.{own}.{member}"))?;
                            }
                            Some(())
                        })?;
                    }
                }
                Definition::Alias(_) | Definition::Extern(..) => {
                    return None;
                }
            },
            CType::Builtin(_)
            | CType::Inline(..)
            | CType::List(_)
            | CType::Array(..)
            | CType::Parameter(_)
            | CType::Endpoint(_) => return None,
        }
        Some(())
    }

    fn guarded(
        &mut self,
        place: &str,
        variant: Option<String>,
        add: impl FnOnce(&mut Self) -> Option<()>,
    ) -> Option<()> {
        self.guards.push(Guard {
            place: place.to_owned(),
            variant,
        });
        add(self)?;
        self.guards.pop();
        Some(())
    }
}

impl Scope<'_> {
    /// What to check before entries of plain bytes are sent; `None` if that takes more than a few comparisons.
    pub fn tag_checks<'t>(
        &self,
        mut entries: impl Iterator<Item = (&'t str, &'t CType)>,
    ) -> Option<Vec<TagCheck>> {
        let mut checks = Checks {
            types: self.types,
            guards: Vec::new(),
            found: Vec::new(),
        };
        entries.try_for_each(|(parameter, ty)| checks.add(ty, parameter))?;
        Some(checks.found)
    }

    fn is_number(&self, ty: &CType) -> bool {
        matches!(
            self.types.underlying(ty),
            CType::Builtin(Builtin::U64 | Builtin::I64 | Builtin::F64)
        )
    }

    /// Whether a message that leads back to its state is an 8-byte number, in a protocol that can be used between processes.
    /// Its limit is no less than 8 bytes (`unusable-limit`).
    pub fn is_lane(&self, stored: &[CType]) -> bool {
        matches!(stored, [only] if self.leaves && self.is_number(only))
    }

    /// Whether a message that reverses the direction consists only of 8-byte numbers, at most as many as fit in a line, in a
    /// protocol that can be used in shared memory.
    pub fn is_single_line(&self, stored: &[CType]) -> bool {
        self.has_single_line_turns
            && stored.len() <= 7
            && stored.iter().all(|ty| self.is_number(ty))
    }
}
