//! What the templates of several files share.

use super::names::object_scope;
use super::names::spelling::doc_line;
use super::names::whole::Whole;
use crate::protocol::FileId;

/// A list of parameters that is longer than this has a line for each of them.
const LONGEST_LIST: usize = 60;

/// The first lines of a file.
pub struct Head<'a> {
    /// The name of the protocol file.
    pub file: &'a str,
    pub docs: &'a [Box<str>],
    pub package: String,
    pub is_for_three: bool,
}

impl<'a> Head<'a> {
    pub fn of(whole: &Whole<'a>, id: FileId) -> Head<'a> {
        let file = whole.program.file(id);
        Head {
            file: file.path.rsplit('/').next().unwrap_or(&file.path),
            docs: &file.docs,
            package: object_scope::package(whole.program, whole.options, id).join("."),
            is_for_three: whole.is_for_three(),
        }
    }
}

/// The parameters of a method or a class.
pub struct Parameters {
    pub list: Vec<Parameter>,
    /// Whether each has a line of its own.
    pub is_long: bool,
}

pub struct Parameter {
    /// With a space after a name that ends in `_`: a colon directly after it would be parsed as part of the name.
    pub name: String,
    pub ty: String,
}

impl Parameters {
    pub fn of(list: impl Iterator<Item = (String, String)>) -> Parameters {
        let list = list.map(|(name, ty)| {
            let gap = if name.ends_with('_') { " " } else { "" };
            Parameter {
                name: name + gap,
                ty,
            }
        });
        let list: Vec<Parameter> = list.collect();
        let lengths = list.iter().map(|one| one.name.len() + one.ty.len() + 4);
        Parameters {
            is_long: lengths.sum::<usize>() > LONGEST_LIST,
            list,
        }
    }
}

/// The lines of a doc comment. Those with text begin with a space.
pub fn docs<S: AsRef<str>>(lines: &[S]) -> Vec<String> {
    let lines = lines.iter().map(|line| doc_line(line.as_ref()));
    lines
        .map(|line| format!(" {line}").trim_end().to_owned())
        .collect()
}
