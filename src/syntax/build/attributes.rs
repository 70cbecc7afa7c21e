//! Attributes.

use super::{Builder, Parts};
use crate::diagnostic::Diagnostic;
use crate::name::{Name, nearest};
use crate::protocol::limits;
use crate::protocol::{Accepted, LevelAttribute, Limit, Referent, Side};
use crate::source::Span;
use crate::syntax::ast::{Attribute, Quantity};
use crate::syntax::measure::{ARGUMENTS, DURATION, Measure, SIZE};
use duologue_grammar::{Kind, Node};

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
    /// A type or a bound.
    Type,
    State,
    Message,
    /// A field or a variant.
    Part,
}

/// An attribute.
struct Known {
    name: &'static str,
    /// What it may be before.
    targets: &'static [Target],
    /// That in words.
    place: &'static str,
    /// What to do with it elsewhere.
    help: &'static str,
}

impl Known {
    /// An attribute that sets the level of rules.
    const fn level(name: &'static str) -> Known {
        Known {
            name,
            targets: &[
                Target::Protocol,
                Target::Instance,
                Target::Type,
                Target::State,
                Target::Message,
            ],
            place: "declarations, states and messages",
            help: "put it before the declaration, state or message that contains this",
        }
    }
}

/// All attributes.
static KNOWN: [Known; 7] = [
    Known::level("allow"),
    Known::level("warn"),
    Known::level("deny"),
    Known {
        name: "dual_of",
        targets: &[Target::Protocol],
        place: "whole protocols",
        help: "put it before a protocol",
    },
    Known {
        name: "at_most",
        targets: &[Target::Protocol, Target::State, Target::Message],
        place: "protocols, states and messages",
        help: "put it before those that it applies to; a type has its limit in its bounds, such as `str<255>`",
    },
    Known {
        name: "within",
        targets: &[Target::State],
        place: "states",
        help: "put it before the states that it applies to; it limits how long a session may stay in one state",
    },
    Known {
        name: "accepts",
        targets: &[Target::Protocol, Target::Instance],
        place: "whole protocols and instances",
        help: "put it before a `proto!`",
    },
];

/// The leading attributes.
pub(super) fn attributes<'a>(builder: &mut Builder<'a>, parts: &mut Parts<'a>) -> Vec<Attribute> {
    let mut attributes = Vec::new();
    while let Some(pair) = parts.next_if(Kind::attribute) {
        if pair.is_broken() {
            builder.broken(pair.range());
            continue;
        }
        let span = builder.span(pair);
        let mut words = pair.parts();
        let name = words.next().expect("an attribute has a name");
        let mut attribute = Attribute {
            name: plain_name(builder, name),
            arguments: Vec::new(),
            quantities: Vec::new(),
            span,
        };
        for word in words {
            if word.kind() == Kind::quantity {
                let quantity = quantity(builder, word);
                let unit = quantity.unit.iter();
                // The digits of a fingerprint have no unit.
                let unit = unit.filter(|_| attribute.name.text() != "accepts");
                let words = unit.map(|unit| (unit.span, Referent::Unit));
                builder.file.words.extend(words);
                attribute.quantities.push(quantity);
            } else {
                attribute.arguments.push(plain_name(builder, word));
            }
        }
        let mut words = vec![(attribute.name.span, Referent::Attribute)];
        if attribute.level().is_some() {
            let rules = attribute.arguments.iter();
            words.extend(rules.map(|rule| (rule.span, Referent::Rule)));
        }
        builder.file.words.extend(words);
        attributes.push(attribute);
    }
    attributes
}

/// A word as a name that may be any word.
fn plain_name<'a>(builder: &Builder<'a>, word: Node<'a>) -> Name {
    Name::new(builder.word(word), builder.span(word))
}

fn quantity<'a>(builder: &Builder<'a>, pair: Node<'a>) -> Quantity {
    let span = builder.span(pair);
    let mut parts = pair.parts();
    let number = parts.next().expect("a quantity has a number");
    Quantity {
        number: builder.word(number).parse().ok(),
        unit: parts.next().map(|unit| plain_name(builder, unit)),
        span,
    }
}

/// The range with the whitespace after it.
fn with_whitespace(builder: &Builder<'_>, span: Span) -> Span {
    let rest = &builder.text[span.end as usize..];
    let whitespace = rest.len() - rest.trim_start().len();
    Span::new(
        builder.source,
        span.start as usize,
        span.end as usize + whitespace,
    )
}

/// For each argument of an attribute, what to remove so that it is not named; `None` if that would remove a comment.
fn removals(builder: &Builder<'_>, attribute: &Attribute) -> Vec<Option<Span>> {
    let spans: Vec<Span> = attribute.arguments.iter().map(|name| name.span).collect();
    let places = spans.iter().enumerate().map(|(at, span)| {
        let (start, end) = match (at, spans.get(at + 1)) {
            (0, None) => {
                let whole = with_whitespace(builder, attribute.span);
                (whole.start, whole.end)
            }
            (0, Some(next)) => (span.start, next.start),
            (_, _) => (spans[at - 1].end, span.end),
        };
        let place = Span::new(builder.source, start as usize, end as usize);
        let text = &builder.text[place.range()];
        (!text.contains("//") && !text.contains("/*")).then_some(place)
    });
    places.collect()
}

/// Sorts attributes by what they mean, and reports those that do not belong here.
pub(super) fn sort(
    builder: &mut Builder<'_>,
    attributes: Vec<Attribute>,
    target: Target,
) -> Sorted {
    let mut sorted = Sorted::default();
    for attribute in attributes {
        if let Some(error) = misplaced(&attribute, target) {
            builder.report(error);
            continue;
        }
        match attribute.name.text() {
            "accepts" => sorted.accepts.extend(accepts(builder, &attribute)),
            "at_most" => limit(builder, &attribute, &SIZE, &mut sorted.at_most),
            "within" => limit(builder, &attribute, &DURATION, &mut sorted.within),
            name => {
                let wrong = match attribute.quantities.first() {
                    Some(number) => {
                        Some((number.span, format!("`{name}` takes names, not numbers")))
                    }
                    None if attribute.arguments.is_empty() => {
                        Some((attribute.span, format!("`#[{name}]` needs an argument")))
                    }
                    None => None,
                };
                if let Some((span, text)) = wrong {
                    let error = Diagnostic::syntax(span, text);
                    builder.report(error.help(ARGUMENTS));
                } else if let Some(level) = attribute.level() {
                    let removals = removals(builder, &attribute);
                    let is_alone = removals.len() == 1;
                    let rules = attribute.arguments.into_iter().zip(removals);
                    sorted
                        .levels
                        .extend(rules.map(|(rule, removal)| LevelAttribute {
                            rule,
                            level,
                            is_alone,
                            removal,
                        }));
                } else {
                    sorted.dual_of.extend(attribute.arguments);
                }
            }
        }
    }
    if let Some(first) = sorted.levels.get(limits::LEVELS) {
        let most = limits::LEVELS;
        let text = format!("the attributes of one declaration name more than {most} rules");
        let error = Diagnostic::syntax(first.rule.span, text);
        builder.report(error.help("name each rule once"));
        sorted.levels.truncate(limits::LEVELS);
    }
    sorted
}

/// What is wrong with an attribute before a target, if anything is.
fn misplaced(attribute: &Attribute, target: Target) -> Option<Diagnostic> {
    let name = &attribute.name;
    let Some(known) = KNOWN.iter().find(|known| known.name == name.text()) else {
        let text = format!("there is no attribute `{name}`");
        let error = Diagnostic::syntax(name.span, text);
        let near = nearest(name.text(), KNOWN.iter().map(|known| known.name));
        return Some(error.did_you_mean(
            name.span,
            near,
            "the attributes are `allow`, `warn`, `deny`, `dual_of`, `at_most`, `within` and `accepts`",
        ));
    };
    if known.targets.contains(&target) {
        return None;
    }
    let text = format!("`{name}` is for {}", known.place);
    let help = match target {
        Target::Instance => "put it before the generic protocol",
        _ => known.help,
    };
    Some(Diagnostic::syntax(attribute.span, text).help(help))
}

/// Sets the limit that an attribute says, unless another one of the same kind has set it.
fn limit(
    builder: &mut Builder<'_>,
    attribute: &Attribute,
    measure: &Measure,
    limit: &mut Option<Limit>,
) {
    let Some(number) = only_quantity(builder, attribute, measure) else {
        return;
    };
    let span = number.span;
    let Some(most) = measured(builder, number, measure) else {
        return;
    };
    let Some(first) = limit else {
        *limit = Some(Limit { most, span });
        return;
    };
    let text = format!("`{}` is written twice here", attribute.name);
    builder.report(
        Diagnostic::syntax(span, text)
            .label("the second one")
            .related(first.span, "the first one")
            .help("keep one of them"),
    );
}

/// The one number that an attribute takes; anything else is reported.
fn only_quantity<'q>(
    builder: &mut Builder<'_>,
    attribute: &'q Attribute,
    measure: &Measure,
) -> Option<&'q Quantity> {
    let (name, what, write) = (&attribute.name, measure.what, measure.write);
    let (span, text, help) = match (&attribute.quantities[..], attribute.arguments.first()) {
        ([quantity], None) => return Some(quantity),
        ([], None) => (attribute.span, format!("`#[{name}]` needs a {what}"), write),
        (_, Some(other)) => (other.span, format!("`{other}` is not a {what}"), write),
        ([_, second, ..], None) => {
            let text = format!("`{name}` takes one {what}");
            (second.span, text, "keep one of them")
        }
    };
    builder.fail(Diagnostic::syntax(span, text).help(help))
}

/// A number in the first unit of its measure; what is wrong with it is reported.
fn measured(builder: &mut Builder<'_>, quantity: &Quantity, measure: &Measure) -> Option<u64> {
    let span = quantity.span;
    let error = |text: &str| Diagnostic::syntax(span, text);
    let unit = quantity.unit.as_ref();
    let written = builder.text[span.range()].replace('_', "");
    let is_number = written.bytes().all(|byte| byte.is_ascii_digit());
    let has_underscores = unit.is_some_and(|unit| unit.text().starts_with('_'));
    let scale = match unit {
        // Without a unit, 0 and what is too large are wrong in any.
        None => quantity
            .number
            .is_none_or(|number| number == 0)
            .then_some(1),
        Some(unit) => measure.unit(unit.text()),
    };
    let found = match (scale, unit) {
        (Some(scale), _) => {
            let amount = quantity.number.and_then(|number| number.checked_mul(scale));
            let [message, note, help] = match amount {
                Some(0) => measure.zero,
                Some(amount) if amount <= measure.most => return Some(amount),
                Some(_) | None => measure.too_large,
            };
            error(message).note(note).help(help)
        }
        (None, Some(unit)) if !has_underscores => unknown_unit(quantity, unit, measure),
        _ if is_number => {
            let error = match has_underscores {
                true => error("a number is written without `_`"),
                false => error(&format!("this {} has no unit", measure.what)),
            };
            let mut error = error.note(measure.note);
            for (what, unit) in measure.guesses {
                let repaired = format!("{written}{}{unit}", measure.gap);
                let words = format!("if it is a number of {what}");
                error = error.fix(words, span, repaired);
            }
            error
        }
        _ => error("a number is written without `_`").fix("write it like this", span, written),
    };
    builder.fail(found)
}

/// A number whose unit is none of its measure.
fn unknown_unit(quantity: &Quantity, unit: &Name, measure: &Measure) -> Diagnostic {
    let error = Diagnostic::syntax(unit.span, format!("there is no unit `{unit}`"));
    let error = error.note(measure.note);
    let word = unit.text().to_ascii_lowercase();
    let is_word = |words: &str| words.split(' ').any(|other| other == word);
    let mut spellings = measure.spellings.iter();
    match spellings.find(|(words, ..)| is_word(words)) {
        Some((_, near, 1)) => error.did_you_mean(unit.span, Some(near), ""),
        Some((_, near, count)) => {
            let number = quantity
                .number
                .and_then(|number| number.checked_mul(*count));
            let amount = number.zip(measure.unit(near));
            let amount = amount.and_then(|(number, scale)| number.checked_mul(scale));
            match number.filter(|_| amount.is_some_and(|amount| amount <= measure.most)) {
                Some(number) => {
                    let repaired = format!("{number}{}{near}", measure.gap);
                    error.fix("write it like this", quantity.span, repaired)
                }
                None => error,
            }
        }
        None => error,
    }
}

/// How many hexadecimal digits a fingerprint has.
const DIGITS: usize = 32;

/// What the attribute looks like.
const WRITE: &str = "write a side and a fingerprint, such as `#[accepts(server, 5587fde1ea262a7f6f78ddc9dc6d1f83)]`; \
                     `duologue breaking --against OLD --accept` writes the attribute";

/// `#[accepts(server, 5587fde1ea262a7f6f78ddc9dc6d1f83)]`
pub(super) fn accepts(builder: &mut Builder<'_>, attribute: &Attribute) -> Option<Accepted> {
    // Digits that begin with a letter are parsed as a name, others as a number.
    let names = attribute.arguments.iter().map(|name| name.span);
    let numbers = attribute.quantities.iter().map(|number| number.span);
    let mut arguments: Vec<Span> = names.chain(numbers).collect();
    arguments.sort_unstable();
    match arguments[..] {
        [side, digits] => Some(Accepted {
            side: acceptor(builder, side)?,
            fingerprint: fingerprint(builder, digits)?,
            span: attribute.span,
        }),
        [_, _, third, ..] => {
            let text = "`accepts` takes one side and one fingerprint";
            let error = Diagnostic::syntax(third, text);
            builder.fail(error.help("write an attribute for each fingerprint"))
        }
        [] | [_] => {
            let text = "`#[accepts]` needs a side and a fingerprint";
            builder.fail(Diagnostic::syntax(attribute.span, text).help(WRITE))
        }
    }
}

fn acceptor(builder: &mut Builder<'_>, span: Span) -> Option<Side> {
    let word = &builder.text[span.range()];
    if let Some(side) = Side::named(word) {
        builder.file.words.push((span, Referent::Acceptor(side)));
        return Some(side);
    }
    let error = Diagnostic::syntax(span, format!("there is no side `{word}`"));
    builder.fail(error.did_you_mean(span, nearest(word, ["client", "server"]), WRITE))
}

fn fingerprint(builder: &mut Builder<'_>, span: Span) -> Option<[u8; 16]> {
    let digits = &builder.text[span.range()];
    builder.file.words.push((span, Referent::Fingerprint));
    if let Some(found) = bytes(digits) {
        return Some(found);
    }
    let is_hex = digits.bytes().all(|digit| digit.is_ascii_hexdigit());
    let text = match is_hex {
        true => format!("a fingerprint has {DIGITS} digits, not {}", digits.len()),
        false => format!("`{digits}` is not a fingerprint"),
    };
    let error = Diagnostic::syntax(span, text);
    let error = error.note(format!(
        "a fingerprint consists of {DIGITS} hexadecimal digits, as `duologue fingerprint` prints them"
    ));
    let plain = digits
        .strip_prefix("0x")
        .filter(|digits| bytes(digits).is_some());
    builder.fail(match plain {
        Some(plain) => error.fix("remove the `0x`", span, plain),
        None => error.help(WRITE),
    })
}

/// The bytes of a fingerprint in hexadecimal.
fn bytes(digits: &str) -> Option<[u8; 16]> {
    let is_hex = digits.len() == DIGITS && digits.bytes().all(|digit| digit.is_ascii_hexdigit());
    let number = is_hex.then(|| u128::from_str_radix(digits, 16).ok());
    number.flatten().map(u128::to_be_bytes)
}
