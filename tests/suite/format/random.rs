//! Random layouts: the tokens of protocol files and of random programs, with any whitespace and comments between them.

use crate::programs::generator::Generator;
use crate::support::choices::Choices;
use crate::syntax::texts;
use duologue::source::Sources;
use duologue::syntax::parse;
use duologue_grammar::{Kind, Tree};
use std::collections::BTreeSet;
use std::sync::LazyLock;

/// The protocol files of the repository in which no token is wrong.
static TEXTS: LazyLock<Vec<String>> = LazyLock::new(|| {
    let texts = ["protocols", "tests"].into_iter().flat_map(texts);
    let is_right = |text: &String| {
        let source = Sources::default().add("test.proto", text);
        parse(source, text).1.is_empty()
    };
    let texts: Vec<_> = texts.filter(is_right).collect();
    assert!(texts.len() > 300, "only {} files", texts.len());
    texts
});

/// What is a list, or ends with one.
const LISTS: [Kind; 6] = [
    Kind::arguments,
    Kind::enumeration,
    Kind::parameters,
    Kind::payload,
    Kind::state,
    Kind::structure,
];

/// The tokens of a text, with or without a comma at the end of each list.
pub fn words(seed: u64) -> Vec<String> {
    let mut choices = Choices::new(seed);
    let text = match choices.once_in(2) {
        true => TEXTS[choices.below(TEXTS.len())].clone(),
        false => {
            Generator::new(seed, "mark")
                .program()
                .files
                .swap_remove(0)
                .1
        }
    };
    let tree = Tree::of(&text);
    let lists = tree
        .root()
        .all()
        .filter(|node| LISTS.contains(&node.kind()));
    let ends: BTreeSet<usize> = lists.map(|list| list.range().end).collect();
    let mut words: Vec<String> = Vec::new();
    for token in tree.tokens() {
        let is_empty = words.last().is_some_and(|last| "({<".contains(last));
        if ends.contains(&token.range().end) && !is_empty {
            words.truncate(words.len() - usize::from(words.ends_with(&[",".to_owned()])));
            words.extend(choices.once_in(2).then(|| ",".to_owned()));
        }
        words.push(token.text().to_owned());
    }
    words
}

/// How tokens are joined.
#[derive(Clone, Copy, PartialEq)]
pub enum Gaps {
    /// Whitespace where two tokens would become one, and nowhere else.
    Tight,
    /// Spaces and line breaks anywhere.
    Blanks,
    /// Comments of all kinds as well.
    Comments,
}

const BLANKS: [&str; 12] = [
    "", "", "", " ", " ", " ", "  ", "\t", "\n", "\n    ", "\n\n\n\n", " \r\n ",
];
const COMMENTS: [&str; 16] = [
    "// line\n",
    "//\n",
    "// trailing spaces \t \n",
    "//// four\n",
    "// caf\u{e9} \u{1f980}\n",
    "/* block */",
    "/**/",
    "/* /* nested */ */",
    "/** old documentation */",
    "/* two\n   lines */",
    "/*\n * a tower\n *\n\t* of lines  \n */",
    "/* a\ttab */",
    "/* a rather long comment that takes so much of the line that the code that follows cannot stay */",
    "/// documentation\n",
    "///\n",
    "//! documentation of the file\n",
];

/// The text of the tokens.
pub fn joined(words: &[String], gaps: Gaps, choices: &mut Choices) -> String {
    let mut text = String::new();
    // How often a gap has a comment; some files have many, most have few.
    let every = [2, 8, 30, 100][choices.below(4)];
    for word in words.iter().map(String::as_str).chain([""]) {
        let before = text.len();
        if gaps != Gaps::Tight {
            text += choices.one_of(&BLANKS);
        }
        while gaps == Gaps::Comments && choices.once_in(every) {
            text += choices.one_of(&COMMENTS);
            text += choices.one_of(&BLANKS);
        }
        let is_word = |letter: char| letter.is_ascii_alphanumeric() || letter == '_';
        let touches = text.len() == before && text.ends_with(is_word) && word.starts_with(is_word);
        text += if touches { " " } else { "" };
        text += word;
    }
    if choices.once_in(5) {
        text.insert(0, '\u{feff}');
    }
    if choices.once_in(5) {
        text = text.replace("\r\n", "\n").replace('\n', "\r\n");
    }
    text
}
