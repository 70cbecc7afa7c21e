//! Repairs that `check` does not propose, because they are for an editor: a person sees at once what they do.

use super::imports::{Elsewhere, import, line_break};
use super::snapshot::Snapshot;
use duologue::check::rule;
use duologue::diagnostic::{Diagnostic, Help};
use duologue::graph::StateGraph;
use duologue::protocol::{Protocol, ProtocolId, Referent, StateId};
use duologue::source::Span;
use duologue_grammar::{Kind, Node, Tree};
use std::ops::Range;

/// The repairs of a finding, and whether each is probably meant: imports of what is declared elsewhere, a missing state, the removal of what
/// is not needed, and an attribute that allows it.
pub fn proposed(
    snapshot: &Snapshot,
    tree: &Tree<'_>,
    finding: &Diagnostic,
    elsewhere: &[Elsewhere],
) -> Vec<(Help, bool)> {
    let text = tree.text;
    let at = finding.primary.span.range();
    let name = &text[at.clone()];
    let is_unknown = matches!(
        finding.rule,
        "undeclared-type" | "unknown-protocol" | "unknown-bound"
    );
    let imports = elsewhere
        .iter()
        .filter(|found| is_unknown && found.name == name);
    let paths: Vec<&String> = imports.filter_map(|found| found.import.as_ref()).collect();
    let mut found = Vec::new();
    for path in &paths {
        let title = format!("import `{name}` from `{path}`");
        found.push((title, vec![import(text, path)], paths.len() == 1));
    }
    let created = (finding.rule == "unknown-state").then(|| state(tree, &at));
    let created = created.flatten().map(|edit| vec![edit]);
    found.extend(created.map(|edits| (format!("create state `{name}`"), edits, false)));
    let removed = needless(snapshot, tree, finding).map(|(title, removed)| {
        let edits = removed.into_iter().map(|at| (at, String::new()));
        (title, edits.collect(), false)
    });
    found.extend(removed);
    let allowed = allowed(tree, finding).map(|edit| vec![edit]);
    found.extend(allowed.map(|edits| (format!("allow `{}` here", finding.rule), edits, false)));
    let helps = found
        .into_iter()
        .filter_map(|(title, edits, is_preferred)| {
            let mut help: Option<Help> = None;
            for (at, with) in edits {
                let span = Span::new(snapshot.source, at.start, at.end);
                let part = Diagnostic::error(finding.rule, span, "").fix(&title, span, with);
                for part in part.helps {
                    match &mut help {
                        Some(help) => help.edits.extend(part.edits),
                        None => help = Some(part),
                    }
                }
            }
            help.map(|help| (help, is_preferred))
        });
    helps.collect()
}

/// The nodes that contain a range, from the outermost one.
fn around<'t>(tree: &'t Tree<'_>, at: &Range<usize>) -> Vec<Node<'t>> {
    let contains = |node: &Node<'_>| {
        let range = node.range();
        range.start <= at.start && at.end <= range.end
    };
    let mut found = vec![tree.root()];
    while let Some(inner) = found.last().and_then(|node| node.parts().find(contains)) {
        found.push(inner);
    }
    found
}

/// The whitespace before the first token of a node on its line, if nothing else is there.
fn indentation<'a>(text: &'a str, node: Node<'_>) -> Option<&'a str> {
    let before = &text[..node.range().start];
    let line = &before[before.rfind('\n').map_or(0, |at| at + 1)..];
    line.trim_start_matches('\u{feff}')
        .trim()
        .is_empty()
        .then_some(line)
}

/// A state with a name that a message leads to, after the state of the message, in which the other side answers.
fn state(tree: &Tree<'_>, at: &Range<usize>) -> Option<(Range<usize>, String)> {
    let around = around(tree, at);
    // Only after an arrow: an endpoint may be one of another protocol.
    let next = around.iter().find(|node| node.kind() == Kind::next)?;
    let own = around.iter().find(|node| node.kind() == Kind::state)?;
    let direction = own.child(Kind::direction)?;
    let direction = match direction.child(Kind::ident)?.text() {
        "send" => "recv",
        _ => "send",
    };
    let name = next.child(Kind::ident)?.text();
    let indent = indentation(tree.text, *own).unwrap_or("    ");
    let end = own.range().end;
    let state = format!("\n\n{indent}{name}:{direction} {{\n{indent}    done -> !\n{indent}}}");
    Some((end..end, state.replace('\n', line_break(tree.text))))
}

/// Where to put the attribute that allows a rule at the item whose attributes set its level.
fn allowed(tree: &Tree<'_>, finding: &Diagnostic) -> Option<(Range<usize>, String)> {
    rule(finding.rule)?.default?;
    let at = finding.item.unwrap_or(finding.primary.span).range();
    // What is found about a comment belongs to no declaration.
    if tree.place(tree.number_at(at.start)).start != at.start {
        return None;
    }
    let around = around(tree, &at);
    let takes = |node: &&Node<'_>| match finding.item {
        Some(_) => matches!(node.kind(), Kind::protocol | Kind::state | Kind::message),
        None => node.kind() == Kind::item,
    };
    // After the other attributes: the last one decides.
    let mut parts = around.iter().rev().find(takes)?.children();
    let node = parts.find(|part| part.kind() != Kind::attribute)?;
    let start = node.range().start;
    let attribute = format!("#[allow({})]", finding.rule);
    let after = match indentation(tree.text, node) {
        Some(indent) => line_break(tree.text).to_owned() + indent,
        None => " ".to_owned(),
    };
    Some((start..start, attribute + &after.replace('\u{feff}', "")))
}

/// The declarations that a finding says are not needed, and what removes them is called.
fn needless(
    snapshot: &Snapshot,
    tree: &Tree<'_>,
    finding: &Diagnostic,
) -> Option<(String, Vec<Range<usize>>)> {
    let at = finding.primary.span.range();
    let name = &tree.text[at.clone()];
    let whole = |kind: Kind, at: &Range<usize>| {
        let around = around(tree, at);
        let node = around.into_iter().find(|node| node.kind() == kind)?;
        Some(with_docs(tree, node.range()))
    };
    match finding.rule {
        "unused-import" => Some((
            "remove the import".to_owned(),
            vec![whole(Kind::import, &at)?],
        )),
        "unused-declaration" => Some((format!("remove `{name}`"), vec![whole(Kind::item, &at)?])),
        "unreachable-state" => {
            let program = snapshot.program();
            let uses = &program.uses;
            let Referent::State(id, _) = uses.at(snapshot.source, at.start)?.referent else {
                return None;
            };
            let states = unreachable(program.protocol(id));
            let removed = states.iter().map(|index| {
                let name = program.protocol(id).states[*index].name.span;
                whole(Kind::state, &name.range())
            });
            let removed: Vec<Range<usize>> = removed.collect::<Option<_>>()?;
            let stays = |index: &usize| is_used_outside(snapshot, id, *index, &removed);
            let title = match states.len() {
                1 => format!("remove `{name}`"),
                many => format!("remove all {many} states that no dialogue leads to"),
            };
            (!states.iter().any(stays)).then_some((title, removed))
        }
        "unused-type-parameter" => {
            let program = snapshot.program();
            let found = program.uses.at(snapshot.source, at.start)?.referent;
            let Referent::Parameter(id, state, index) = found else {
                return None;
            };
            let mut instances = program.instances.iter();
            if state.index() == 0 && instances.any(|instance| instance.protocol == id) {
                return None;
            }
            // Wherever the state is named, it has an argument for the parameter.
            let lists = program.uses.of(Referent::State(id, state)).map(|found| {
                let around = around(tree, &found.span.range());
                let mut lists = around.iter().rev().filter_map(|node| {
                    let arguments = node.child(Kind::arguments);
                    arguments.or_else(|| node.child(Kind::parameters))
                });
                let list = lists
                    .next()
                    .filter(|_| found.span.source == snapshot.source)?;
                without(list, index as usize)
            });
            let removed: Vec<Range<usize>> = lists.collect::<Option<_>>()?;
            Some((format!("remove the type parameter `{name}`"), removed))
        }
        _ => None,
    }
}

/// What removes a part of a list in angle brackets; the whole list, if that is its only part.
fn without(list: Node<'_>, index: usize) -> Option<Range<usize>> {
    let parts: Vec<Range<usize>> = list.parts().map(Node::range).collect();
    let part = parts.get(index)?.clone();
    Some(match (index.checked_sub(1), parts.get(index + 1)) {
        (_, Some(next)) => part.start..next.start,
        (Some(before), None) => parts[before].end..part.end,
        (None, None) => list.range(),
    })
}

/// The states that no dialogue leads to, by their positions. Only they lead to one another.
fn unreachable(protocol: &Protocol) -> Vec<usize> {
    let reachable = StateGraph::of(protocol).reachable();
    let states = reachable.iter().enumerate();
    let states = states.filter(|(_, is_reached)| !**is_reached);
    states.map(|(index, _)| index).collect()
}

/// Whether something outside of what is removed names a state, such as the type of an endpoint.
fn is_used_outside(
    snapshot: &Snapshot,
    protocol: ProtocolId,
    index: usize,
    removed: &[Range<usize>],
) -> bool {
    let state = Referent::State(protocol, StateId::new(index));
    let mut uses = snapshot.program().uses.of(state);
    uses.any(|found| {
        let at = found.span.range();
        let is_inside = |range: &Range<usize>| range.start <= at.start && at.end <= range.end;
        found.span.source != snapshot.source || !removed.iter().any(is_inside)
    })
}

/// A declaration with the documentation directly before it.
fn with_docs(tree: &Tree<'_>, at: Range<usize>) -> Range<usize> {
    let mut start = at.start;
    for comment in tree.comments.iter().rev() {
        let range = comment.range();
        let is_before = range.end <= start && tree.text[range.end..start].trim().is_empty();
        if range.start >= start {
            continue;
        }
        if !is_before || !tree.text[range.clone()].starts_with("///") {
            break;
        }
        start = range.start;
    }
    start..at.end
}
