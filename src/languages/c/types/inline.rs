//! The structs of values that are stored inline, with the functions that fill them and show what is in them.

use crate::languages::c::names;
use crate::languages::c::spelling::render_functions;
use crate::languages::c::types::Types;
use crate::languages::c::types::ctype::{Bytes, CType};
use askama::Template;

#[derive(Template)]
#[template(path = "c/inline.h.jinja")]
struct InlineView {
    name: String,
    has: String,
    set: String,
    show: String,
    /// The type of an item.
    item: String,
    most: u16,
    is_list: bool,
    is_text: bool,
    /// The type of a view of all of them.
    view: &'static str,
}

/// The functions of an inline value, whose names begin with this.
pub fn functions(word: &str) -> [String; 2] {
    [format!("duo_{word}_set"), format!("duo_{word}_view")]
}

/// The definition of an inline value's type. Several headers may contain it; the first one that is included defines it.
pub fn text(types: &Types, ty: &CType, by: Option<usize>) -> String {
    let (item, most, view) = if let CType::Array(item, most) = ty {
        (types.name(item, by), *most, "")
    } else if let CType::Inline(bytes, most) = ty {
        let item = match bytes {
            Bytes::Text => "char",
            Bytes::Any => "uint8_t",
        };
        (item.to_owned(), *most, view_of(*bytes))
    } else {
        return String::new();
    };
    let name = types.name(ty, by);
    let [set, show] = functions(&types.words(ty, by));
    let view = InlineView {
        has: names::has(&name),
        name,
        set,
        show,
        item,
        most,
        is_list: matches!(ty, CType::Array(..)),
        is_text: matches!(ty, CType::Inline(Bytes::Text, _)),
        view,
    };
    let mut text = String::new();
    render_functions(&view, &mut text);
    text
}

fn view_of(bytes: Bytes) -> &'static str {
    match bytes {
        Bytes::Text => "duo_str",
        Bytes::Any => "duo_bytes",
    }
}

/// How a function that sends takes a value: a view of text or bytes that are stored inline. Returns the type of the view, and the
/// function that copies them.
pub fn taken_as(types: &Types, ty: &CType, by: Option<usize>) -> Option<(&'static str, String)> {
    let ty = types.underlying(ty);
    let CType::Inline(bytes, _) = ty else {
        return None;
    };
    let [set, _] = functions(&types.words(ty, by));
    Some((view_of(*bytes), set))
}

/// How a callback takes a value: a view of text or bytes that are stored inline. Returns the type of the view, and the function
/// that makes it.
pub fn shown_as(types: &Types, ty: &CType, by: Option<usize>) -> Option<(&'static str, String)> {
    let ty = types.underlying(ty);
    let CType::Inline(bytes, _) = ty else {
        return None;
    };
    let [_, show] = functions(&types.words(ty, by));
    Some((view_of(*bytes), show))
}
