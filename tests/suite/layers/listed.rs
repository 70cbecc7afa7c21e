//! What the tests of the C and the Scala runtime share: layers that list their files, and what the text of a file says that it uses.

use super::Uses;
use crate::circles::compare;
use std::collections::BTreeSet;

/// Files that are at the same height: they may use each other, and the files of the layers that are named. Names are separated by
/// spaces.
pub struct Layer {
    pub name: &'static str,
    pub may_use: &'static str,
    pub files: &'static str,
}

/// A file uses something that another file defines.
pub struct Use {
    pub file: String,
    pub name: String,
    pub of: String,
}

impl Use {
    pub fn new(file: &str, name: &str, of: &str) -> Use {
        let [file, name, of] = [file, name, of].map(str::to_owned);
        Use { file, name, of }
    }
}

fn layer<'a>(file: &str, layers: &'a [Layer]) -> Option<&'a Layer> {
    let mut layers = layers.iter();
    layers.find(|layer| layer.files.split(' ').any(|listed| listed == file))
}

/// What is wrong with the layers of these files; `list` is the file that has the list.
pub fn faults(layers: &[Layer], files: &BTreeSet<String>, uses: &[Use], list: &str) -> Vec<String> {
    let mut faults = Vec::new();
    for file in files.iter().filter(|file| layer(file, layers).is_none()) {
        faults.push(format!(
            "{file} is in no layer: add it in {list}, to the lowest layer that may use what {file} uses"
        ));
    }
    let mut listed = BTreeSet::new();
    for file in layers.iter().flat_map(|layer| layer.files.split(' ')) {
        if !files.contains(file) {
            faults.push(format!("{file} does not exist: remove it from {list}"));
        }
        if !listed.insert(file) {
            faults.push(format!(
                "{file} is in two layers: remove one of them from {list}"
            ));
        }
    }
    for Use { file, name, of } in uses {
        let (Some(from), Some(to)) = (layer(file, layers), layer(of, layers)) else {
            continue;
        };
        if from.name != to.name && !from.may_use.split(' ').any(|may| may == to.name) {
            let may_use = [from.name, from.may_use].join(" ");
            faults.push(format!(
                "{file} uses {name} of {of}, which is in the layer `{}`; what is in `{}` may use only: {may_use}. \
                 Move what {file} needs to a lower layer, or what needs it to a higher one",
                to.name, from.name
            ));
        }
    }
    faults
}

/// What is wrong with the circles that these uses form, compared with those that are listed.
pub fn circles(uses: &[Use], listed: &[(&[&str], &str)]) -> Vec<String> {
    let mut all = Uses::new();
    for Use { file, of, .. } in uses {
        all.entry(file.clone()).or_default().insert(of.clone());
    }
    compare(&all, listed)
}

pub fn assert_none(faults: &[String], list: &str) {
    let text = faults.join("\n");
    assert!(
        faults.is_empty(),
        "\n{text}\nLAYERS and CIRCLES are in {list}\n"
    );
}

/// Where a string ends that begins with the first character.
fn end_of_string(text: &str) -> usize {
    if let Some(raw) = text.strip_prefix("\"\"\"") {
        return raw.find("\"\"\"").map_or(text.len(), |end| end + 6);
    }
    let mut is_escaped = false;
    for (at, letter) in text.char_indices().skip(1) {
        if letter == '"' && !is_escaped {
            return at + 1;
        }
        is_escaped = letter == '\\' && !is_escaped;
    }
    text.len()
}

/// The code of a C, Java or Scala file, without comments and strings.
pub fn code(text: &str) -> String {
    let mut code = String::new();
    let mut rest = text;
    while let Some(first) = rest.chars().next() {
        let quote = ["'\"'", "'\\\"'"]
            .into_iter()
            .find(|quote| rest.starts_with(quote));
        let past = if rest.starts_with("//") {
            rest.find('\n').unwrap_or(rest.len())
        } else if rest.starts_with("/*") {
            rest.find("*/").map_or(rest.len(), |end| end + 2)
        } else if let Some(quote) = quote {
            quote.len()
        } else if first == '"' {
            end_of_string(rest)
        } else {
            code.push(first);
            first.len_utf8()
        };
        rest = &rest[past..];
    }
    code
}

#[test]
fn faults_of_layers_are_recognized() {
    let layers = [
        Layer {
            name: "low",
            may_use: "",
            files: "a b",
        },
        Layer {
            name: "high",
            may_use: "low",
            files: "c d",
        },
    ];
    let found = |files: &[&str], uses: &[(&str, &str)]| {
        let files = files.iter().map(|file| (*file).to_owned()).collect();
        let uses: Vec<Use> = uses
            .iter()
            .map(|(file, of)| Use::new(file, "f", of))
            .collect();
        let faults = faults(&layers, &files, &uses, "LAYERS").into_iter();
        faults
            .map(|fault| {
                fault
                    .split([':', ','])
                    .next()
                    .unwrap_or_default()
                    .to_owned()
            })
            .collect::<Vec<_>>()
    };
    assert_eq!(
        found(&["a", "b", "c", "d"], &[("a", "b"), ("c", "a"), ("d", "c")]),
        [""; 0]
    );
    assert_eq!(
        found(&["a", "b", "c", "d"], &[("a", "c")]),
        ["a uses f of c"]
    );
    assert_eq!(
        found(&["a", "b", "c", "e"], &[]),
        ["e is in no layer", "d does not exist"]
    );
}

#[test]
fn comments_and_strings_are_not_code() {
    let text = "a /* b \" */ c // d\ne \"f \\\" // g\" h '\"' i \"\"\"j \" k\"\"\" l";
    assert_eq!(code(text).split_whitespace().collect::<String>(), "acehil");
}
