//! Names that a target spells alike where it declares them, its own names included.

use super::clashing_names::RULE;
use super::findings::{Findings, Subject};
use super::spelling::{Scope, Spelled};
use crate::diagnostic::Diagnostic;
use crate::source::Span;
use std::collections::{HashMap, HashSet};

/// After these errors the targets have nothing to spell.
const TOO_BROKEN: [&str; 3] = ["missing-direction", "recursive-type", "expanding-recursion"];

/// The names of one target and place so far.
type Declared = HashMap<String, (Option<Span>, String)>;

/// Reports each pair of places once, in the target that spells them alike first; not those in `told`.
pub fn find(subject: &Subject<'_>, told: &HashSet<Span>, findings: &mut Findings) {
    if subject.has_broken_protocols() || findings.has_any(&TOO_BROKEN) {
        return;
    }
    let mut places: HashMap<(&'static str, String), Declared> = HashMap::new();
    let mut pairs: HashSet<[Option<Span>; 2]> = HashSet::new();
    (subject.spell)(subject.program, &mut |scope: Scope| {
        let (target, place) = (scope.target, scope.place);
        let declared = places.entry((target, place.clone())).or_default();
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
            let is_told = pair.iter().flatten().all(|span| told.contains(span));
            if !is_told && pairs.insert(pair) {
                let first = (*origin, what.as_str());
                if let Some(error) = tell(target, &place, first, &name) {
                    findings.error(error);
                }
            }
        }
    });
}

fn tell(
    target: &str,
    place: &str,
    (first, first_what): (Option<Span>, &str),
    name: &Spelled,
) -> Option<Diagnostic> {
    let Spelled {
        spelling,
        origin,
        what,
    } = name;
    // The later place is where the repair goes, unless the target itself declares that one.
    let (at, at_what, other, other_what) = match (first, *origin) {
        (_, Some(second)) => (second, what.as_str(), first, first_what),
        (Some(first), None) => (first, first_what, None, what.as_str()),
        // What a target declares by itself, it declares once.
        (None, None) => return None,
    };
    let message = format!("two names become `{spelling}` in {target}");
    let error = Diagnostic::error(RULE.name, at, message).label(at_what);
    let error = match other {
        Some(other) if other != at => error.related(other, other_what),
        _ => error.note(format!("the other one is {other_what}")),
    };
    let error = error.note(format!("both would be declared in {place}"));
    Some(error.help("rename one of them here"))
}
