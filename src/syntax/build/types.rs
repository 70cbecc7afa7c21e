//! Payloads and types.
use super::Builder;
use crate::diagnostic::Diagnostic;
use crate::protocol::Limit;
use crate::syntax::ast::{Entry, Type, TypeKind};
use crate::syntax::foreign::Fault;
use duologue_grammar::{DEPTH_LIMIT, Kind, Node};

impl<'a> Builder<'a> {
    pub(super) fn entries(&mut self, pair: Node<'a>) -> Vec<Entry> {
        let entries = pair.parts().map(|entry| {
            let mut parts = entry.parts();
            let label = parts.next_if(Kind::label);
            let name = label.map(|label| {
                let word = label.parts().next().expect("a label has a name");
                self.name(word)
            });
            let ty = self.ty(parts.next().expect("an entry has a type"), 0);
            Entry { name, ty }
        });
        entries.collect()
    }

    pub(super) fn types(&mut self, pair: Node<'a>, depth: usize) -> Vec<Type> {
        pair.parts().map(|part| self.ty(part, depth)).collect()
    }

    pub(super) fn ty(&mut self, pair: Node<'a>, depth: usize) -> Type {
        let span = self.span(pair);
        // Options are boxed types, and `~` has no meaning, but both have the limit of brackets.
        let mut signs = pair
            .children()
            .filter(|part| matches!(part.kind(), Kind::tilde | Kind::option));
        if let Some(deep) = signs.nth(DEPTH_LIMIT) {
            self.report(Fault::too_deep(self.source, &deep.range()));
        }
        let mut parts = pair.parts();
        let inner = parts.next().expect("a type is something");
        let inner_span = self.span(inner);
        let mut ty = match inner.kind() {
            Kind::list => {
                let mut parts = inner.parts();
                let item = parts.next().expect("a list has an item");
                let item = self.ty(item, depth + 1);
                Type {
                    kind: TypeKind::List(Box::new(item)),
                    most: parts.next().and_then(|number| self.bound(number)),
                    span: inner_span,
                }
            }
            Kind::tuple => self.tuple(inner, depth),
            Kind::path => {
                let mut names = Vec::new();
                let mut arguments = Vec::new();
                let mut most = None;
                for part in inner.parts() {
                    match part.kind() {
                        Kind::arguments => arguments = self.types(part, depth + 1),
                        Kind::length => {
                            let number = part.parts().next();
                            most = number.and_then(|number| self.bound(number));
                        }
                        _ => names.push(self.name(part)),
                    }
                }
                Type {
                    kind: TypeKind::Path(names, arguments),
                    most,
                    span: inner_span,
                }
            }
            _ => unreachable!("a type is a list, a tuple or a path"),
        };
        for option in parts.take(DEPTH_LIMIT) {
            let span = ty.span.to(self.span(option));
            let kind = TypeKind::Option(Box::new(ty));
            ty = Type {
                kind,
                most: None,
                span,
            };
        }
        ty.span = span;
        ty
    }

    /// The bound in `str<255>` or `[T; 1000]`; what is wrong with it is reported.
    fn bound(&mut self, number: Node<'a>) -> Option<Limit> {
        let span = self.span(number);
        let (text, help) = match self.word(number).parse() {
            Ok(0) => (
                "a bound of 0 allows only the empty value",
                "write a larger bound, or remove the type",
            ),
            Ok(most) => return Some(Limit { most, span }),
            Err(_) => (
                "this bound does not fit in 64 bits",
                "write a smaller bound, or a type without one",
            ),
        };
        self.fail(Diagnostic::error("syntax", span, text).help(help))
    }

    fn tuple(&mut self, pair: Node<'a>, depth: usize) -> Type {
        let span = self.span(pair);
        let mut items = Vec::new();
        let mut comma = None;
        for part in pair.parts() {
            if part.kind() == Kind::last_comma {
                comma = Some(self.span(part));
            } else {
                items.push(self.ty(part, depth + 1));
            }
        }
        match (items.len(), comma) {
            (1, None) => items.remove(0),
            (1, Some(comma)) => {
                let error = Diagnostic::error("syntax", comma, "a tuple has at least two parts");
                self.report(error.fix("`(A)` is the same as `A`", comma, "", false));
                items.remove(0)
            }
            _ => Type {
                kind: TypeKind::Tuple(items),
                most: None,
                span,
            },
        }
    }
}
