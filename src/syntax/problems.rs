//! What is wrong with a text: turns the error nodes of its tree into diagnostics.

use super::ascii::is_word;
use super::declared::DeclaredNames;
use super::failure::{Failure, NAME, Part, STATE, explain};
use super::foreign::Fault;
use crate::diagnostic::Diagnostic;
use crate::source::{SourceId, Span};
use duologue_grammar::{Kind, Node, Tree};
use std::cell::OnceCell;
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
        let mut is_outside = false;
        for (at, node) in nodes.iter().enumerate() {
            let part = part(node.kind());
            let next = nodes[at + 1..]
                .iter()
                .find(|next| self::part(next.kind()) != Part::Outside);
            self.limit = next.map_or(self.tree.count(), |next| self.first(*next));
            match part {
                Part::Header => self.protocol(*node),
                Part::Outside => {
                    if !std::mem::replace(&mut is_outside, true) {
                        self.outside(self.first(*node));
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

    /// Explains an error in a part with these tokens.
    fn explain(&mut self, part: Part, tokens: Range<usize>, at: usize, expected: String) {
        let failure = Failure {
            part,
            tokens,
            at,
            expected,
        };
        let declared = self.declared.get_or_init(|| DeclaredNames::of(self.tree));
        let error = explain(self.source, self.tree, &failure, declared);
        self.found.push(error);
    }

    /// Explains the error node `error` of a part whose node is `node`.
    fn fail(&mut self, part: Part, tokens: Range<usize>, node: Node<'t>, error: Node<'t>) {
        let at = self.first(error);
        // The explanation looks at a few tokens.
        let end = tokens.end.max((at + 3).min(self.limit));
        self.explain(part, tokens.start..end, at, expected(node, error));
    }

    fn outside(&mut self, first: usize) {
        let range = first..self.limit;
        if self.has_faults(range.end) {
        } else if let Some(first) = range.clone().find(|at| self.tree.word(*at) != ";") {
            self.explain(Part::Outside, first..range.end, first, String::new());
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
                    let expected = STATE.to_owned();
                    self.explain(Part::Outside, at + 1..self.limit, at + 1, expected);
                }
                Kind::wrong_brace | Kind::wrong_parenthesis | Kind::wrong_end
                    if !self.has_faults(at + 1) =>
                {
                    self.explain(Part::State, at..at + 1, at, String::new());
                }
                Kind::unclosed if self.found.len() == reported => {
                    let is_opener =
                        |part: &Node<'t>| matches!(part.kind(), Kind::lbrace | Kind::lparen);
                    if let Some(open) = node.children().find(is_opener) {
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
        let mut seen: Vec<String> = Vec::new();
        let mut at = 0;
        self.found.retain(|error| {
            at += 1;
            let is_new = at <= reported || !seen.contains(&error.message);
            if at > reported && is_new {
                seen.push(error.message.clone());
            }
            is_new
        });
    }

    /// A stray semicolon: one may follow only a protocol, and only once.
    fn stray(&mut self, first: usize) {
        let place = self.tree.place(first);
        let more = self.tree.text[place.end..].bytes();
        let more = more.take_while(|byte| *byte == b';').count();
        let span = Span::new(self.source, place.start, place.end + more);
        let (words, repair) = match more {
            0 => ("this semicolon ends nothing", "remove it"),
            _ => ("these semicolons end nothing", "remove them"),
        };
        self.found
            .push(Diagnostic::error("syntax", span, words).fix(repair, span, "", true));
    }

    /// A comma or semicolon between states. It is removed automatically only if a state or nothing follows: before a message, it
    /// is the bracket before the separator that is wrong.
    fn separator(&mut self, at: usize) {
        let place = self.tree.place(at);
        let name = match self.tree.word(at) {
            "," => "comma",
            _ => "semicolon",
        };
        let span = Span::new(self.source, place.start, place.end);
        let text = format!("states are not separated by {name}s");
        let next = |count: usize| match at + count < self.limit {
            true => self.tree.word(at + count),
            false => "",
        };
        let is_message = is_word(next(1)) && !matches!(next(2), ":" | "<" | "{");
        let error = Diagnostic::error("syntax", span, text).fix("remove it", span, "", !is_message);
        self.found.push(error);
    }

    /// A protocol that is never closed.
    fn unclosed(&mut self, open: Node<'t>) {
        let place = open.range();
        let span = Span::new(self.source, place.start, place.end);
        let close = if open.kind() == Kind::lbrace {
            "}"
        } else {
            ")"
        };
        let error = Diagnostic::error("syntax", span, "this protocol is never closed")
            .label(format!("this `{}` has no `{close}`", open.text()))
            .help(format!("close it with `{close}` after its last state"));
        self.found.push(error);
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
