//! The tree of a text: what each range of its tokens is, with nothing interpreted.

use std::ops::Range;

/// What a node is. The names are those of the rules in `grammar/duologue.pest`, except for [`Kind::Error`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    File,
    Package,
    Import,
    Item,
    Attribute,
    Quantity,
    RuleName,
    Alias,
    Structure,
    Field,
    Enumeration,
    Variant,
    External,
    Mapping,
    From,
    Drop,
    Instance,
    Protocol,
    State,
    Direction,
    Parameters,
    Parameter,
    Bounds,
    Message,
    Payload,
    Entry,
    Label,
    End,
    Next,
    Ty,
    Option,
    List,
    Tuple,
    Comma,
    Path,
    Length,
    Arguments,
    Ident,
    Number,
    String,
    StringText,
    KwPackage,
    KwImport,
    KwType,
    KwStruct,
    KwEnum,
    KwExtern,
    KwBound,
    KwFrom,
    KwDrop,
    KwProto,
    /// Tokens that do not fit.
    Error,
}

/// A node, followed by the nodes in it.
#[derive(Clone, Copy, Debug)]
struct Entry {
    kind: Kind,
    start: u32,
    end: u32,
    /// The index of the first node after this one that is not in it.
    next: u32,
}

/// The nodes of a text, each before those that it contains.
#[derive(Debug, Default)]
pub struct Tree {
    nodes: Vec<Entry>,
}

impl Tree {
    pub fn len(&self) -> usize {
        self.nodes.len()
    }

    /// Begins a node at a byte. It contains all nodes that are added until it is closed.
    pub fn open(&mut self, kind: Kind, start: u32) -> usize {
        let index = self.nodes.len();
        self.nodes.push(Entry {
            kind,
            start,
            end: start,
            next: 0,
        });
        index
    }

    pub fn close(&mut self, index: usize, end: u32) {
        let next = u32::try_from(self.nodes.len()).unwrap_or(u32::MAX);
        let node = &mut self.nodes[index];
        node.end = end.max(node.start);
        node.next = next;
    }

    /// Adds a node without others in it.
    pub fn leaf(&mut self, kind: Kind, place: Range<u32>) {
        let index = self.open(kind, place.start);
        self.close(index, place.end);
    }

    /// Removes all nodes from `index` on.
    pub fn truncate(&mut self, index: usize) {
        self.nodes.truncate(index);
    }

    /// The node that contains all others.
    pub fn root(&self) -> Node<'_> {
        Node {
            tree: self,
            index: 0,
        }
    }
}

/// A node of a tree.
#[derive(Clone, Copy, Debug)]
pub struct Node<'t> {
    tree: &'t Tree,
    index: usize,
}

impl<'t> Node<'t> {
    fn entry(self) -> Entry {
        self.tree.nodes[self.index]
    }

    pub fn kind(self) -> Kind {
        self.entry().kind
    }

    /// The bytes of the text that it covers, from its first token to its last.
    pub fn range(self) -> Range<usize> {
        let entry = self.entry();
        entry.start as usize..entry.end as usize
    }

    /// The nodes directly in it, in order.
    pub fn parts(self) -> Parts<'t> {
        Parts {
            tree: self.tree,
            at: self.index + 1,
            end: self.entry().next as usize,
        }
    }

    /// Whether tokens directly in it do not fit.
    pub fn has_error(self) -> bool {
        self.parts().any(|part| part.kind() == Kind::Error)
    }
}

/// The nodes directly in a node.
#[derive(Clone, Debug)]
pub struct Parts<'t> {
    tree: &'t Tree,
    at: usize,
    end: usize,
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
        if self.at >= self.end {
            return None;
        }
        let node = Node {
            tree: self.tree,
            index: self.at,
        };
        self.at = node.entry().next as usize;
        Some(node)
    }
}
