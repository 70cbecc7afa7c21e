//! Packages, imports, types, bounds and instances.
use super::attributes::{self, Target};
use super::{Builder, Parts};
use crate::diagnostic::{Diagnostic, joined};
use crate::name::{Name, nearest};
use crate::protocol::{Docs, LANGUAGES, Language};
use crate::syntax::ast::{Field, Import, Instance, Item, ItemKind, Mapping, Variant};
use duologue_grammar::{Kind, Node};

impl<'a> Builder<'a> {
    pub fn package(&mut self, pair: Node<'a>) {
        let span = self.span(pair);
        let mut parts = pair.parts();
        parts.next();
        let names: Vec<Name> = parts.map(|part| self.name(part)).collect();
        if let (Some(first), Some(last)) = (self.file.package.first(), self.file.package.last()) {
            let first = first.span.to(last.span);
            let error = Diagnostic::syntax(span, "a file can have only one package");
            self.report(error.related(first, "the package is named here"));
        } else if self.has_items || !self.file.imports.is_empty() {
            let error = Diagnostic::syntax(span, "the package comes first in a file");
            self.report(error.help("move it before all imports and declarations"));
        } else {
            self.file.package = names;
        }
    }

    pub fn import(&mut self, pair: Node<'a>) {
        if self.has_items {
            let text = "imports come before all declarations";
            let error = Diagnostic::syntax(self.span(pair), text);
            self.report(error.help("move it to the top of the file"));
        }
        let mut parts = pair.parts();
        let string = parts.nth(1).expect("an import has a path");
        let span = self.span(string);
        let path = self.string(string);
        self.file.imports.push(Import { path, span });
    }

    pub fn item(&mut self, pair: Node<'a>) {
        self.has_items = true;
        let start = self.span(pair).start;
        let mut parts = pair.parts();
        let attributes = attributes::attributes(self, &mut parts);
        let item = parts.next().expect("an item declares something");
        let mut parts = item.parts();
        parts.next();
        let is_bound = parts.next_if(Kind::kw_bound).is_some();
        parts.next_if(Kind::kw_type);
        let target = match item.kind() {
            Kind::instance => Target::Instance,
            _ => Target::Type,
        };
        let (docs, sorted, name) = self.head(start, attributes, target, &mut parts);
        let declared = parts
            .clone()
            .filter(|part| part.kind() != Kind::missing_comma);
        let kind = match item.kind() {
            Kind::alias => ItemKind::Alias(self.ty(parts.next().expect("an alias has a type"), 0)),
            Kind::structure => ItemKind::Struct(declared.map(|part| self.field(part)).collect()),
            Kind::enumeration => {
                let variants: Vec<Variant> = declared.map(|part| self.variant(part)).collect();
                if variants.is_empty() {
                    let error = Diagnostic::syntax(name.span, "an enum needs a variant");
                    self.report(error.help("without one there is no value to send"));
                }
                ItemKind::Enum(variants)
            }
            Kind::external => self.external(parts, is_bound),
            Kind::instance => {
                let protocol = self.next_name(&mut parts);
                let arguments = parts.next().expect("an instance has arguments");
                ItemKind::Instance(Instance {
                    accepts: sorted.accepts,
                    protocol,
                    arguments: self.types(arguments, 0),
                    head: self.span(item).to(name.span),
                })
            }
            _ => unreachable!("protocols are parsed in parts"),
        };
        self.file.items.push(Item {
            docs,
            levels: sorted.levels,
            name,
            kind,
        });
    }

    fn external(&mut self, mut parts: Parts<'a>, is_bound: bool) -> ItemKind {
        let mut bounds = Vec::new();
        if let Some(pair) = parts.next_if(Kind::bounds) {
            let span = self.span(pair);
            bounds = pair.parts().map(|part| self.name(part)).collect();
            if is_bound {
                let text = "a bound cannot have bounds";
                self.report(Diagnostic::syntax(span, text));
            }
        }
        let mappings = parts.map(|part| self.mapping(part)).collect();
        if is_bound {
            ItemKind::ExternBound(mappings)
        } else {
            ItemKind::ExternType(bounds, mappings)
        }
    }

    fn mapping(&mut self, pair: Node<'a>) -> Mapping {
        let span = self.span(pair);
        let mut parts = pair.parts();
        let target = self.next_name(&mut parts);
        let name = self.string(parts.next().expect("a mapping has a name"));
        let mut optional = |kind| {
            let part = parts.next_if(kind)?;
            part.parts().nth(1).map(|string| self.string(string))
        };
        let from = optional(Kind::from);
        let drop = optional(Kind::drop);
        let has_more = from.is_some() || drop.is_some();
        match Language::named(target.text()) {
            Some(language) if has_more && !language.takes_more => {
                let titles = |takes_more| {
                    let found = LANGUAGES.iter().filter(|it| it.takes_more == takes_more);
                    joined(
                        &found.map(|it| it.title.to_owned()).collect::<Vec<_>>(),
                        "and",
                    )
                };
                let text = format!("`from` and `drop` are for {} only", titles(true));
                let error = Diagnostic::syntax(span, text);
                let help = format!("{} need only the path of a type", titles(false));
                self.report(error.help(help));
            }
            Some(_) => {}
            None => {
                let other = target.text();
                let text = format!("there is no target `{other}`");
                let error = Diagnostic::syntax(target.span, text);
                let near = nearest(other, LANGUAGES.map(|it| it.word));
                let words = LANGUAGES.map(|it| format!("`{}`", it.word));
                let otherwise = format!("the targets are {}", joined(&words, "and"));
                self.report(error.did_you_mean(target.span, near, otherwise));
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

    /// The text between the quotes of a string.
    fn string(&self, string: Node<'a>) -> String {
        self.word(string).trim_matches('"').to_owned()
    }

    fn field(&mut self, pair: Node<'a>) -> Field {
        let (docs, name, mut parts) = self.part(pair);
        let ty = self.ty(parts.next().expect("a field has a type"), 0);
        Field { docs, name, ty }
    }

    fn variant(&mut self, pair: Node<'a>) -> Variant {
        let (docs, name, mut parts) = self.part(pair);
        let entries = parts.next();
        let entries = entries.map_or_else(Vec::new, |part| self.entries(part));
        Variant {
            docs,
            name,
            entries,
        }
    }

    /// The documentation and the name of a field or a variant, and what follows.
    fn part(&mut self, pair: Node<'a>) -> (Docs, Name, Parts<'a>) {
        let mut parts = pair.parts();
        let attributes = attributes::attributes(self, &mut parts);
        let start = self.span(pair).start;
        let (docs, _, name) = self.head(start, attributes, Target::Part, &mut parts);
        (docs, name, parts)
    }
}
