//! Types, bounds and what messages carry.

use super::protocols::bytes;
use super::{Context, Object, docs, list};
use duologue::protocol::text::builtin_word;
use duologue::protocol::{
    Bound, Builtin, Definition, Entry, Lengths, Mappings, Parameter, Type, TypeDeclaration, TypeId,
};
use serde_json::Value;

/// The built-in types, each with all words for it.
pub fn builtins() -> Vec<Value> {
    let words = |builtin| {
        let words = Builtin::WORDS.iter().filter(move |(_, it)| *it == builtin);
        words
            .map(|(word, _)| Value::from(*word))
            .collect::<Vec<_>>()
    };
    let first = |(word, builtin): &&(&str, Builtin)| builtin_word(*builtin) == *word;
    let all = Builtin::WORDS.iter().filter(first);
    all.map(|(name, builtin)| object! { "name": *name, "words": words(*builtin) }.into())
        .collect()
}

pub fn types(context: &Context<'_>) -> Vec<Value> {
    let ids = (0..context.program.types.len()).map(TypeId::new);
    let types = ids.map(|id| {
        let declared = context.program.ty(id);
        let mut members = context.head(&declared.name, declared.file, &declared.docs);
        members.extend(context.definition(declared));
        let size = context.sizes.of_type(&Type::Named(id));
        Value::from(object! {
            members;
            "bytes": bytes(size),
            "names": context.names(|names| names.types[id.index()].clone()),
        })
    });
    types.collect()
}

pub fn bounds(context: &Context<'_>) -> Vec<Value> {
    list(&context.program.bounds, |bound| {
        object! {
            context.head(&bound.name, bound.file, &bound.docs);
            "mappings": mappings(&bound.mappings),
        }
    })
}

fn mappings(mappings: &Mappings) -> Object {
    let each = mappings.iter().map(|(language, mapping)| {
        let mapping = object! {
            "name": mapping.name.as_str(),
            "from": mapping.from.as_deref(),
            "drop": mapping.drop.as_deref(),
        };
        (language.word.to_owned(), mapping.into())
    });
    each.collect()
}

impl Context<'_> {
    fn definition(&self, declared: &TypeDeclaration) -> Object {
        match &declared.definition {
            Definition::Alias(target) => object! {
                "kind": "alias",
                "target": self.type_use(target, &declared.lengths, &[]),
            },
            Definition::Struct(fields) => object! {
                "kind": "struct",
                "fields": list(fields, |field| object! {
                    "name": field.name.text(),
                    "docs": docs(&field.docs),
                    "span": self.span(field.name.span),
                    "type": self.type_use(&field.ty, &field.lengths, &[]),
                    "text": self.written(field.ty_span),
                }),
            },
            Definition::Enum(variants) => object! {
                "kind": "enum",
                "variants": list(variants, |variant| object! {
                    "name": variant.name.text(),
                    "docs": docs(&variant.docs),
                    "span": self.span(variant.name.span),
                    "entries": self.entries(&variant.entries, &[]),
                }),
            },
            Definition::Extern(..) if !declared.is_declared => object! { "kind": "undeclared" },
            Definition::Extern(at, bounds) => object! {
                "kind": "extern",
                "mappings": mappings(at),
                "bounds": self.bounds(bounds),
            },
        }
    }

    pub fn entries(&self, entries: &[Entry], parameters: &[Parameter]) -> Vec<Value> {
        list(entries, |entry| {
            object! {
                "name": entry.name.text(),
                // Whether the name was derived from the type.
                "is_derived": entry.is_derived,
                "span": self.span(entry.name.span),
                "type": self.type_use(&entry.ty, &entry.lengths, parameters),
                // The type as it is written.
                "text": self.written(entry.ty_span),
            }
        })
    }

    pub fn parameters(&self, parameters: &[Parameter]) -> Vec<Value> {
        list(parameters, |parameter| {
            object! {
                "name": parameter.name.text(),
                "bounds": self.bounds(&parameter.bounds),
            }
        })
    }

    /// Bounds where they are used; `bound` is `null` for a built-in one.
    fn bounds(&self, bounds: &[Bound]) -> Vec<Value> {
        list(bounds, |bound| {
            let mut builtins = Bound::BUILTINS.iter();
            let builtin = builtins.find(|(_, builtin)| builtin == bound);
            let (name, id) = match (builtin, bound) {
                (None, Bound::Extern(id)) => {
                    (self.program.bound(*id).name.text(), Some(id.index()))
                }
                (builtin, _) => (builtin.map_or("", |(word, _)| *word), None),
            };
            object! { "name": name, "bound": id }
        })
    }

    /// A type in a state with these parameters. Recurses as deeply as the type is written.
    pub fn type_use(&self, ty: &Type, lengths: &Lengths, parameters: &[Parameter]) -> Object {
        let inner = |ty: &Type, at: usize| self.type_use(ty, lengths.part(at), parameters);
        let all = |types: &[Type]| {
            let types = types.iter().enumerate();
            let types = types.map(|(at, ty)| Value::from(inner(ty, at)));
            types.collect::<Vec<_>>()
        };
        // The most bytes of a text, or items of a list.
        let bounded = |members: Object| match lengths.most {
            Some(limit) => object! { members; "most": limit.most },
            None => members,
        };
        match ty {
            Type::Builtin(builtin) => {
                bounded(object! { "kind": "builtin", "name": builtin_word(*builtin) })
            }
            Type::List(item) => bounded(object! { "kind": "list", "item": inner(item, 0) }),
            Type::Option(item) => object! { "kind": "option", "item": inner(item, 0) },
            Type::Tuple(items) => object! { "kind": "tuple", "items": all(items) },
            Type::Named(id) => object! {
                "kind": "named",
                "type": id.index(),
                "name": self.program.ty(*id).name.text(),
            },
            Type::Parameter(position) => object! {
                "kind": "parameter",
                "position": *position,
                "name": parameters.get(*position as usize).map_or("", |found| found.name.text()),
            },
            Type::Endpoint(endpoint) => object! {
                "kind": "endpoint",
                "protocol": endpoint.protocol.index(),
                "side": endpoint.side.word(),
                "state": endpoint.state.index(),
                "arguments": all(&endpoint.arguments),
            },
            // Never in a checked program.
            Type::Error => Object::new(),
        }
    }
}
