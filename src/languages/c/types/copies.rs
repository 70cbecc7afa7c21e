//! The functions that copy values of which parts are stored outside, so that they outlive the message they came in.

use crate::languages::c::names;
use crate::languages::c::spelling::{render, render_functions};
use crate::languages::c::types::Types;
use crate::languages::c::types::ctype::CType;
use crate::languages::c::types::layouts::Layouts;
use askama::Template;

/// The functions for the declared types of a file.
#[derive(Template)]
#[template(path = "c/copies.h.jinja")]
pub struct CopiesView {
    pub copies: Vec<CopyView>,
}

/// The function for one declared type.
pub struct CopyView {
    pub name: String,
    pub copy: String,
    pub layout: String,
}

/// The function for a type without a name of its own. Several headers may contain it; the first one that is included defines it.
#[derive(Template)]
#[template(path = "c/copy.h.jinja")]
struct InnerCopyView {
    name: String,
    copy: String,
    has: String,
    /// What values consist of, as text.
    tables: String,
    /// A pointer to the last of the tables.
    layout: String,
}

/// Whether a value has a function that copies it: parts of it are stored outside, and it can be in two places.
pub fn is_copied(types: &Types, ty: &CType) -> bool {
    let facts = types.facts(ty);
    facts.spreads && !facts.moves
}

/// The function that copies a list, an option or a tuple.
pub fn inner_name(types: &Types, ty: &CType, by: Option<usize>) -> String {
    format!("duo_{}_copy", types.words(ty, by))
}

/// Writes the functions of declared types.
pub fn of_declared(copies: Vec<CopyView>, text: &mut String) {
    if !copies.is_empty() {
        render_functions(&CopiesView { copies }, text);
    }
}

/// Writes the functions of the lists, options and tuples among these types. Their parts are complete.
pub fn of_inner(types: &Types, inner: &[CType], by: Option<usize>, text: &mut String) {
    let copied: Vec<&CType> = inner.iter().filter(|ty| is_copied(types, ty)).collect();
    if copied.is_empty() {
        return;
    }
    text.push_str("\n\n#ifndef DUO_NO_MALLOC");
    for ty in copied {
        let mut layouts = Layouts::new(types, by);
        let Some(layout) = layouts.of(ty) else {
            continue;
        };
        let copy = inner_name(types, ty, by);
        let tables = layouts.text.lines().map(|line| format!("    {line}\n"));
        let view = InnerCopyView {
            name: types.name(ty, by),
            has: names::has(&copy),
            copy,
            tables: tables.collect(),
            layout,
        };
        render(&view, text);
    }
    text.push_str("\n#endif");
}
