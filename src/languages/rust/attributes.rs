//! Derives and attributes that the user adds to declared types, and to their fields and variants.

use crate::name::nearest;
use crate::protocol::{Definition, Program, TypeDeclaration};
use proc_macro2::{Delimiter, Spacing, TokenStream, TokenTree};
use std::fmt;

/// The path that selects everything.
const ALL: &str = ".";

/// A derive or an attribute for declared structs and enums, or for their fields and variants.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Attribute {
    /// A name from a protocol file with its package, such as `acme.account` or `acme.account.balance`: it selects what it names and
    /// everything inside it.
    path: String,
    addition: Addition,
}

#[derive(Clone, Debug, PartialEq, Eq)]
enum Addition {
    /// Paths of traits.
    Derive(Vec<String>),
    OnType(String),
    OnMember(String),
}

/// Why derives or attributes cannot be added.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct AttributeError(String);

impl fmt::Display for AttributeError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl std::error::Error for AttributeError {}

impl Attribute {
    /// Derives traits for the structs and enums that the path selects: one trait, or several separated by commas.
    ///
    /// # Errors
    /// If one of them is not a path, or is a trait that is derived wherever the fields allow it.
    pub fn derive(path: impl Into<String>, traits: &str) -> Result<Attribute, AttributeError> {
        let wrong = || {
            AttributeError(format!(
                "`{traits}` is not the path of a trait; write one such as `Default`"
            ))
        };
        let mut names = Vec::new();
        let tokens = tokens(traits).ok_or_else(wrong)?;
        for part in tokens.split(|token| is_punct(token, ',')) {
            if path_length(part) != Some(part.len()) {
                return Err(wrong());
            }
            let name: String = part.iter().map(ToString::to_string).collect();
            if super::derive::is_derived(&name) {
                return Err(AttributeError(format!(
                    "`{name}` needs no option: it is derived for every type whose fields allow it"
                )));
            }
            names.push(name);
        }
        Ok(Attribute {
            path: path.into(),
            addition: Addition::Derive(names),
        })
    }

    /// An attribute for the structs and enums that the path selects.
    ///
    /// # Errors
    /// If the text is not one attribute, such as `#[non_exhaustive]`.
    pub fn on_type(path: impl Into<String>, text: &str) -> Result<Attribute, AttributeError> {
        Ok(Attribute {
            path: path.into(),
            addition: Addition::OnType(attribute(text)?),
        })
    }

    /// An attribute for the fields and variants that the path selects.
    ///
    /// # Errors
    /// If the text is not one attribute, such as `#[serde(default)]`.
    pub fn on_member(path: impl Into<String>, text: &str) -> Result<Attribute, AttributeError> {
        Ok(Attribute {
            path: path.into(),
            addition: Addition::OnMember(attribute(text)?),
        })
    }

    fn selects(&self, name: &str) -> bool {
        let rest = name.strip_prefix(&*self.path);
        self.path == ALL || rest.is_some_and(|rest| rest.is_empty() || rest.starts_with('.'))
    }
}

/// The tokens of a text, without comments; `None` if it cannot be split into Rust's tokens.
fn tokens(text: &str) -> Option<Vec<TokenTree>> {
    Some(text.parse::<TokenStream>().ok()?.into_iter().collect())
}

fn is_punct(token: &TokenTree, character: char) -> bool {
    matches!(token, TokenTree::Punct(punct) if punct.as_char() == character)
}

/// The number of tokens in the path at the beginning of `tokens`; `None` if they do not begin with a path.
fn path_length(tokens: &[TokenTree]) -> Option<usize> {
    let has_colons = |at: usize| match tokens.get(at..at + 2) {
        Some([TokenTree::Punct(first), second]) => {
            first.as_char() == ':' && first.spacing() == Spacing::Joint && is_punct(second, ':')
        }
        _ => false,
    };
    let mut at = if has_colons(0) { 2 } else { 0 };
    loop {
        let TokenTree::Ident(_) = tokens.get(at)? else {
            return None;
        };
        at += 1;
        if !has_colons(at) {
            return Some(at);
        }
        at += 2;
    }
}

/// A text that is one outer attribute, without whitespace around it.
fn attribute(text: &str) -> Result<String, AttributeError> {
    let is_attribute = || {
        let tokens = tokens(text)?;
        let [hash, TokenTree::Group(group)] = &tokens[..] else {
            return None;
        };
        let inside: Vec<TokenTree> = group.stream().into_iter().collect();
        let rest = &inside[path_length(&inside)?..];
        let is_whole = match rest {
            [] => true,
            [TokenTree::Group(arguments)] => arguments.delimiter() != Delimiter::None,
            [equals, _, ..] => {
                let is_single =
                    matches!(equals, TokenTree::Punct(punct) if punct.spacing() == Spacing::Alone);
                is_single && is_punct(equals, '=')
            }
            [_] => false,
        };
        Some(is_punct(hash, '#') && group.delimiter() == Delimiter::Bracket && is_whole)
    };
    if is_attribute() == Some(true) {
        return Ok(text.trim().to_owned());
    }
    let text = text.trim();
    Err(AttributeError(format!(
        "`{text}` is not an attribute; write one such as `#[serde(default)]`"
    )))
}

/// What is added to one type.
#[derive(Clone, Copy)]
pub(super) struct Additions<'a> {
    attributes: &'a [Attribute],
    program: &'a Program,
    ty: &'a TypeDeclaration,
}

impl<'a> Additions<'a> {
    pub(super) fn of(
        attributes: &'a [Attribute],
        program: &'a Program,
        ty: &'a TypeDeclaration,
    ) -> Additions<'a> {
        Additions {
            attributes,
            program,
            ty,
        }
    }

    /// The additions that select a name.
    fn selected(self, name: &str) -> impl Iterator<Item = &'a Addition> {
        let all = self.attributes.iter();
        let all = all.filter(move |attribute| attribute.selects(name));
        all.map(|attribute| &attribute.addition)
    }

    fn name(self) -> String {
        self.program.full_name(self.ty.file, self.ty.name.text())
    }

    /// The traits that are derived, each once.
    pub(super) fn derives(self) -> Vec<&'a str> {
        let name = self.name();
        let traits = self.selected(&name).flat_map(|addition| match addition {
            Addition::Derive(traits) => &traits[..],
            Addition::OnType(_) | Addition::OnMember(_) => &[],
        });
        let mut names = Vec::new();
        for name in traits {
            if !names.contains(&name.as_str()) {
                names.push(name.as_str());
            }
        }
        names
    }

    /// The attributes of the type, apart from its derives.
    pub(super) fn on_type(self) -> Vec<String> {
        let name = self.name();
        let texts = self.selected(&name).filter_map(|addition| match addition {
            Addition::OnType(text) => Some(text.clone()),
            Addition::Derive(_) | Addition::OnMember(_) => None,
        });
        texts.collect()
    }

    /// The attributes of a field or a variant.
    pub(super) fn on_member(self, member: &str) -> Vec<String> {
        // Most programs add nothing, and then no name has to be built.
        if self.attributes.is_empty() {
            return Vec::new();
        }
        let name = format!("{}.{member}", self.name());
        let texts = self.selected(&name).filter_map(|addition| match addition {
            Addition::OnMember(text) => Some(text.clone()),
            Addition::Derive(_) | Addition::OnType(_) => None,
        });
        texts.collect()
    }
}

/// Checks that every derive and attribute selects something in a program.
///
/// # Errors
/// If some do not; the error lists their paths.
pub fn check_attributes(program: &Program, attributes: &[Attribute]) -> Result<(), AttributeError> {
    let (mut types, mut members) = (Vec::new(), Vec::new());
    for ty in &program.types {
        let name = program.full_name(ty.file, ty.name.text());
        let mut add = |member: &str| members.push(format!("{name}.{member}"));
        match &ty.definition {
            Definition::Struct(all) => all.iter().for_each(|field| add(field.name.text())),
            Definition::Enum(all) => all.iter().for_each(|variant| add(variant.name.text())),
            Definition::Alias(_) | Definition::Extern(..) => continue,
        }
        types.push(name);
    }
    let mut errors = Vec::new();
    for attribute in attributes {
        let (names, what) = match attribute.addition {
            Addition::Derive(_) | Addition::OnType(_) => (&types, "struct or enum"),
            Addition::OnMember(_) => (&members, "field or variant"),
        };
        let path = &attribute.path;
        if path == ALL || names.iter().any(|name| attribute.selects(name)) {
            continue;
        }
        let unqualified = format!(".{path}");
        let found = names.iter().find(|name| name.ends_with(&unqualified));
        let found = found.map(String::as_str);
        let nearest = found.or_else(|| nearest(path, names.iter().map(String::as_str)));
        let help = nearest.map(|name| format!("; did you mean `{name}`?"));
        errors.push(format!(
            "there is no {what} `{path}`{}",
            help.unwrap_or_default()
        ));
    }
    if errors.is_empty() {
        Ok(())
    } else {
        Err(AttributeError(errors.join("\n")))
    }
}
