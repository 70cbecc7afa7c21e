//! Names that a target spells alike in the scope that declares them.
//!
//! In a target that was requested this is the error `clashing-names`, because the generated code would not compile. In other targets
//! it is a warning with a level.

use super::clashing_names;
use super::target_names::Scope;
use crate::check::findings::{Findings, Subject};
use crate::check::levels::Location;
use crate::check::types::too_many_values;
use crate::diagnostic::Diagnostic;
use crate::protocol::{Definition, Program};
use crate::source::Span;
use std::collections::{HashMap, HashSet};

rule! {
    "target-clash", Warn,
    "two names would become the same name in a target that was not requested"
}

/// After these errors the targets have no names to spell, or the same clash has already been reported.
pub const TOO_BROKEN: [&str; 4] = [
    "missing-direction",
    "recursive-type",
    "expanding-recursion",
    clashing_names::RULE.name,
];

/// The names declared so far in one scope of a target.
type Taken = HashMap<String, (Span, String)>;

/// Reports each pair of origins once, in the first target that spells them alike.
fn find(subject: &Subject<'_>, findings: &mut Findings) {
    if findings.has_any(&TOO_BROKEN) {
        return;
    }
    let mut places: HashMap<(&'static str, String), Taken> = HashMap::new();
    let mut pairs: HashSet<[Span; 2]> = HashSet::new();
    let mut clashes = Vec::new();
    let mut is_for_scala = false;
    (subject.spell)(subject.program, &mut |scope: Scope| {
        let (target, place) = (scope.target, scope.place);
        is_for_scala |= scope.is_asked && target == "Scala";
        let declared = places.entry((target, place.clone())).or_default();
        declared.reserve(scope.names.len());
        for name in scope.names {
            let key = if scope.ignores_case {
                name.spelling.to_lowercase()
            } else {
                name.spelling.clone()
            };
            let Some((origin, what)) = declared.get(&key) else {
                declared.insert(key, (name.origin, name.what));
                continue;
            };
            let mut pair = [*origin, name.origin];
            pair.sort();
            if pairs.insert(pair) {
                let mut both = [(*origin, what.as_str()), (name.origin, name.what.as_str())];
                // The later origin is where the repair goes.
                both.sort_by_key(|(origin, _)| *origin);
                let message = format!("two names become `{}` in {target}", name.spelling);
                let clash = describe(scope.is_asked, &place, message, both);
                clashes.push((scope.is_asked, clash));
            }
        }
    });
    if is_for_scala {
        too_many_values::find_in_scala(subject.program, findings);
    }
    let mut surroundings = None;
    for (is_asked, clash) in clashes {
        if is_asked {
            findings.error(clash);
            continue;
        }
        let around = surroundings.get_or_insert_with(|| surroundings_in(subject.program));
        let place = around.get(&clash.primary.span).copied();
        findings.report(&RULE, place.unwrap_or_default(), || clash);
    }
}

/// What encloses each name of a declaration, state or message, and each payload type.
fn surroundings_in(program: &Program) -> HashMap<Span, Location<'_>> {
    let mut places = HashMap::new();
    for declared in &program.types {
        let place = Location::declaration(&declared.levels);
        let parts = declared.parts().into_iter().map(|(.., span)| span);
        places.extend(parts.map(|span| (span, place)));
        places.insert(declared.name.span, place);
        if let Definition::Enum(variants) = &declared.definition {
            places.extend(variants.iter().map(|variant| (variant.name.span, place)));
        }
    }
    for declared in &program.bounds {
        let place = Location::declaration(&declared.levels);
        places.insert(declared.name.span, place);
    }
    for declared in &program.instances {
        let place = Location::declaration(&declared.levels);
        places.insert(declared.name.span, place);
    }
    for protocol in &program.protocols {
        places.insert(protocol.name.span, Location::protocol(protocol));
        for state in &protocol.states {
            places.insert(state.name.span, Location::state(protocol, state));
            for message in &state.messages {
                let place = Location::message(protocol, state, message);
                places.insert(message.name.span, place);
                for entry in &message.entries {
                    places.insert(entry.ty_span, place);
                }
            }
        }
    }
    places
}

fn describe(
    is_asked: bool,
    place: &str,
    message: String,
    [(other, other_what), (at, what)]: [(Span, &str); 2],
) -> Diagnostic {
    let rule = match is_asked {
        true => clashing_names::RULE.name,
        false => RULE.name,
    };
    let error = Diagnostic::error(rule, at, message).label(what);
    let error = match other == at {
        true => error.note(format!("the other one is {other_what}")),
        false => error.related(other, other_what),
    };
    let error = error.note(format!("both would be declared in {place}"));
    error.help("rename one of them here")
}
