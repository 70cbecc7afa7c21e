//! A strict reader of the pages: it accepts only markup in which every element is closed.

use std::collections::BTreeSet;

/// Elements without content.
const VOID: [&str; 8] = [
    "meta", "link", "br", "hr", "img", "input", "wbr", "!DOCTYPE",
];

/// What a page contains.
#[derive(Debug, Default)]
pub struct Page {
    /// The name and the attributes of each element.
    pub elements: Vec<(String, Vec<(String, String)>)>,
    pub ids: BTreeSet<String>,
    /// The levels of its headings.
    pub headings: Vec<usize>,
}

impl Page {
    /// The values of an attribute.
    pub fn values<'p>(&'p self, name: &'p str) -> impl Iterator<Item = &'p str> {
        let all = self.elements.iter().flat_map(|(_, attributes)| attributes);
        all.filter(move |(found, _)| found == name)
            .map(|(_, value)| value.as_str())
    }
}

/// Reads a page.
///
/// # Errors
/// What is wrong with it.
pub fn read(text: &str) -> Result<Page, String> {
    let mut page = Page::default();
    let mut open: Vec<String> = Vec::new();
    let mut rest = text;
    while let Some(at) = rest.find('<') {
        characters(&rest[..at])?;
        rest = &rest[at..];
        if let Some(comment) = rest.strip_prefix("<!--") {
            rest = comment.split_once("-->").ok_or("a comment is open")?.1;
            continue;
        }
        let end = tag_end(rest)?;
        let (tag, after) = (&rest[1..end], &rest[end + 1..]);
        rest = after;
        if let Some(name) = tag.strip_prefix('/') {
            let last = open.pop();
            if last.as_deref() != Some(name) {
                return Err(format!("</{name}> closes {last:?}"));
            }
            continue;
        }
        let is_closed = tag.ends_with('/');
        let (name, attributes) = parts(tag.trim_end_matches('/'))?;
        for (attribute, value) in &attributes {
            if attribute == "id" && !page.ids.insert(value.clone()) {
                return Err(format!("two elements have the id {value}"));
            }
        }
        if let Some(level) = name.strip_prefix('h').and_then(|level| level.parse().ok()) {
            page.headings.push(level);
        }
        if name == "script" {
            let (script, after) = rest.split_once("</script>").ok_or("a script is open")?;
            if script.contains('<') {
                return Err("a script contains <".to_owned());
            }
            rest = after;
        } else if !is_closed && !VOID.contains(&name.as_str()) {
            open.push(name.clone());
        }
        page.elements.push((name, attributes));
    }
    characters(rest)?;
    match open.is_empty() {
        true => Ok(page),
        false => Err(format!("{open:?} are open")),
    }
}

/// Text has no `>` alone, and every `&` begins an entity.
fn characters(text: &str) -> Result<(), String> {
    for part in text.split('&').skip(1) {
        let entity = part.split_once(';').map(|(entity, _)| entity);
        let known = ["amp", "lt", "gt", "quot"];
        let is_number = |entity: &str| {
            let digits = entity.strip_prefix('#').unwrap_or_default();
            !digits.is_empty() && digits.bytes().all(|digit| digit.is_ascii_digit())
        };
        if !entity.is_some_and(|entity| known.contains(&entity) || is_number(entity)) {
            return Err(format!("& begins no entity: {part}"));
        }
    }
    match text.contains('>') {
        true => Err(format!("> is alone in {text}")),
        false => Ok(()),
    }
}

/// The end of the tag at the start of a text, outside quotes.
fn tag_end(text: &str) -> Result<usize, String> {
    let mut is_quoted = false;
    for (at, letter) in text.char_indices() {
        match letter {
            '"' => is_quoted = !is_quoted,
            '>' if !is_quoted => return Ok(at),
            _ => {}
        }
    }
    Err("a tag is open".to_owned())
}

type Attributes = Vec<(String, String)>;

fn parts(tag: &str) -> Result<(String, Attributes), String> {
    let (name, mut rest) = tag.split_once(' ').unwrap_or((tag, ""));
    let mut attributes = Vec::new();
    while !rest.trim().is_empty() {
        rest = rest.trim_start();
        let end = rest.find(['=', ' ']).unwrap_or(rest.len());
        let attribute = rest[..end].to_owned();
        rest = &rest[end..];
        let mut value = String::new();
        if let Some(quoted) = rest.strip_prefix("=\"") {
            let (inside, after) = quoted.split_once('"').ok_or("a quote is open")?;
            characters(inside)?;
            value = inside.to_owned();
            rest = after;
        } else if let Some(plain) = rest.strip_prefix('=') {
            let end = plain.find(' ').unwrap_or(plain.len());
            value = plain[..end].to_owned();
            rest = &plain[end..];
        }
        attributes.push((attribute, value));
    }
    Ok((name.to_owned(), attributes))
}

#[test]
fn broken_pages_are_found() {
    let broken = [
        "<p>",
        "</p>",
        "<p><b></p></b>",
        "<p id=\"a\"></p><p id=\"a\"></p>",
        "a & b",
        "a > b",
        "<a href=\"&x\"></a>",
        "<script>a < b</script>",
        "<!-- ",
    ];
    for text in broken {
        assert!(read(text).is_err(), "{text}");
    }
    let page =
        read("<!DOCTYPE html><p id=\"a\" hidden class=x>a &amp; b<br></p>").expect("it is good");
    assert_eq!(page.values("id").collect::<Vec<_>>(), ["a"]);
    assert_eq!(page.values("class").collect::<Vec<_>>(), ["x"]);
}
