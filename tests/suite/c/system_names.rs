//! No generated name is one that a header of the system declares or defines, in whatever order they are included.

use super::generate_with;
use crate::support::c::{Compiler, files_in, scratch};
use crate::support::{repository, succeed};
use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;
use std::process::Command;

/// The headers of `libc6-dev` that every processor has and a C compiler accepts, as in `#include <...>`. Where that is not a package,
/// those in some folders.
fn headers() -> Vec<String> {
    let listed = match Command::new("dpkg").args(["-L", "libc6-dev"]).output() {
        Ok(said) if said.status.success() => {
            String::from_utf8(said.stdout).expect("paths are text")
        }
        Ok(_) | Err(_) => {
            let folders =
                ["arpa", "net", "netinet", "sys"].map(|name| Path::new("/usr/include").join(name));
            let files = folders.iter().flat_map(|folder| files_in(folder, "h"));
            files.map(|file| format!("{}\n", file.display())).collect()
        }
    };
    let headers = listed.lines().filter_map(|line| {
        let path = line.strip_prefix("/usr/include/")?.strip_suffix(".h")?;
        // Folders of a processor, such as `x86_64-linux-gnu`, are searched, too.
        let is_of_processor = path.split('/').next()?.contains("-linux-");
        let path = if is_of_processor {
            path.split_once('/')?.1
        } else {
            path
        };
        let is_internal = path
            .split('/')
            .any(|part| part == "bits" || part.starts_with("lib-names-"));
        let is_refused =
            path.starts_with("finclude/") || ["regexp", "sys/elf", "sys/vm86"].contains(&path);
        (!is_internal && !is_refused).then(|| format!("{path}.h"))
    });
    let headers: Vec<String> = headers.collect();
    assert!(headers.len() > 50, "only {headers:?} are installed");
    headers
}

fn included(headers: &[String]) -> String {
    headers
        .iter()
        .map(|header| format!("#include <{header}>\n"))
        .collect()
}

/// What headers declare and define: whether each name is a macro without parameters.
#[derive(Default)]
struct Names(BTreeMap<String, bool>);

impl Names {
    fn add(&mut self, name: &str, is_object: bool) {
        *self.0.entry(name.to_owned()).or_default() |= is_object;
    }

    /// Reads what `gcc -E -dD -P` has written.
    fn read(&mut self, text: &str) {
        let mut code = String::new();
        for line in text.lines() {
            match line.strip_prefix("#define ") {
                Some(rest) => {
                    let end = rest.find(|c: char| !c.is_ascii_alphanumeric() && c != '_');
                    let end = end.unwrap_or(rest.len());
                    self.add(&rest[..end], !rest[end..].starts_with('('));
                }
                None if line.starts_with('#') => {}
                None => code = code + line + "\n",
            }
        }
        self.read_declarations(&tokens(&code));
    }

    /// Adds every word outside of braces and parentheses, which include all names that are declared there; the names in
    /// declarators such as `(*name)`; and the constants of enums.
    fn read_declarations(&mut self, tokens: &[&str]) {
        let (mut braces, mut depth, mut at) = (Vec::new(), 0, 0);
        while at < tokens.len() {
            match tokens[at] {
                "__attribute__" | "__asm__" | "__typeof__" => at = end_of_group(tokens, at + 1),
                "{" => braces.push(tokens[at.saturating_sub(2)..at].contains(&"enum")),
                "}" => drop(braces.pop()),
                "(" => {
                    depth += 1;
                    let pointed = tokens[at + 1..]
                        .iter()
                        .find(|token| **token != "*")
                        .copied();
                    if braces.is_empty() && depth == 1 && tokens.get(at + 1) == Some(&"*") {
                        self.add(pointed.unwrap_or_default(), false);
                    }
                }
                ")" => depth -= 1,
                word if braces.is_empty() && depth == 0 => self.add(word, false),
                word if braces.last() == Some(&true) && ["{", ","].contains(&tokens[at - 1]) => {
                    self.add(word, false)
                }
                _ => {}
            }
            at += 1;
        }
    }
}

fn is_of_word(c: char) -> bool {
    c.is_ascii_alphanumeric() || c == '_'
}

fn tokens(code: &str) -> Vec<&str> {
    let mut tokens = Vec::new();
    let mut rest = code.trim_start();
    while let Some(first) = rest.chars().next() {
        let end = match first {
            '"' | '\'' => rest[1..].find(first).map_or(rest.len(), |end| end + 2),
            _ if is_of_word(first) => rest.find(|c| !is_of_word(c)).unwrap_or(rest.len()),
            _ => first.len_utf8(),
        };
        tokens.push(&rest[..end]);
        rest = rest[end..].trim_start();
    }
    tokens
}

/// The last token of a group in parentheses, which may begin after a word.
fn end_of_group(tokens: &[&str], mut at: usize) -> usize {
    let mut depth = 0;
    loop {
        match tokens.get(at) {
            Some(&"(") => depth += 1,
            Some(&")") if depth == 1 => return at,
            Some(&")") => depth -= 1,
            Some(_) => {}
            None => return at,
        }
        at += 1;
    }
}

/// The names of all headers in both orders, with and without the extensions of GNU.
fn names_of(headers: &[String]) -> Names {
    let folder = scratch("system-names-read");
    let backwards: Vec<String> = headers.iter().rev().cloned().collect();
    let mut names = Names::default();
    for (order, headers) in [headers, &backwards].into_iter().enumerate() {
        let source = folder.join(format!("{order}.c"));
        std::fs::write(&source, included(headers)).expect("it can be written");
        for extensions in ["-DNONE", "-D_GNU_SOURCE"] {
            let mut gcc = Command::new("gcc");
            let read = succeed(gcc.args(["-E", "-dD", "-P", extensions]).arg(&source));
            names.read(&read.unwrap_or_else(|complaint| panic!("{complaint}")));
        }
    }
    names
}

/// Whether the words of a protocol could be spelled like this in C: either all in upper case or all in lower case.
fn is_possible(name: &str) -> bool {
    let is_one_case = name == name.to_ascii_lowercase() || name == name.to_ascii_uppercase();
    let begins = name.starts_with(|c: char| c.is_ascii_alphabetic());
    begins && is_one_case && !name.ends_with('_') && name.chars().all(is_of_word)
}

/// The lines of the compiler's list.
fn listed() -> BTreeMap<String, BTreeSet<String>> {
    let path = repository().join("src/languages/c/names/system_names.txt");
    let text = std::fs::read_to_string(path).expect("the list is there");
    let lines = text.lines().filter_map(|line| line.split_once(": "));
    let words = |words: &str| words.split(' ').map(str::to_owned).collect();
    lines
        .map(|(line, all)| (line.to_owned(), words(all)))
        .collect()
}

/// With `UPDATE_DOCS=1` in the environment, adds what the installed headers have to the compiler's list.
#[test]
fn the_list_has_all_names_of_all_headers() {
    let headers = headers();
    let mut wanted: Vec<(String, String)> = Vec::new();
    for (name, is_object) in names_of(&headers).0 {
        if !is_possible(&name) {
            continue;
        }
        // `settle.rs` and `names.rs` rely on this.
        assert!(
            !["_client_", "_server_", "_robot_"]
                .iter()
                .any(|word| name.contains(word)),
            "{name}"
        );
        if is_object && name == name.to_ascii_lowercase() {
            wanted.push((String::new(), name.clone()));
        }
        if let Some((line, word)) = name.rsplit_once('_') {
            wanted.push((line.to_owned(), word.to_owned()));
        }
    }
    let files = headers
        .iter()
        .filter_map(|header| header.strip_suffix(".h"));
    let files = files.filter(|file| is_possible(file));
    wanted.extend(files.map(|file| (".h".to_owned(), file.to_owned())));
    let mut list = listed();
    wanted.retain(|(line, word)| list.entry(line.clone()).or_default().insert(word.clone()));
    if std::env::var_os("UPDATE_DOCS").is_some() {
        let words = |words: BTreeSet<String>| words.into_iter().collect::<Vec<_>>().join(" ");
        let lines = list
            .into_iter()
            .map(|(line, all)| format!("{line}: {}\n", words(all)));
        let path = repository().join("src/languages/c/names/system_names.txt");
        std::fs::write(path, lines.collect::<String>()).expect("it can be written");
        wanted.clear();
    }
    assert!(
        wanted.is_empty(),
        "run this test with UPDATE_DOCS=1 to add {wanted:?}"
    );
}

/// Words of a protocol, without those that would be spelled alike in some language.
#[derive(Default)]
struct Words(BTreeSet<String>);

impl Words {
    fn takes(&mut self, word: &str) -> bool {
        self.0.insert(word.replace('_', ""))
    }
}

/// A declaration for each name of the list that a protocol could lead to: a variant for each constant, a struct for each type, a
/// protocol for each function that initializes something, and a member for each macro.
fn hostile() -> String {
    let mut enums = BTreeMap::<String, (Vec<String>, Words)>::new();
    let (mut others, mut fields) = (String::new(), Words::default());
    let mut types = Words::default();
    for builtin in ["bool", "int", "uint", "float"] {
        types.takes(builtin);
    }
    let list = listed();
    let lines = list.iter();
    let lines = lines.filter(|(line, _)| {
        line.starts_with(|c: char| c.is_ascii_alphabetic()) && !line.starts_with("DUO")
    });
    for (line, word) in lines.flat_map(|(line, words)| words.iter().map(move |word| (line, word))) {
        let name = format!("{line}_{word}").to_ascii_lowercase();
        if *line != line.to_ascii_uppercase() {
            match word.as_str() {
                "t" | "text" | "copy" | "take" if types.takes(line) => {
                    others += &format!("struct {line} {{ a: u8 }}\n")
                }
                "init" => others += &format!("proto! {line} {{ s:send {{ m -> ! }} }}\n"),
                _ => {}
            }
            continue;
        }
        // Both parts have to begin with a letter.
        let mut places = name
            .rmatch_indices('_')
            .map(|(at, _)| (&name[..at], &name[at + 1..]));
        let parts = places.find(|(line, word)| {
            word.starts_with(|c: char| c.is_ascii_alphabetic()) && !line.ends_with('_')
        });
        let Some((line, word)) = parts else { continue };
        if !enums.contains_key(line) && !types.takes(line) {
            continue;
        }
        let (variants, words) = enums.entry(line.to_owned()).or_default();
        if words.takes(word) {
            variants.push(word.to_owned());
        }
    }
    let mut text = String::from("//! Each name that a header of the system has.\n");
    for (name, (variants, _)) in &enums {
        text += &format!("enum {name} {{ {} }}\n", variants.join(", "));
    }
    let members: Vec<&String> = list[""]
        .iter()
        .filter(|member| fields.takes(member))
        .collect();
    for (number, members) in members.chunks(90).enumerate() {
        let members: Vec<String> = members
            .iter()
            .map(|member| format!("{member}: u8"))
            .collect();
        text += &format!("struct members{number} {{ {} }}\n", members.join(", "));
    }
    text + &others
}

#[test]
fn headers_compile_with_those_of_the_system() {
    let folder = scratch("system-names-all");
    let proto = folder.join("all.proto");
    std::fs::write(&proto, hostile()).expect("it can be written");
    let options = ["--c-shm", "--c-events", "--robots"];
    let generated = generate_with("system-names", &[proto], &options);
    let own = files_in(&generated, "h").into_iter();
    let own: String = own
        .map(|header| format!("#include \"{}\"\n", header.display()))
        .collect();
    let system = included(&headers());
    for (name, text, extensions) in [
        ("after.c", system.clone() + &own, "-D_GNU_SOURCE"),
        ("before.c", own.clone() + &system, "-DNONE"),
        ("after.cpp", system + &own, "-D_GNU_SOURCE"),
    ] {
        let source = folder.join(name);
        std::fs::write(&source, text + "extern int end;\n").expect("it can be written");
        let mut compile = Compiler::Gcc.strict(name.ends_with("cpp"));
        compile
            .args(["-fsyntax-only", extensions, "-I"])
            .arg(repository().join("runtime/c/include"));
        succeed(compile.arg("-I").arg(&generated).arg(&source))
            .unwrap_or_else(|complaint| panic!("{complaint}"));
    }
}
