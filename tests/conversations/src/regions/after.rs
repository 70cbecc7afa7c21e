//! The endpoint after a message of `payloads.proto`. The fuzz targets, which are a workspace of their own, include this file.

use super::{All, server};

/// The endpoint after a message, if the session goes on.
pub fn after(message: All) -> Option<server::All> {
    match message {
        All::None(next)
        | All::Bool(_, next)
        | All::U8(_, next)
        | All::U16(_, next)
        | All::U32(_, next)
        | All::U64(_, next)
        | All::I8(_, next)
        | All::I16(_, next)
        | All::I32(_, next)
        | All::I64(_, next)
        | All::F32(_, next)
        | All::F64(_, next)
        | All::Str(_, next)
        | All::Bytes(_, next)
        | All::List { next, .. }
        | All::Lists { next, .. }
        | All::Option { next, .. }
        | All::Options { next, .. }
        | All::Tuple { next, .. }
        | All::Empties { next, .. }
        | All::Record(_, next)
        | All::Tree(_, next)
        | All::Colour(_, next)
        | All::Shape(_, next)
        | All::Many(_, _, _, _, next) => Some(next),
        All::Over => None,
    }
}
