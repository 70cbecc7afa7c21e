//! The pages of the documentation: none is missing, none is stale, and no link is broken.

use crate::support::repository;
use crate::support::steps::blocks;
use crate::tidy::{PACKAGES, files, relative, sources};
use std::collections::BTreeSet;
use std::fs;
use std::process::Command;

#[test]
fn the_architecture_page_shows_every_module() {
    let page = fs::read_to_string(repository().join("docs/architecture.md")).expect("it is there");
    for package in PACKAGES {
        let folder = format!("`{}/`", package.trim_end_matches("/src"));
        assert!(
            page.contains(&folder),
            "docs/architecture.md does not mention {folder}"
        );
    }
    for source in sources("src") {
        let room = format!("`{}`", source.room);
        assert!(
            page.contains(&room),
            "docs/architecture.md does not mention {room}"
        );
    }
    for entry in fs::read_dir(repository()).expect("it can be read") {
        let entry = entry.expect("it can be read");
        let name = entry.file_name().into_string().expect("a UTF-8 name");
        let is_kept = !name.starts_with('.') && name != "target" && entry.path().is_dir();
        let shown = format!("`{name}/`");
        assert!(
            !is_kept || page.contains(&shown),
            "docs/architecture.md does not mention {shown}"
        );
    }
}

#[test]
fn the_readme_and_the_continuous_build_agree() {
    let readme = fs::read_to_string(repository().join("README.md")).expect("it is there");
    let script = fs::read_to_string(repository().join(".ci/run")).expect("it is there");
    let command = "cargo test --workspace";
    assert!(
        readme.contains(command),
        "README.md does not say how to test"
    );
    assert!(
        script.contains(command),
        ".ci/run does not run what README.md says"
    );
}

/// What a reader types in the block of a shell, without what follows a redirection, a pipe, a comment or `--`.
fn commands_in(text: &str) -> Vec<String> {
    let joined = text.replace("\\\n", " ");
    let lines = joined.lines().map(|line| line.trim_start_matches("$ "));
    let lines = lines.filter(|line| line.starts_with("duologue "));
    let ends = ["|", ">", "<", "#", "&&", "||", "--"];
    let words = lines.map(|line| {
        let words = line.split_whitespace();
        words.take_while(move |word| !ends.contains(word))
    });
    words
        .map(|words| words.collect::<Vec<_>>().join(" "))
        .collect()
}

/// With `--help` at its end, a command whose options exist prints its help, whatever files it names.
#[test]
fn the_commands_of_pages_exist() {
    let mut commands = BTreeSet::new();
    for path in files("docs")
        .into_iter()
        .chain([repository().join("README.md")])
    {
        if path.extension().is_some_and(|ending| ending == "md") && !path.ends_with("cli.md") {
            let page = fs::read_to_string(&path).expect("it can be read");
            let shell = blocks(&page)
                .into_iter()
                .filter(|block| matches!(block.language, "sh" | "console"));
            commands.extend(shell.flat_map(|block| commands_in(block.text)));
        }
    }
    assert!(commands.len() > 30, "{commands:?}");
    for command in commands {
        let mut run = Command::new(env!("CARGO_BIN_EXE_duologue"));
        run.args(command.split(' ').skip(1)).arg("--help");
        let output = run.output().expect("the compiler is built");
        let errors = String::from_utf8_lossy(&output.stderr);
        assert!(output.status.success(), "{command}: {errors}");
    }
}

/// Links to other pages of the repository are not broken.
#[test]
fn links_lead_somewhere() {
    for path in files("") {
        if path.extension().is_none_or(|ending| ending != "md") {
            continue;
        }
        let text = fs::read_to_string(&path).expect("it can be read");
        let mut is_block = false;
        let prose = text.lines().filter(|line| {
            let is_fence = line.trim_start().starts_with("```");
            is_block ^= is_fence;
            !is_block && !is_fence
        });
        let text: String = prose.map(without_code).collect();
        assert!(!is_block, "{}: a block is not closed", relative(&path));
        let folder = path.parent().expect("it is in a folder");
        for link in text
            .split("](")
            .skip(1)
            .filter_map(|rest| rest.split(')').next())
        {
            let file = link.split(['#', ' ']).next().unwrap_or_default();
            let is_local = !file.is_empty() && !file.contains("://");
            let leads = folder.join(file).exists();
            assert!(!is_local || leads, "{} links to {link}", relative(&path));
            let Some((file, heading)) = link.split_once(".md#") else {
                continue;
            };
            if is_local {
                let page = fs::read_to_string(folder.join(format!("{file}.md"))).expect("a page");
                let leads = anchors(&page).any(|anchor| anchor == heading);
                assert!(leads, "{} links to {link}", relative(&path));
            }
        }
    }
}

/// The anchors of a page's headings, as GitHub makes them.
fn anchors(page: &str) -> impl Iterator<Item = String> {
    let headings = page.lines().filter_map(|line| {
        let text = line.trim_start_matches('#');
        line.starts_with('#').then(|| text.strip_prefix(' '))?
    });
    headings.map(|heading| {
        let kept = heading.chars().filter_map(|letter| match letter {
            ' ' => Some('-'),
            '-' | '_' => Some(letter),
            _ => letter
                .is_alphanumeric()
                .then_some(letter.to_ascii_lowercase()),
        });
        kept.collect()
    })
}

/// A line without its code, in which brackets are not those of links.
fn without_code(line: &str) -> String {
    let parts = line.split('`').step_by(2);
    parts.chain(["\n"]).collect()
}

/// Every command and every rule is documented.
#[test]
fn the_documentation_knows_every_command() {
    let page = fs::read_to_string(repository().join("docs/cli.md")).expect("it is there");
    let source = fs::read_to_string(repository().join("cli/src/main.rs")).expect("it is there");
    let list = source
        .split("\ncommands! {")
        .nth(1)
        .expect("there are commands");
    let list = list.split("\n}").next().unwrap_or_default();
    let words = list
        .split('(')
        .filter_map(|text| text.rsplit([' ', '[']).next());
    let commands = words.filter(|word| word.starts_with(char::is_uppercase));
    assert!(
        commands.clone().count() >= 15,
        "the list of commands is read wrongly"
    );
    for variant in commands {
        let name = variant.to_ascii_lowercase();
        let shown = format!("\n## duologue {name}\n");
        assert!(
            page.contains(&shown),
            "docs/cli.md does not mention `{name}`"
        );
    }
}

/// Each limit of the language: the words in the table of `docs/language.md`, the constant that sets it, and its value.
const LIMITS: &[(&str, &str, &str, &str)] = &[
    (
        "characters in a name",
        "src/protocol/limits.rs",
        "NAME: usize = 100;",
        "100",
    ),
    (
        "messages in a state",
        "src/protocol/limits.rs",
        "MESSAGES: usize = 256;",
        "256 ",
    ),
    (
        "values of a message",
        "src/protocol/limits.rs",
        "VALUES: usize = 100;",
        "100 ",
    ),
    (
        "depth of a payload type",
        "src/protocol/limits.rs",
        "TYPE_DEPTH: u32 = 96;",
        "96 ",
    ),
    (
        "where a list counts as 4",
        "src/protocol/limits.rs",
        "LIST_DEPTH: u32 = 4;",
        "96 ",
    ),
    (
        "parts of a type argument",
        "src/protocol/limits.rs",
        "ARGUMENT_PARTS: usize = 128;",
        "128 ",
    ),
    (
        "versions of a protocol's states",
        "src/protocol/limits.rs",
        "MORE_VERSIONS: usize = 10_000;",
        "10,000 ",
    ),
    (
        "nesting of brackets",
        "grammar/src/lib.rs",
        "DEPTH_LIMIT: usize = 64;",
        "64",
    ),
    (
        "rules named in the attributes",
        "src/protocol/limits.rs",
        "LEVELS: usize = 64;",
        "64",
    ),
    (
        "size of a file",
        "src/protocol/limits.rs",
        "FILE_SIZE: usize = 64 << 20;",
        "64 MiB",
    ),
];

#[test]
fn the_table_of_limits_is_complete_and_true() {
    let read = |path: &str| fs::read_to_string(repository().join(path)).expect("it is there");
    let page = read("docs/language.md");
    let section = page.split("\n## Limits\n").nth(1).expect("it has limits");
    let section = section.split("\n## ").next().unwrap_or_default();
    let rows: Vec<&str> = section
        .lines()
        .filter(|line| line.starts_with("| "))
        .collect();
    for (words, file, constant, value) in LIMITS {
        let code = read(file);
        assert!(
            code.contains(&format!("const {constant}")),
            "{file} has no {constant}"
        );
        let mut rows = rows.iter().filter(|row| row.contains(words));
        let row = rows.next().unwrap_or_else(|| panic!("no row for {words}"));
        let cell = row.split('|').nth(2).unwrap_or_default().trim();
        let is_value = cell == value.trim() || cell.starts_with(value);
        assert!(is_value, "{row} should say {value}");
    }
    let described: BTreeSet<&str> = LIMITS.iter().map(|(words, ..)| *words).collect();
    let rows = rows.iter().skip(2);
    let unknown: Vec<_> = rows
        .filter(|row| !described.iter().any(|words| row.contains(words)))
        .collect();
    assert!(unknown.is_empty(), "which constant sets {unknown:?}?");
    let rules = duologue::check::every_rule();
    for rule in rules.filter(|rule| rule.name.starts_with("too-") || rule.name.starts_with("deep-"))
    {
        assert!(section.contains(rule.name), "{} is a limit", rule.name);
    }
}
