//! Attributes.

use super::{Builder, Parts};
use crate::diagnostic::Diagnostic;
use crate::name::{Name, nearest};
use crate::protocol::{Accepted, Limit, Referent};
use crate::source::Span;
use crate::syntax::ast::{Attribute, LevelAttribute, Quantity};
use duologue_grammar::{Kind, Node};

/// How many rules the attributes of one declaration may name: each is checked for every finding inside the declaration.
const LEVEL_LIMIT: usize = 64;

/// All attributes.
const KNOWN: [&str; 7] = [
    "allow", "warn", "deny", "dual_of", "at_most", "within", "accepts",
];

/// The units of sizes, with the number of bytes of each.
const UNITS: [(&str, u64); 3] = [("B", 1), ("KiB", 1 << 10), ("MiB", 1 << 20)];

/// What an attribute with a size looks like.
const WRITE_SIZE: &str = "write a whole number and a unit, such as `#[at_most(64 KiB)]`";

/// The attributes of one declaration.
#[derive(Default)]
pub struct Sorted {
    pub levels: Vec<LevelAttribute>,
    pub dual_of: Vec<Name>,
    pub accepts: Vec<Accepted>,
    pub at_most: Option<Limit>,
    pub within: Option<Limit>,
}

/// What attributes are written before.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Target {
    Protocol,
    Instance,
    State,
    Message,
}

impl<'a> Builder<'a> {
    /// The leading attributes.
    pub(super) fn attributes(&mut self, parts: &mut Parts<'a>) -> Vec<Attribute> {
        let mut attributes = Vec::new();
        while let Some(pair) = parts.next_if(Kind::attribute) {
            if pair.is_broken() {
                self.broken(pair.range());
                continue;
            }
            let span = self.span(pair);
            let mut words = pair.parts();
            let name = words.next().expect("an attribute has a name");
            let mut attribute = Attribute {
                name: Name::new(self.word(name), self.span(name)),
                arguments: Vec::new(),
                quantities: Vec::new(),
                span,
            };
            for word in words {
                if word.kind() == Kind::quantity {
                    let quantity = self.quantity(word);
                    let unit = quantity.unit.iter();
                    // The digits of a fingerprint have no unit.
                    let unit = unit.filter(|_| attribute.name.text() != "accepts");
                    let words = unit.map(|unit| (unit.span, Referent::Unit));
                    self.file.words.extend(words);
                    attribute.quantities.push(quantity);
                } else {
                    let name = Name::new(self.word(word), self.span(word));
                    attribute.arguments.push(name);
                }
            }
            let mut words = vec![(attribute.name.span, Referent::Attribute)];
            if attribute.level().is_some() {
                let rules = attribute.arguments.iter();
                words.extend(rules.map(|rule| (rule.span, Referent::Rule)));
            }
            self.file.words.extend(words);
            attributes.push(attribute);
        }
        attributes
    }

    fn quantity(&self, pair: Node<'a>) -> Quantity {
        let span = self.span(pair);
        let mut parts = pair.parts();
        let number = parts.next().expect("a quantity has a number");
        Quantity {
            number: self.word(number).parse().ok(),
            unit: parts
                .next()
                .map(|unit| Name::new(self.word(unit), self.span(unit))),
            span,
        }
    }

    /// The range with the whitespace after it.
    fn with_whitespace(&self, span: Span) -> Span {
        let rest = &self.text[span.end as usize..];
        let whitespace = rest.len() - rest.trim_start().len();
        Span::new(
            self.source,
            span.start as usize,
            span.end as usize + whitespace,
        )
    }

    /// For each argument of an attribute, what to remove so that it is not named; `None` if that would remove a comment.
    fn removals(&self, attribute: &Attribute) -> Vec<Option<Span>> {
        let spans: Vec<Span> = attribute.arguments.iter().map(|name| name.span).collect();
        let places = spans.iter().enumerate().map(|(at, span)| {
            let (start, end) = match (at, spans.get(at + 1)) {
                (0, None) => {
                    let whole = self.with_whitespace(attribute.span);
                    (whole.start, whole.end)
                }
                (0, Some(next)) => (span.start, next.start),
                (_, _) => (spans[at - 1].end, span.end),
            };
            let place = Span::new(self.source, start as usize, end as usize);
            let text = &self.text[place.range()];
            (!text.contains("//") && !text.contains("/*")).then_some(place)
        });
        places.collect()
    }

    /// Sorts attributes by what they mean. `dual_of` is allowed before a protocol only, `within` before a state, and `accepts` before a
    /// protocol or an instance, which takes no other.
    pub(super) fn sort(&mut self, attributes: Vec<Attribute>, target: Target) -> Sorted {
        let mut sorted = Sorted::default();
        for attribute in attributes {
            let span = attribute.span;
            if attribute.name.text() == "accepts" {
                sorted.accepts.extend(self.accepts(&attribute, target));
            } else if target == Target::Instance {
                let text = "an instance can only have `#[accepts(...)]`";
                let error = Diagnostic::error("syntax", span, text);
                self.report(error.help("put it before the generic protocol"));
            } else if attribute.name.text() == "at_most" {
                self.at_most(&attribute, &mut sorted);
            } else if attribute.name.text() == "within" {
                self.within(&attribute, target, &mut sorted);
            } else if let Some(quantity) = attribute.quantities.first()
                && KNOWN.contains(&attribute.name.text())
            {
                let text = format!("`{}` takes names, not numbers", attribute.name);
                let error = Diagnostic::error("syntax", quantity.span, text);
                self.report(error.help("write `#[allow(rule-name)]` or `#[dual_of(protocol)]`"));
            } else if attribute.arguments.is_empty() && attribute.quantities.is_empty() {
                let text = format!("`#[{}]` needs an argument", attribute.name);
                let error = Diagnostic::error("syntax", span, text);
                self.report(error.help("write `#[allow(rule-name)]` or `#[dual_of(protocol)]`"));
            } else if let Some(level) = attribute.level() {
                let removals = self.removals(&attribute);
                let is_alone = removals.len() == 1;
                let rules = attribute.arguments.into_iter().zip(removals);
                let levels = &mut sorted.levels;
                levels.extend(rules.map(|(rule, removal)| LevelAttribute {
                    rule,
                    level,
                    is_alone,
                    removal,
                }));
                if levels.len() > LEVEL_LIMIT {
                    levels.truncate(LEVEL_LIMIT);
                    let text = "the attributes of one declaration name more than 64 rules";
                    self.report(
                        Diagnostic::error("syntax", span, text).help("name each rule once"),
                    );
                    break;
                }
            } else if attribute.name.text() == "dual_of" && target == Target::Protocol {
                sorted.dual_of.extend(attribute.arguments);
            } else if attribute.name.text() == "dual_of" {
                let error = Diagnostic::error("syntax", span, "`dual_of` is for whole protocols");
                self.report(error.help("put it before a `proto!`"));
            } else {
                self.unknown(&attribute);
            }
        }
        sorted
    }

    fn unknown(&mut self, attribute: &Attribute) {
        let text = format!("there is no attribute `{}`", attribute.name);
        let error = Diagnostic::error("syntax", attribute.name.span, text);
        let error = match nearest(attribute.name.text(), KNOWN) {
            Some(near) => error.fix(
                format!("did you mean `{near}`?"),
                attribute.name.span,
                near,
                false,
            ),
            None => error.help(
                "the attributes are `allow`, `warn`, `deny`, `dual_of`, `at_most`, `within` and `accepts`",
            ),
        };
        self.report(error);
    }

    /// `#[at_most(64 KiB)]`
    fn at_most(&mut self, attribute: &Attribute, sorted: &mut Sorted) {
        let Some(size) = self.only_quantity(attribute, "size", WRITE_SIZE) else {
            return;
        };
        let Some(most) = self.bytes(size) else {
            return;
        };
        let span = size.span;
        self.set_limit(&mut sorted.at_most, attribute, Limit { most, span });
    }

    /// The one number with a unit that an attribute takes: a `what`. Anything else is reported; `write` says how it is written.
    pub(super) fn only_quantity<'q>(
        &mut self,
        attribute: &'q Attribute,
        what: &str,
        write: &'static str,
    ) -> Option<&'q Quantity> {
        let name = &attribute.name;
        let error = match (attribute.quantities.as_slice(), attribute.arguments.first()) {
            ([quantity], None) => return Some(quantity),
            ([], None) => {
                let text = format!("`#[{name}]` needs a {what}");
                Diagnostic::error("syntax", attribute.span, text).help(write)
            }
            (_, Some(argument)) => {
                let text = format!("`{argument}` is not a {what}");
                Diagnostic::error("syntax", argument.span, text).help(write)
            }
            ([_, second, ..], None) => {
                let text = format!("`{name}` takes one {what}");
                Diagnostic::error("syntax", second.span, text).help("keep one of them")
            }
        };
        self.report(error);
        None
    }

    /// Sets the limit that an attribute says, unless another one of the same kind has set it.
    pub(super) fn set_limit(
        &mut self,
        limit: &mut Option<Limit>,
        attribute: &Attribute,
        new: Limit,
    ) {
        let Some(first) = limit else {
            *limit = Some(new);
            return;
        };
        let text = format!("`{}` is written twice here", attribute.name);
        self.report(
            Diagnostic::error("syntax", new.span, text)
                .label("the second one")
                .related(first.span, "the first one")
                .help("keep one of them"),
        );
    }

    /// A size in bytes; what is wrong with it is reported.
    fn bytes(&mut self, size: &Quantity) -> Option<u64> {
        let Some(unit) = &size.unit else {
            if matches!(size.number, None | Some(0)) {
                return self.fits(size, 1);
            }
            let error = Diagnostic::error("syntax", size.span, "this size has no unit");
            let end = Span {
                start: size.span.end,
                ..size.span
            };
            let error = error.note("the units of sizes are `B`, `KiB` (1,024 bytes) and `MiB`");
            self.report(error.fix("if it is a number of bytes", end, " B", false));
            return None;
        };
        if unit.text().starts_with('_') {
            let text = "a number is written without `_`";
            let error = Diagnostic::error("syntax", size.span, text);
            let number = self.text[size.span.range()].replace('_', "");
            let repaired = format!("{number} B");
            self.report(error.fix("if it is a number of bytes", size.span, repaired, false));
            return None;
        }
        let known = UNITS.iter().find(|(word, _)| *word == unit.text());
        let Some((_, bytes)) = known else {
            let text = format!("there is no unit `{unit}`");
            let error = Diagnostic::error("syntax", unit.span, text);
            let near = match unit.text().to_ascii_lowercase().as_str() {
                "b" | "byte" | "bytes" => Some("B"),
                "k" | "kb" | "kib" => Some("KiB"),
                "m" | "mb" | "mib" => Some("MiB"),
                _ => None,
            };
            let is_gib = matches!(
                unit.text().to_ascii_lowercase().as_str(),
                "g" | "gb" | "gib"
            );
            let mebibytes = size.number.filter(|_| is_gib);
            let mebibytes = mebibytes.and_then(|number| number.checked_mul(1 << 10));
            let error = match (near, mebibytes) {
                (Some(near), _) => {
                    let help = format!("did you mean `{near}`?");
                    error.fix(help, unit.span, near, false)
                }
                (None, Some(number)) => {
                    let repaired = format!("{number} MiB");
                    error.fix("write it like this", size.span, repaired, false)
                }
                (None, None) => error,
            };
            self.report(error.note("the units of sizes are `B`, `KiB` (1,024 bytes) and `MiB`"));
            return None;
        };
        self.fits(size, *bytes)
    }

    /// The number of bytes, if it is neither 0 nor too large; otherwise that is reported.
    fn fits(&mut self, size: &Quantity, bytes: u64) -> Option<u64> {
        match size.number.and_then(|number| number.checked_mul(bytes)) {
            Some(0) => {
                let error =
                    Diagnostic::error("syntax", size.span, "a limit of 0 bytes allows no payload");
                let error = error.note("a message without a payload needs no limit");
                self.report(error.help("write a larger size, or remove the attribute"));
                None
            }
            None => {
                let text = "this size does not fit in 64 bits";
                let error = Diagnostic::error("syntax", size.span, text);
                self.report(error.help("write a smaller size, or remove the attribute"));
                None
            }
            bytes => bytes,
        }
    }

    /// Reports attributes where none are allowed.
    pub(super) fn refuse(&mut self, attributes: &[Attribute], what: &str) {
        for attribute in attributes {
            let text = format!("{what} cannot have attributes");
            let error = Diagnostic::error("syntax", attribute.span, text);
            self.report(error.help("attributes go before protocols, states and messages"));
        }
    }
}
