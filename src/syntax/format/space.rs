//! Spaces within a line. Whether there is one depends only on its two neighbors.

use super::atoms::AtomKind::{
    self, Arrow, Close, CloseBody, Comma, Comment, Direction, Open, OpenBody, Path, Semicolon,
    Sign, Word,
};
use super::atoms::Comment as Remark;

/// Whether a space separates `left` and `right` on one line.
pub fn is_spaced(left: AtomKind, right: AtomKind) -> bool {
    match (left, right) {
        (_, Comma | Semicolon | Close) | (Open(_), Comment(Remark::Block)) => false,
        (Comment(_), _) | (_, Comment(_)) => true,
        (Open(_), _) => false,
        (OpenBody | Comma | Semicolon | Arrow, _) | (_, OpenBody | CloseBody | Arrow) => true,
        (Direction | Path, _) | (_, Direction | Path) => false,
        (Sign(b'=' | b'+' | b':'), _) | (_, Sign(b'=' | b'+')) => true,
        (Sign(b'!'), right) => right == Word,
        (Sign(_), _) | (_, Sign(_) | Open(_)) => false,
        _ => true,
    }
}
