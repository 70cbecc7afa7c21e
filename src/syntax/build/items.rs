//! Packages, imports, types, bounds and instances.
// `Rule` has a variant for every rule of the grammar, most of which cannot occur at a given position.
#![allow(clippy::wildcard_enum_match_arm)]

use super::attributes::Target;
use super::{Builder, Parts};
use crate::diagnostic::Diagnostic;
use crate::name::{Name, nearest};
use crate::protocol::{LANGUAGES, Language};
use crate::syntax::ast::{Field, Import, Instance, Item, ItemKind, Mapping, Variant};
use crate::syntax::grammar::Rule;
use pest::iterators::Pair;

impl<'a> Builder<'a> {
    pub fn package(&mut self, pair: Pair<'a, Rule>) {
        let span = self.span(&pair);
        let mut parts = pair.into_inner().peekable();
        parts.next();
        let names: Vec<Name> = parts.map(|part| self.name(&part)).collect();
        if let (Some(first), Some(last)) = (self.file.package.first(), self.file.package.last()) {
            let first = first.span.to(last.span);
            let error = Diagnostic::error("syntax", span, "a file can have only one package");
            self.report(error.related(first, "the package is named here"));
        } else if self.has_items || !self.file.imports.is_empty() {
            let error = Diagnostic::error("syntax", span, "the package comes first in a file");
            self.report(error.help("move it before all imports and declarations"));
        } else {
            self.file.package = names;
        }
    }

    pub fn import(&mut self, pair: Pair<'a, Rule>) {
        if self.has_items {
            let error = Diagnostic::error(
                "syntax",
                self.span(&pair),
                "imports come before all declarations",
            );
            self.report(error.help("move it to the top of the file"));
        }
        let mut parts = pair.into_inner();
        let string = parts.nth(1).expect("an import has a path");
        let span = self.span(&string);
        let path = string_text(string);
        self.file.imports.push(Import { path, span });
    }

    pub fn item(&mut self, pair: Pair<'a, Rule>) {
        self.has_items = true;
        let start = self.span(&pair).start;
        let mut parts = pair.into_inner().peekable();
        let attributes = self.attributes(&mut parts);
        let item = parts.next().expect("an item declares something");
        let rule = item.as_rule();
        let item_span = self.span(&item);
        let mut parts = item.into_inner().peekable();
        parts.next();
        let is_bound = parts
            .next_if(|part| part.as_rule() == Rule::kw_bound)
            .is_some();
        parts.next_if(|part| part.as_rule() == Rule::kw_type);
        let name = self.next_name(&mut parts);
        let docs = self.docs(start, item_span.start.max(name.span.start));
        let accepts = match rule {
            Rule::instance => self.sort(attributes, Target::Instance).accepts,
            _ => {
                self.refuse(&attributes, "this");
                Vec::new()
            }
        };
        let kind = match rule {
            Rule::alias => ItemKind::Alias(self.ty(parts.next().expect("an alias has a type"), 0)),
            Rule::structure => ItemKind::Struct(parts.map(|part| self.field(part)).collect()),
            Rule::enumeration => {
                let variants: Vec<Variant> = parts.map(|part| self.variant(part)).collect();
                if variants.is_empty() {
                    let error = Diagnostic::error("syntax", name.span, "an enum needs a variant");
                    self.report(error.help("without one there is no value to send"));
                }
                ItemKind::Enum(variants)
            }
            Rule::external => self.external(parts, is_bound),
            Rule::instance => {
                let protocol = self.next_name(&mut parts);
                let arguments = parts.next().expect("an instance has arguments");
                ItemKind::Instance(Instance {
                    accepts,
                    protocol,
                    arguments: self.types(arguments, 0),
                    head: item_span.to(name.span),
                })
            }
            _ => unreachable!("protocols are parsed in parts"),
        };
        self.file.items.push(Item { docs, name, kind });
    }

    fn external(&mut self, mut parts: Parts<'a>, is_bound: bool) -> ItemKind {
        let mut bounds = Vec::new();
        if let Some(pair) = parts.next_if(|part| part.as_rule() == Rule::bounds) {
            let span = self.span(&pair);
            bounds = pair.into_inner().map(|part| self.name(&part)).collect();
            if is_bound {
                self.report(Diagnostic::error(
                    "syntax",
                    span,
                    "a bound cannot have bounds",
                ));
            }
        }
        let mappings = parts.map(|part| self.mapping(part)).collect();
        if is_bound {
            ItemKind::ExternBound(mappings)
        } else {
            ItemKind::ExternType(bounds, mappings)
        }
    }

    fn mapping(&mut self, pair: Pair<'a, Rule>) -> Mapping {
        let span = self.span(&pair);
        let mut parts = pair.into_inner().peekable();
        let target = self.next_name(&mut parts);
        let name = string_text(parts.next().expect("a mapping has a name"));
        let mut optional = |rule| {
            let part = parts.next_if(|part| part.as_rule() == rule)?;
            part.into_inner().nth(1).map(string_text)
        };
        let from = optional(Rule::from);
        let drop = optional(Rule::drop);
        let has_more = from.is_some() || drop.is_some();
        match Language::named(target.text()) {
            Some(language) if has_more && !language.takes_more => {
                let titles = |takes_more| {
                    let found = LANGUAGES.iter().filter(|it| it.takes_more == takes_more);
                    listed(found.map(|it| it.title.to_owned()))
                };
                let text = format!("`from` and `drop` are for {} only", titles(true));
                let error = Diagnostic::error("syntax", span, text);
                let help = format!("{} need only the path of a type", titles(false));
                self.report(error.help(help));
            }
            Some(_) => {}
            None => {
                let other = target.text();
                let text = format!("there is no target `{other}`");
                let error = Diagnostic::error("syntax", target.span, text);
                let error = match nearest(other, LANGUAGES.map(|it| it.word)) {
                    Some(near) => {
                        let help = format!("did you mean `{near}`?");
                        error.fix(help, target.span, near, false)
                    }
                    None => {
                        let words = LANGUAGES.iter().map(|it| format!("`{}`", it.word));
                        error.help(format!("the targets are {}", listed(words)))
                    }
                };
                self.report(error);
            }
        }
        Mapping {
            target,
            name,
            from,
            drop,
            span,
        }
    }

    fn field(&mut self, pair: Pair<'a, Rule>) -> Field {
        let start = self.span(&pair).start;
        let mut parts = pair.into_inner().peekable();
        let attributes = self.attributes(&mut parts);
        let name = self.next_name(&mut parts);
        let docs = self.docs(start, name.span.start);
        self.refuse(&attributes, "a field");
        let ty = self.ty(parts.next().expect("a field has a type"), 0);
        Field { docs, name, ty }
    }

    fn variant(&mut self, pair: Pair<'a, Rule>) -> Variant {
        let start = self.span(&pair).start;
        let mut parts = pair.into_inner().peekable();
        let attributes = self.attributes(&mut parts);
        let name = self.next_name(&mut parts);
        let docs = self.docs(start, name.span.start);
        self.refuse(&attributes, "a variant");
        let entries = parts
            .next()
            .map_or_else(Vec::new, |part| self.entries(part));
        Variant {
            docs,
            name,
            entries,
        }
    }
}

fn string_text(string: Pair<'_, Rule>) -> String {
    let text = string.into_inner().next();
    text.map_or_else(String::new, |text| text.as_str().to_owned())
}

/// `a`, `a and b`, or `a, b and c`
fn listed(words: impl Iterator<Item = String>) -> String {
    let words: Vec<String> = words.collect();
    match words.as_slice() {
        [] => String::new(),
        [only] => only.clone(),
        [first @ .., last] => format!("{} and {last}", first.join(", ")),
    }
}
