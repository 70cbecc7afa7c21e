//! A type that contains itself without a list in between.

use crate::check::findings::{Findings, Subject};
use crate::diagnostic::Diagnostic;
use crate::graph::{loops, shortest_loop};
use crate::protocol::{Definition, Program, Type, TypeId};
use crate::source::Span;
use std::collections::HashSet;

rule! {
    "recursive-type", error,
    "a type contains itself, but not through a list"
}

/// One mention of a type in a declaration, with its location.
struct Mention {
    to: TypeId,
    at: Span,
    /// Whether a value is held in place, not in a list or as an argument of an endpoint.
    is_direct: bool,
}

/// Two kinds of loops are errors: those through which a value would contain itself, and those that consist only of aliases, which
/// would never lead to a type, even through a list.
fn find(subject: &Subject<'_>, findings: &mut Findings) {
    let program = subject.program;
    let ids = (0..program.types.len()).map(TypeId::new);
    let mentions: Vec<Vec<Mention>> = ids.map(|id| mentions(program, id)).collect();
    let is_alias = |id: TypeId| matches!(program.ty(id).definition, Definition::Alias(_));
    let direct = |_: TypeId, mention: &Mention| mention.is_direct;
    let named = |from: TypeId, mention: &Mention| is_alias(from) && is_alias(mention.to);
    let mut told = HashSet::new();
    look(program, &mentions, &direct, &mut told, findings);
    look(program, &mentions, &named, &mut told, findings);
}

fn look(
    program: &Program,
    mentions: &[Vec<Mention>],
    counts: &dyn Fn(TypeId, &Mention) -> bool,
    told: &mut HashSet<TypeId>,
    findings: &mut Findings,
) {
    let edges = mentions.iter().enumerate().flat_map(|(from, list)| {
        let list = list
            .iter()
            .filter(move |mention| counts(TypeId::new(from), mention));
        list.map(move |mention| (from, mention.to.index()))
    });
    let mut groups: Vec<Vec<TypeId>> = loops(mentions.len(), edges)
        .into_iter()
        .map(|group| group.into_iter().map(TypeId::new).collect())
        .collect();
    for group in &mut groups {
        group.sort();
    }
    groups.sort();
    for group in groups {
        if group.iter().any(|id| told.contains(id)) {
            continue;
        }
        told.extend(&group);
        let way = shortest_loop(group[0].index(), |from| {
            let list = mentions[from].iter();
            let list = list.filter(|mention| counts(TypeId::new(from), mention));
            let inside = list.filter(|mention| group.binary_search(&mention.to).is_ok());
            inside
                .map(|mention| (mention.to.index(), mention))
                .collect()
        });
        findings.error(tell(program, group[0], &way));
    }
}

fn tell(program: &Program, first: TypeId, way: &[&Mention]) -> Diagnostic {
    const SHOWN: usize = 4;
    let name = &program.ty(first).name;
    let is_alias = |id: TypeId| matches!(program.ty(id).definition, Definition::Alias(_));
    let only_aliases = way.iter().all(|mention| is_alias(mention.to));
    let message = match (way.len(), only_aliases) {
        (_, true) => format!("type `{name}` is an alias of itself"),
        (1, false) => format!("type `{name}` contains itself"),
        (_, false) => format!("type `{name}` contains itself, through other types"),
    };
    let mut error = RULE.finding(name.span, message);
    let mut from = name.text();
    for mention in way.iter().take(SHOWN) {
        let to = program.ty(mention.to).name.text();
        let words = if only_aliases {
            format!("`{from}` is defined in terms of `{to}`")
        } else {
            format!("`{from}` contains `{to}` directly")
        };
        error = error.related(mention.at, words);
        from = to;
    }
    if way.len() > SHOWN {
        let more = way.len() - SHOWN;
        error = error.note(format!("and so on, through {more} more, back to `{name}`"));
    }
    if only_aliases {
        match way {
            [only] if only.is_direct => error.help(format!(
                "if the host program supplies the type, write `extern type {name};`"
            )),
            _ if way.iter().all(|mention| mention.is_direct) => {
                error.help("define one of them as another type: an alias is only another name")
            }
            _ => error
                .note("an alias is only another name for a type")
                .help(format!(
                    "make `{name}` a `struct` or an `enum`: those may hold lists of themselves"
                )),
        }
    } else {
        let last = way
            .last()
            .map_or(name.text(), |mention| program.ty(mention.to).name.text());
        error
            .note("a value, even an optional one, is stored in what contains it, so this type would be infinitely large")
            .help(format!(
                "use a list, which can be empty, to break the cycle: `[{last}]`"
            ))
    }
}

fn mentions(program: &Program, id: TypeId) -> Vec<Mention> {
    let mut found = Vec::new();
    for (ty, _, span) in program.ty(id).parts() {
        collect(ty, span, true, &mut found);
    }
    found
}

fn collect(ty: &Type, at: Span, is_direct: bool, found: &mut Vec<Mention>) {
    match ty {
        Type::Builtin(_) | Type::Parameter(_) | Type::Error => {}
        Type::Named(to) => found.push(Mention {
            to: *to,
            at,
            is_direct,
        }),
        Type::List(item) => collect(item, at, false, found),
        Type::Option(item) => collect(item, at, is_direct, found),
        Type::Tuple(items) => {
            for item in items {
                collect(item, at, is_direct, found);
            }
        }
        Type::Endpoint(endpoint) => {
            for item in &endpoint.arguments {
                collect(item, at, false, found);
            }
        }
    }
}
