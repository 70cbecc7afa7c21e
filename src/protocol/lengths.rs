//! The bounds that types are written with. They are not part of a [`Type`](super::Type): they change neither which
//! values a program uses nor how values are encoded, only which of them may travel between processes.

use crate::source::Span;

/// A largest length or size, and where it is written.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Limit {
    /// The largest length or size that is allowed.
    pub most: u64,
    /// Where it is written.
    pub span: Span,
}

/// The bounds in a type as it is written.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Lengths {
    /// The bound of the type itself: in bytes for `str` and `bytes`, in items for a list.
    pub most: Option<Limit>,
    /// The bounds in its parts, in the order written. Empty if there are none.
    pub parts: Vec<Lengths>,
}

impl Lengths {
    /// No bounds.
    pub const NONE: &'static Lengths = &Lengths {
        most: None,
        parts: Vec::new(),
    };

    /// Whether there are no bounds.
    #[must_use]
    pub fn is_none(&self) -> bool {
        self.most.is_none() && self.parts.is_empty()
    }

    /// The bounds in the part at this position: the item of a list, the value of an option, a part of a tuple.
    #[must_use]
    pub fn part(&self, position: usize) -> &Lengths {
        self.parts.get(position).unwrap_or(Lengths::NONE)
    }

    /// The bound that is written first, wherever in the type.
    #[must_use]
    pub fn first(&self) -> Option<Limit> {
        self.most
            .or_else(|| self.parts.iter().find_map(Lengths::first))
    }
}
