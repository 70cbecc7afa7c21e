//! The tree of a text, as the grammar gives it. The only crate that knows pest.
//!
//! Nodes are in one list, each before those that it contains. Tokens are the nodes without others in them. A comment is in none, and
//! what is between the tokens and comments is whitespace, so that the leaves are the text.

// What pest derives names it.
extern crate alloc;

/// How deeply brackets, comments and type operators may nest. The grammar has the same number.
pub const DEPTH_LIMIT: usize = 64;

mod grammar {
    #![allow(missing_docs)]

    #[derive(pest_derive::Parser)]
    #[grammar = "duologue.pest"]
    pub struct Grammar;
}

use grammar::Grammar;
/// What a node is: a rule of the grammar.
pub use grammar::Rule as Kind;
use pest::{Parser as _, Token as Event};
use std::ops::Range;
use std::sync::LazyLock;

/// The names of rules that match what is wrong begin with one of these.
const ERRORS: [&str; 5] = ["bad_", "missing_", "stray_", "unclosed", "wrong_"];

/// For each kind, whether it is an error.
static IS_ERROR: LazyLock<Vec<bool>> = LazyLock::new(|| {
    let mut errors = vec![false; Kind::all_rules().len() + 1];
    for kind in Kind::all_rules() {
        let name = format!("{kind:?}");
        errors[*kind as usize] = ERRORS.iter().any(|begin| name.starts_with(begin));
    }
    errors
});

/// The words that have a meaning of their own somewhere in the grammar.
pub static KEYWORDS: LazyLock<Vec<String>> = LazyLock::new(|| {
    let names = Kind::all_rules().iter().map(|kind| format!("{kind:?}"));
    let words = names.filter_map(|name| Some(name.strip_prefix("kw_")?.to_owned()));
    words.collect()
});

impl Kind {
    /// Whether such a node says that something is wrong.
    pub fn is_error(self) -> bool {
        IS_ERROR[self as usize]
    }

    /// Whether such a token only separates or encloses.
    pub fn is_sign(self) -> bool {
        matches!(
            self,
            Kind::arrow
                | Kind::bang
                | Kind::colon
                | Kind::colons
                | Kind::comma
                | Kind::dot
                | Kind::equals
                | Kind::hash
                | Kind::langle
                | Kind::lbrace
                | Kind::lbracket
                | Kind::lparen
                | Kind::plus
                | Kind::rangle
                | Kind::rbrace
                | Kind::rbracket
                | Kind::rparen
                | Kind::semi
                | Kind::tilde
        )
    }

    /// Whether it is a comment, or meant as whitespace.
    pub fn is_trivia(self) -> bool {
        matches!(
            self,
            Kind::line_comment
                | Kind::block_comment
                | Kind::deep_comment
                | Kind::open_comment
                | Kind::foreign_space
        )
    }
}

/// A comment, or another part of a text that is in no node.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Leaf {
    /// What it is.
    pub kind: Kind,
    /// The first byte.
    pub start: u32,
    /// One past the last byte.
    pub end: u32,
}

impl Leaf {
    /// The bytes as a range for slicing.
    pub fn range(self) -> Range<usize> {
        self.start as usize..self.end as usize
    }
}

#[derive(Clone, Copy, Debug)]
struct Entry {
    kind: Kind,
    /// Whether there is an error in it.
    is_broken: bool,
    start: u32,
    end: u32,
    /// The index of the first node after this one that is not in it.
    next: u32,
}

/// A text with its tree.
#[derive(Debug)]
pub struct Tree<'a> {
    /// The text.
    pub text: &'a str,
    nodes: Vec<Entry>,
    /// The nodes that are tokens, in order.
    tokens: Vec<u32>,
    /// Comments, and characters that were meant as whitespace, in order.
    pub comments: Vec<Leaf>,
}

impl<'a> Tree<'a> {
    /// The tree of a text of less than 4 GiB. Linear; recurses only as deeply as brackets and
    /// comments may nest.
    pub fn of(text: &'a str) -> Tree<'a> {
        let mut tree = Tree {
            text,
            nodes: Vec::with_capacity(text.len() / 3),
            tokens: Vec::with_capacity(text.len() / 5),
            comments: Vec::new(),
        };
        match Grammar::parse(Kind::file, text) {
            Ok(pairs) => Build::new(&mut tree).run(pairs.tokens()),
            // The grammar matches every text.
            Err(_) => {
                let end = offset(text.len());
                tree.nodes = [Kind::file, Kind::stray_tokens, Kind::sign]
                    .map(|kind| Entry {
                        kind,
                        is_broken: true,
                        start: 0,
                        end,
                        next: 3,
                    })
                    .to_vec();
                tree.tokens.push(2);
            }
        }
        tree
    }

    /// The node that contains all others.
    pub fn root(&self) -> Node<'_> {
        self.node(0)
    }

    fn node(&self, index: usize) -> Node<'_> {
        Node { tree: self, index }
    }

    /// How many tokens there are.
    pub fn count(&self) -> usize {
        self.tokens.len()
    }

    /// The token with this number.
    pub fn token(&self, number: usize) -> Option<Node<'_>> {
        let index = self.tokens.get(number)?;
        Some(self.node(*index as usize))
    }

    /// All tokens, in order.
    pub fn tokens(&self) -> impl Iterator<Item = Node<'_>> {
        self.tokens.iter().map(|index| self.node(*index as usize))
    }

    /// The text of a token; empty if there is none.
    pub fn word(&self, number: usize) -> &'a str {
        self.token(number)
            .map_or("", |token| &self.text[token.range()])
    }

    /// Where a token is; the end of the text if there is none.
    pub fn place(&self, number: usize) -> Range<usize> {
        let end = self.text.len()..self.text.len();
        self.token(number).map_or(end, Node::range)
    }

    /// The number of the first token that begins at a byte or after it.
    pub fn number_at(&self, start: usize) -> usize {
        let is_before = |index: &u32| (self.nodes[*index as usize].start as usize) < start;
        self.tokens.partition_point(is_before)
    }

    /// Tokens and comments, in order. What is between them is whitespace.
    pub fn leaves(&self) -> impl Iterator<Item = Leaf> {
        let mut tokens = self.tokens().peekable();
        let mut comments = self.comments.iter().copied().peekable();
        std::iter::from_fn(move || {
            let next = tokens.peek().map_or(u32::MAX, |token| token.entry().start);
            match comments.next_if(|comment| comment.start < next) {
                Some(comment) => Some(comment),
                None => tokens.next().map(Node::leaf),
            }
        })
    }
}

/// Whether a character is whitespace in this language.
fn is_space(character: char) -> bool {
    matches!(character, ' ' | '\n' | '\t' | '\r' | '\u{feff}')
}

/// Texts are smaller than 4 GiB.
fn offset(at: usize) -> u32 {
    u32::try_from(at).unwrap_or(u32::MAX)
}

/// Turns the events of pest into a tree.
struct Build<'t, 'a> {
    tree: &'t mut Tree<'a>,
    open: Vec<usize>,
    /// Where the last token ends.
    end: u32,
}

impl<'t, 'a> Build<'t, 'a> {
    fn new(tree: &'t mut Tree<'a>) -> Build<'t, 'a> {
        Build {
            tree,
            open: Vec::new(),
            end: 0,
        }
    }

    fn run(mut self, events: impl Iterator<Item = Event<'a, Kind>>) {
        for event in events {
            match event {
                Event::Start { rule, pos } => self.start(rule, offset(pos.pos())),
                Event::End { rule, pos } => self.end(rule, offset(pos.pos())),
            }
        }
        self.tree.nodes[0].start = 0;
        self.tree.nodes[0].end = offset(self.tree.text.len());
    }

    fn start(&mut self, kind: Kind, start: u32) {
        if kind.is_trivia() {
            // A token ends where the first comment after it begins.
            if let Some(top) = self.open.last()
                && top + 1 == self.tree.nodes.len()
            {
                let token = &mut self.tree.nodes[*top];
                token.end = match token.end {
                    0 => start,
                    end => end,
                };
            }
            self.tree.comments.push(Leaf {
                kind,
                start,
                end: start,
            });
        } else if kind != Kind::EOI {
            self.open.push(self.tree.nodes.len());
            self.tree.nodes.push(Entry {
                kind,
                is_broken: kind.is_error(),
                start,
                end: 0,
                next: 0,
            });
        }
    }

    fn end(&mut self, kind: Kind, end: u32) {
        if kind.is_trivia() {
            if let Some(comment) = self.tree.comments.last_mut() {
                comment.end = end;
            }
            return;
        }
        if kind == Kind::EOI {
            return;
        }
        let Some(index) = self.open.pop() else {
            return;
        };
        let next = self.tree.nodes.len();
        let node = &mut self.tree.nodes[index];
        node.next = offset(next);
        if index + 1 == next && node.start < end && kind != Kind::file {
            let text = self.tree.text;
            let last = match node.end {
                0 => end,
                end => end,
            };
            let token = &text[node.start as usize..last as usize];
            node.end = node.start + offset(token.trim_end_matches(is_space).len());
            self.end = node.end;
            self.tree.tokens.push(offset(index));
        } else {
            // A place where something is missing is directly after the token before it.
            node.start = match self.end <= node.start {
                true => self.end,
                false => node.start,
            };
            node.end = self.end;
        }
        let is_broken = self.tree.nodes[index].is_broken;
        if let Some(outer) = self.open.last() {
            self.tree.nodes[*outer].is_broken |= is_broken;
        }
    }
}

/// A node of a tree.
#[derive(Clone, Copy, Debug)]
pub struct Node<'t> {
    tree: &'t Tree<'t>,
    index: usize,
}

impl<'t> Node<'t> {
    fn entry(self) -> Entry {
        self.tree.nodes[self.index]
    }

    /// What it is.
    pub fn kind(self) -> Kind {
        self.entry().kind
    }

    /// The bytes of the text that it covers, from its first token to its last.
    pub fn range(self) -> Range<usize> {
        let entry = self.entry();
        entry.start as usize..entry.end as usize
    }

    /// It as a leaf.
    pub fn leaf(self) -> Leaf {
        let Entry {
            kind, start, end, ..
        } = self.entry();
        Leaf { kind, start, end }
    }

    /// What it says.
    pub fn text(self) -> &'t str {
        &self.tree.text[self.range()]
    }

    /// Whether it is or contains an error.
    pub fn is_broken(self) -> bool {
        self.entry().is_broken
    }

    /// The nodes directly in it, in order.
    pub fn children(self) -> Parts<'t> {
        Parts {
            tree: self.tree,
            at: self.index + 1,
            end: self.entry().next as usize,
            has_signs: true,
        }
    }

    /// The nodes directly in it, in order, without those that only separate or enclose others.
    pub fn parts(self) -> Parts<'t> {
        Parts {
            has_signs: false,
            ..self.children()
        }
    }

    /// The first child of a kind.
    pub fn child(self, kind: Kind) -> Option<Node<'t>> {
        self.children().find(|node| node.kind() == kind)
    }

    /// The node that directly contains a node somewhere in this one, and the node before that one in it.
    pub fn around(self, inner: Node<'t>) -> (Node<'t>, Option<Node<'t>>) {
        let mut outer = self;
        let mut before = None;
        let mut parts = self.children();
        while let Some(part) = parts.next() {
            if part.index == inner.index {
                break;
            }
            before = Some(part);
            if inner.index < part.entry().next as usize {
                outer = part;
                before = None;
                parts = part.children();
            }
        }
        (outer, before)
    }

    /// It and all nodes in it, each before those that it contains.
    pub fn all(self) -> impl Iterator<Item = Node<'t>> {
        let tree = self.tree;
        (self.index..self.entry().next as usize).map(|index| tree.node(index))
    }
}

/// The nodes directly in a node.
#[derive(Clone, Debug)]
pub struct Parts<'t> {
    tree: &'t Tree<'t>,
    at: usize,
    end: usize,
    has_signs: bool,
}

impl<'t> Parts<'t> {
    /// The next node, without taking it.
    pub fn peek(&self) -> Option<Node<'t>> {
        self.clone().next()
    }

    /// Takes the next node if it is of this kind.
    pub fn next_if(&mut self, kind: Kind) -> Option<Node<'t>> {
        self.peek().filter(|node| node.kind() == kind)?;
        self.next()
    }
}

impl<'t> Iterator for Parts<'t> {
    type Item = Node<'t>;

    fn next(&mut self) -> Option<Node<'t>> {
        while self.at < self.end {
            let node = self.tree.node(self.at);
            let Entry { kind, next, .. } = node.entry();
            self.at = next as usize;
            if self.has_signs || !kind.is_sign() {
                return Some(node);
            }
        }
        None
    }
}
