//! The text of a server that rules change: literals, comments and calls in Rust, C and Scala.

use std::ops::Range;

/// A server's text with what the rules need to know about it.
pub struct Source<'t> {
    pub text: &'t str,
    /// The string literals, with their quotes.
    pub literals: Vec<Range<usize>>,
    /// What is not changed: imports, comments, and what the program prints.
    kept: Vec<Range<usize>>,
}

impl<'t> Source<'t> {
    pub fn new(text: &'t str) -> Source<'t> {
        let mut source = Source {
            text,
            literals: Vec::new(),
            kept: Vec::new(),
        };
        let bytes = text.as_bytes();
        let mut at = 0;
        while at < bytes.len() {
            if bytes[at] == b'"' {
                let start = at;
                at += 1;
                while bytes[at] != b'"' {
                    at += if bytes[at] == b'\\' { 2 } else { 1 };
                }
                source.literals.push(start..at + 1);
            }
            at += 1;
        }
        source.keep("//", "\n");
        source.keep("/*", "*/");
        source
    }

    /// Keeps everything from a text to the next end, wherever that is in code.
    pub fn keep(&mut self, from: &str, to: &str) {
        for (start, _) in self.text.match_indices(from) {
            let end = self.text[start..].find(to);
            let end = end.map_or(self.text.len(), |end| start + end);
            if self.literal_at(start).is_none() {
                self.kept.push(start..end);
            }
        }
    }

    /// Keeps every call, from its name to its closing bracket.
    pub fn keep_calls(&mut self, names: &[&str]) {
        for name in names {
            for (start, _) in self.text.match_indices(name) {
                let open = self.text[start..].find('(').expect("it is a call") + start;
                let end = self.closing(open);
                self.kept.push(start..end);
            }
        }
    }

    fn literal_at(&self, at: usize) -> Option<&Range<usize>> {
        self.literals.iter().find(|literal| literal.contains(&at))
    }

    pub fn is_kept(&self, at: usize) -> bool {
        self.kept.iter().any(|kept| kept.contains(&at))
    }

    /// Whether rules other than those of literals may change the text here.
    pub fn is_code(&self, at: usize) -> bool {
        !self.is_kept(at) && self.literal_at(at).is_none()
    }

    /// The positions of brackets and commas from an opening bracket to its end, with their depths.
    fn structure(&self, open: usize) -> Vec<(usize, usize)> {
        let mut found = Vec::new();
        let mut depth = 0;
        for (at, letter) in self.text[open..].char_indices() {
            let at = open + at;
            if self.literal_at(at).is_some() {
                continue;
            }
            match letter {
                '(' | '[' | '{' => {
                    depth += 1;
                    found.push((at, depth));
                }
                ')' | ']' | '}' => {
                    found.push((at, depth));
                    depth -= 1;
                    if depth == 0 {
                        break;
                    }
                }
                ',' => found.push((at, depth)),
                _ => {}
            }
        }
        found
    }

    /// The end of what an opening bracket begins.
    pub fn closing(&self, open: usize) -> usize {
        self.structure(open).last().expect("it is closed").0 + 1
    }

    /// The arguments of a call, from its opening bracket on.
    pub fn arguments(&self, open: usize) -> Vec<Range<usize>> {
        let outer = self
            .structure(open)
            .into_iter()
            .filter(|(_, depth)| *depth == 1);
        let places: Vec<usize> = outer.map(|(at, _)| at).collect();
        let ranges = places.windows(2).map(|pair| pair[0] + 1..pair[1]);
        ranges
            .filter(|range| !self.text[range.clone()].trim().is_empty())
            .collect()
    }

    pub fn line(&self, at: usize) -> usize {
        self.text[..at].matches('\n').count() + 1
    }
}
