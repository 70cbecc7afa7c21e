//! What is wrong with a text: turns the error nodes of its tree into diagnostics.

use super::ascii::is_word;
use super::declared::DeclaredNames;
use super::failure::{Failure, NAME, Part, STATE, explain};
use super::foreign::Fault;
use crate::diagnostic::Diagnostic;
use crate::source::{SourceId, Span};
use duologue_grammar::{Kind, Node, Tree};
use std::cell::OnceCell;
use std::collections::HashSet;
use std::ops::Range;

/// The maximum number of characters that one repair replaces.
const REPLACED: usize = 64;

/// Explains everything that is wrong with a text.
pub fn problems(source: SourceId, tree: &Tree<'_>, faults: &[Fault]) -> Vec<Diagnostic> {
    let mut problems = Problems {
        source,
        tree,
        all_faults: faults,
        declared: OnceCell::new(),
        faults: 0,
        limit: 0,
        found: Vec::new(),
    };
    problems.file();
    problems.found
}

struct Problems<'t> {
    source: SourceId,
    tree: &'t Tree<'t>,
    all_faults: &'t [Fault],
    /// What the text declares, computed when a mistake needs it.
    declared: OnceCell<DeclaredNames<'t>>,
    /// How many faults belong to the parts so far.
    faults: usize,
    /// The number of the first token of the next item.
    limit: usize,
    found: Vec<Diagnostic>,
}

impl<'t> Problems<'t> {
    fn file(&mut self) {
        if !self.tree.root().is_broken() && self.all_faults.is_empty() {
            return;
        }
        let nodes: Vec<Node<'t>> = self.tree.root().children().collect();
        let mut limit = self.tree.count();
        let limits = nodes.iter().rev().map(|node| match part(node.kind()) {
            Part::Outside => limit,
            _ => std::mem::replace(&mut limit, self.first(*node)),
        });
        let limits: Vec<usize> = limits.collect();
        let mut is_outside = false;
        let next = nodes.iter().skip(1).map(|node| Some(part(node.kind())));
        let next = next.chain([None]);
        for ((node, next), limit) in nodes.iter().zip(next).zip(limits.into_iter().rev()) {
            let part = part(node.kind());
            self.limit = limit;
            match part {
                Part::Header => self.protocol(*node),
                Part::Outside => {
                    if !std::mem::replace(&mut is_outside, true) {
                        self.outside(*node);
                    }
                    if node.kind() == Kind::bad_protocol {
                        self.body(*node, 0);
                    }
                    continue;
                }
                _ => {
                    let range = self.first(*node)..self.after(*node);
                    if !self.has_faults(range.end)
                        && let Some(error) = error_in(*node)
                        // What is there instead of a declaration is reported next.
                        && !(error.kind() == Kind::missing_item && next == Some(Part::Outside))
                    {
                        self.fail(part, range, *node, error);
                    }
                }
            }
            is_outside = false;
        }
        self.has_faults(usize::MAX);
    }

    /// The number of the first token of a node.
    fn first(&self, node: Node<'t>) -> usize {
        self.tree.number_at(node.range().start)
    }

    /// The number of the first token after a node.
    fn after(&self, node: Node<'t>) -> usize {
        self.tree.number_at(node.range().end)
    }

    /// Reports the faults before the token `end` that were not reported before. Returns whether there are any.
    fn has_faults(&mut self, end: usize) -> bool {
        let all = &self.all_faults[self.faults..];
        let end = match end < self.tree.count() {
            true => end
                .checked_sub(1)
                .map_or(0, |last| self.tree.place(last).end),
            false => usize::MAX,
        };
        let of_part = &all[..all.partition_point(|fault| fault.at.start < end)];
        self.faults += of_part.len();
        let Some((first, more)) = of_part.split_first() else {
            return false;
        };
        // One repair of all faults like the first one.
        let text = self.tree.text;
        let mut edits = first.replacements(text);
        for fault in more {
            if edits.is_empty() || edits.len() >= REPLACED {
                break;
            }
            edits.extend(fault.replacements(text));
        }
        self.found.push(first.explain(self.source, text, edits));
        true
    }

    fn explain(&mut self, failure: &Failure<'t>) {
        let declared = self.declared.get_or_init(|| DeclaredNames::of(self.tree));
        let error = explain(self.source, self.tree, failure, declared);
        self.found.push(error);
    }

    /// Explains the error node `error` of a part whose node is `node`.
    fn fail(&mut self, part: Part, tokens: Range<usize>, node: Node<'t>, error: Node<'t>) {
        let at = self.first(error);
        // The explanation looks at a few tokens.
        let end = tokens.end.max((at + 3).min(self.limit));
        self.explain(&Failure {
            part,
            node,
            error,
            tokens: tokens.start..end,
            at,
            expected: expected(node, error),
        });
    }

    /// Explains the tokens from the number `at` on, which are between the nodes of the grammar: `node` is where they begin.
    fn between(&mut self, part: Part, node: Node<'t>, tokens: Range<usize>, expected: &str) {
        self.explain(&Failure {
            part,
            node,
            error: node,
            at: tokens.start,
            tokens,
            expected: expected.to_owned(),
        });
    }

    fn outside(&mut self, node: Node<'t>) {
        let first = self.first(node);
        let limit = self.limit;
        if self.has_faults(limit) {
        } else if let Some(at) = (first..limit).find(|at| self.tree.word(*at) != ";") {
            self.between(Part::Outside, node, at..limit, "");
        } else {
            self.stray(first);
        }
    }

    fn protocol(&mut self, node: Node<'t>) {
        let reported = self.found.len();
        let is_head =
            |part: &Node<'t>| !matches!(part.kind(), Kind::lbrace | Kind::lparen | Kind::state);
        let end = match node.children().find(|part| !is_head(part)) {
            Some(open) if open.kind() == Kind::state => self.first(open),
            Some(open) => self.first(open) + 1,
            None => self.after(node),
        };
        let range = self.first(node)..end;
        let error = node.children().take_while(is_head).find_map(error_in);
        if !self.has_faults(range.end)
            && let Some(error) = error.filter(|error| error.kind() != Kind::unclosed)
        {
            self.fail(Part::Header, range, node, error);
        }
        self.body(node, reported);
    }

    /// The states of a protocol. `reported` is the number of problems before it.
    fn body(&mut self, node: Node<'t>, reported: usize) {
        for part in node.children() {
            let at = self.first(part);
            match part.kind() {
                Kind::state => self.state(part),
                Kind::stray_separator => self.separator(at),
                Kind::wrong_close if !self.has_faults(at + 2) => {
                    self.between(Part::Outside, part, at + 1..self.limit, STATE);
                }
                Kind::wrong_brace | Kind::wrong_parenthesis | Kind::wrong_end
                    if !self.has_faults(at + 1) =>
                {
                    self.between(Part::State, part, at..at + 1, "");
                }
                Kind::unclosed if self.found.len() == reported => {
                    let open = node.child(Kind::lbrace);
                    if let Some(open) = open.or_else(|| node.child(Kind::lparen)) {
                        self.unclosed(open);
                    }
                }
                _ => {}
            }
        }
    }

    /// A state: the first error of its head, or those of its messages. An error that is said once is not said again.
    fn state(&mut self, node: Node<'t>) {
        let range = self.first(node)..self.after(node);
        if self.has_faults(range.end) || !node.is_broken() {
            return;
        }
        let reported = self.found.len();
        let mut is_head = true;
        // What directly follows tokens that do not fit may belong to them.
        let mut is_doubtful = false;
        for part in node.children() {
            is_head &= part.kind() != Kind::lbrace;
            let was_doubtful = std::mem::take(&mut is_doubtful);
            let Some(error) = error_in(part) else {
                continue;
            };
            is_doubtful = part.kind() != Kind::missing_comma;
            if was_doubtful {
                continue;
            }
            self.fail(Part::State, range.clone(), node, error);
            if is_head {
                break;
            }
        }
        let mut seen = HashSet::new();
        let new = self.found.split_off(reported).into_iter();
        let new = new.filter(|error| seen.insert(error.message.clone()));
        self.found.extend(new);
    }

    /// An error at bytes of the text.
    fn error(&self, at: Range<usize>, message: impl Into<String>) -> Diagnostic {
        Diagnostic::syntax(Span::new(self.source, at.start, at.end), message)
    }

    /// A stray semicolon: one may follow only a protocol, and only once.
    fn stray(&mut self, first: usize) {
        let Range { start, end } = self.tree.place(first);
        let rest = &self.tree.text[end..];
        let more = rest.len() - rest.trim_start_matches(';').len();
        let (words, repair) = match more {
            0 => ("this semicolon ends nothing", "remove it"),
            _ => ("these semicolons end nothing", "remove them"),
        };
        let error = self.error(start..end + more, words);
        let span = error.primary.span;
        self.found.push(error.fix(repair, span, "").safe(true));
    }

    /// A comma or semicolon between states. It is removed automatically only if a state or nothing follows: before a message, it
    /// is the bracket before the separator that is wrong.
    fn separator(&mut self, at: usize) {
        let name = match self.tree.word(at) {
            "," => "comma",
            _ => "semicolon",
        };
        let next = |count: usize| match at + count < self.limit {
            true => self.tree.word(at + count),
            false => "",
        };
        let is_message = is_word(next(1)) && !matches!(next(2), ":" | "<" | "{");
        let text = format!("states are not separated by {name}s");
        let error = self.error(self.tree.place(at), text);
        let span = error.primary.span;
        self.found
            .push(error.fix("remove it", span, "").safe(!is_message));
    }

    /// A protocol that is never closed.
    fn unclosed(&mut self, open: Node<'t>) {
        let close = match open.kind() {
            Kind::lbrace => "}",
            _ => ")",
        };
        let error = self.error(open.range(), "this protocol is never closed");
        let error = error.label(format!("this `{}` has no `{close}`", open.text()));
        let help = format!("close it with `{close}` after its last state");
        self.found.push(error.help(help));
    }
}

/// What a node of the file is.
fn part(kind: Kind) -> Part {
    match kind {
        Kind::package => Part::Package,
        Kind::import => Part::Import,
        Kind::item => Part::Item,
        Kind::protocol => Part::Header,
        _ => Part::Outside,
    }
}

/// The first error in a node, which may be the node itself.
fn error_in(node: Node<'_>) -> Option<Node<'_>> {
    node.is_broken()
        .then(|| node.all().find(|node| node.kind().is_error()))?
}

/// What could have been written where an error node of a part begins, separated by spaces.
fn expected(part: Node<'_>, error: Node<'_>) -> String {
    let (outer, before) = part.around(error);
    let kind = before.map(Node::kind);
    let start_of_type = format!("{NAME} ( [ ~");
    match (outer.kind(), kind) {
        (Kind::package, Some(Kind::ident)) => ". ;",
        (Kind::import, Some(Kind::kw_import)) | (Kind::from | Kind::drop, _) => "\"",
        (Kind::import, _) => ";",
        (Kind::item, _) => "# enum extern proto struct type",
        (Kind::attribute, Some(Kind::hash)) => "[",
        (Kind::attribute, Some(Kind::ident)) => "( ]",
        (Kind::attribute, Some(Kind::rparen)) => "]",
        (Kind::attribute, Some(Kind::rule_name)) => ", )",
        (Kind::attribute, Some(Kind::quantity)) => "_ , )",
        (Kind::alias, Some(Kind::ty)) => ";",
        (Kind::structure | Kind::enumeration, Some(Kind::ident)) => "{",
        (Kind::structure | Kind::enumeration, Some(Kind::field | Kind::variant)) => ", }",
        (Kind::structure | Kind::enumeration, _) => "# _ }",
        (Kind::field, Some(Kind::ident)) => ":",
        (Kind::external, Some(Kind::ident)) => ": ; {",
        (Kind::external, Some(Kind::bounds)) => "_ + ; {",
        (Kind::external, _) => "_ }",
        (Kind::mapping, Some(Kind::ident)) => "=",
        (Kind::mapping, Some(Kind::equals)) => "\"",
        (Kind::mapping, Some(Kind::string)) => "; drop from",
        (Kind::mapping, Some(Kind::from)) => "; drop",
        (Kind::mapping, _) => ";",
        (Kind::instance, Some(Kind::ident)) => "<",
        (Kind::instance, Some(Kind::arguments)) => ";",
        (Kind::protocol, Some(Kind::ident)) => "( {",
        (Kind::state, Some(Kind::ident | Kind::foreign_name)) | (Kind::another_word, _) => ": < {",
        (Kind::state, Some(Kind::direction)) => "< {",
        (Kind::state, Some(Kind::parameters)) => "{",
        (Kind::state, Some(Kind::message)) => ", }",
        (Kind::state, None | Some(Kind::attribute)) => "# _",
        (Kind::state, _) => "# _ }",
        (Kind::parameters, Some(Kind::parameter)) => ", >",
        (Kind::parameters, Some(Kind::comma)) => "_ >",
        (Kind::message, Some(Kind::ident)) => "( ->",
        (Kind::message, Some(Kind::payload)) => "->",
        (Kind::message, Some(Kind::arrow)) => "! _",
        (Kind::payload, Some(Kind::entry)) => ") ,",
        (Kind::list, Some(Kind::ty)) => "; ]",
        (Kind::list, Some(Kind::semi)) => NAME,
        (Kind::list, Some(Kind::number)) => "]",
        (Kind::tuple, Some(Kind::ty)) => ") ,",
        (Kind::length, _) => ">",
        (Kind::arguments, Some(Kind::ty)) => ", >",
        (Kind::payload, _) => "_ ( ) [ ~",
        (Kind::tuple, Some(Kind::comma | Kind::last_comma)) => "_ ( ) [ ~",
        (Kind::arguments, Some(Kind::comma)) => "_ ( > [ ~",
        (
            Kind::alias | Kind::field | Kind::entry | Kind::list | Kind::tuple | Kind::arguments,
            _,
        ) => &start_of_type,
        _ => NAME,
    }
    .to_owned()
        + before.map_or("", continuation)
}

/// With what the node before an error could have gone on.
fn continuation(before: Node<'_>) -> &'static str {
    match before.kind() {
        Kind::entry => {
            let ty = before.children().last();
            let ends = ty.map_or("", continuation);
            let is_word = is_word(before.text()) && !before.text().contains(':');
            match ends.contains("::") && is_word {
                true => " : :: < ?",
                false => ends,
            }
        }
        Kind::field | Kind::variant => before.children().last().map_or("", continuation),
        Kind::ty => match before.children().last() {
            Some(path) if path.kind() == Kind::path => {
                let is_open = path
                    .children()
                    .last()
                    .is_some_and(|last| last.kind() == Kind::ident);
                if is_open { " :: < ?" } else { " ?" }
            }
            _ => " ?",
        },
        Kind::message | Kind::next => {
            let next = before.child(Kind::next).unwrap_or(before);
            let is_open = next.kind() == Kind::next && next.child(Kind::arguments).is_none();
            if is_open { " <" } else { "" }
        }
        Kind::parameter if before.child(Kind::bounds).is_some() => " _ +",
        Kind::parameter => " :",
        _ => "",
    }
}
