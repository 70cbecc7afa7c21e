//! Breaks the long lines of generated code.

use crate::languages::WIDTH;

/// The text with every line of code that is too long broken at its first long list in brackets, one item per line.
///
/// Comments, attributes and calls of macros stay as they are. A comment after code does not count, and stays on the line of `self`, which
/// the compiler shows.
pub fn wrapped(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    for line in text.lines() {
        wrap(line, &mut out);
    }
    out
}

fn wrap(line: &str, out: &mut String) {
    let code = line.trim_start();
    let mut length = line.len();
    let mut list = None;
    if length > WIDTH {
        length = line.find(" // ").unwrap_or(length);
        let is_fixed = code.starts_with("//") || code.starts_with('#') || line.contains("!(");
        list = first_list(line).filter(|_| length > WIDTH && !is_fixed);
    }
    let Some(list) = list else {
        out.push_str(line);
        out.push('\n');
        return;
    };
    let indent = &line[..line.len() - code.len()];
    let mut start = list.open + 1;
    let (head, mut comment) = (line[..start].trim_end(), &line[length..]);
    out.push_str(head);
    if head.contains("(self") {
        out.push_str(std::mem::take(&mut comment));
    }
    out.push('\n');
    for end in list.commas.iter().copied().chain([list.close]) {
        match line[start..end].trim() {
            "" => {}
            "self" => {
                let comment = std::mem::take(&mut comment);
                out.push_str(&format!("{indent}    self,{comment}\n"));
            }
            ".." => wrap(&format!("{indent}    .."), out),
            item => wrap(&format!("{indent}    {item},"), out),
        }
        start = end + 1;
    }
    let rest = &line[list.close..length];
    wrap(&format!("{indent}{rest}{comment}"), out);
}

/// The positions of a list in a line.
struct List {
    open: usize,
    commas: Vec<usize>,
    close: usize,
}

/// The first list of a line that is long and in no other brackets.
fn first_list(line: &str) -> Option<List> {
    const LONG: usize = 20;
    let mut open: Vec<usize> = Vec::new();
    let mut commas = Vec::new();
    let mut is_text = false;
    let mut before = ' ';
    for (at, token) in line.char_indices() {
        match token {
            '"' if before != '\\' => is_text = !is_text,
            _ if is_text => {}
            '/' if line[at..].starts_with("//") => return None,
            '(' | '[' | '{' => open.push(at),
            '<' if !line[at..].starts_with("< ") => open.push(at),
            ',' if open.len() == 1 => commas.push(at),
            '>' if before == '-' || before == '=' || before == ' ' => {}
            ')' | ']' | '}' | '>' => {
                let start = open.pop().filter(|_| open.is_empty());
                if let Some(open) = start.filter(|start| at - start > LONG) {
                    return Some(List {
                        open,
                        commas,
                        close: at,
                    });
                }
                if open.is_empty() {
                    commas.clear();
                }
            }
            _ => {}
        }
        before = token;
    }
    None
}
