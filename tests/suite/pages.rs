//! The pages of the documentation: none is missing, none is stale, and their links lead somewhere.

use crate::support::repository;
use crate::tidy::{files, relative, sources};
use std::collections::BTreeSet;
use std::fs;

#[test]
fn each_rule_has_a_page_and_a_fixture() {
    let names: BTreeSet<String> = duologue::check::RULES
        .iter()
        .map(|rule| rule.name.to_owned())
        .collect();
    let pages = files("docs/rules").into_iter();
    let pages: BTreeSet<String> = pages
        .filter_map(|page| Some(page.file_stem()?.to_str()?.to_owned()))
        .collect();
    let all = duologue::check::every_rule().map(|rule| rule.name.to_owned());
    let all: BTreeSet<String> = all.collect();
    assert_eq!(pages, all, "docs/rules against the rules");
    let fixtures = fs::read_dir(repository().join("tests/fail")).expect("the fixtures are there");
    let fixtures = fixtures.map(|entry| entry.expect("it can be read").file_name());
    let fixtures: BTreeSet<String> = fixtures
        .filter_map(|name| name.into_string().ok())
        .collect();
    let missing: Vec<_> = names.difference(&fixtures).collect();
    assert!(
        missing.is_empty(),
        "no fixture in tests/fail for {missing:?}"
    );
    for rule in duologue::check::every_rule() {
        let title = format!("# {}\n", rule.name);
        assert!(rule.page.starts_with(&title), "the page of {}", rule.name);
    }
}

#[test]
fn the_architecture_page_shows_every_room() {
    let page = fs::read_to_string(repository().join("docs/architecture.md")).expect("it is there");
    for source in sources() {
        let room = format!("`{}`", source.room);
        assert!(
            page.contains(&room),
            "docs/architecture.md does not mention {room}"
        );
    }
    for entry in fs::read_dir(repository()).expect("it can be read") {
        let entry = entry.expect("it can be read");
        let name = entry.file_name().into_string().expect("a plain name");
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

/// Links to other pages of the repository lead somewhere.
#[test]
fn links_lead_somewhere() {
    for path in files("") {
        if path.extension().is_none_or(|ending| ending != "md") {
            continue;
        }
        let text = fs::read_to_string(&path).expect("it can be read");
        let folder = path.parent().expect("it lies in a folder");
        for link in text
            .split("](")
            .skip(1)
            .filter_map(|rest| rest.split(')').next())
        {
            let file = link.split(['#', ' ']).next().unwrap_or_default();
            let is_local = !file.is_empty() && !file.contains("://");
            let leads = folder.join(file).exists();
            assert!(!is_local || leads, "{} links to {link}", relative(&path));
        }
    }
}

/// Every command and every rule is told of in the documentation.
#[test]
fn the_documentation_knows_every_command() {
    let page = fs::read_to_string(repository().join("docs/cli.md")).expect("it is there");
    let source = fs::read_to_string(repository().join("src/cli/mod.rs")).expect("it is there");
    let list = source
        .split("enum Command {")
        .nth(1)
        .expect("there are commands");
    let list = list.split("\n}").next().unwrap_or_default();
    let commands = list.lines().filter(|line| line.ends_with("),"));
    assert!(
        commands.clone().count() >= 6,
        "the list of commands is read wrongly"
    );
    for line in commands {
        let name = line
            .trim()
            .split('(')
            .next()
            .unwrap_or_default()
            .to_lowercase();
        let shown = format!("\n## duologue {name}\n");
        assert!(page.contains(&shown), "docs/cli.md does not know `{name}`");
    }
}
