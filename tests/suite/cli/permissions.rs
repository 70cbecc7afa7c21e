//! `duologue nats-permissions`: what it prints, and what it rejects. That this is what programs need is in `suite/brokers.rs`.

use crate::support::program::Scratch;
use crate::support::repository;
use std::fs;

fn scratch(name: &str) -> Scratch {
    let versions = repository().join("tests/wire/versions.proto");
    let versions = fs::read_to_string(versions).expect("it is there");
    Scratch::with(name, &[("versions.proto", &versions)])
}

/// The subjects of a kind that the output lists for a user.
fn subjects(output: &str, user: &str, kind: &str) -> Vec<String> {
    let of_user = output.split(&format!("user: \"{user}\"")).nth(1);
    let of_user = of_user.unwrap_or_else(|| panic!("no user `{user}` in {output}"));
    let list = of_user.split(&format!("{kind}: [")).nth(1);
    let list = list.unwrap_or_else(|| panic!("no list `{kind}` in {output}"));
    let list = list.split(']').next().unwrap_or_default();
    list.lines()
        .map(|line| line.trim().trim_matches('"').to_owned())
        .filter(|line| !line.is_empty())
        .collect()
}

/// The older version is for servers alone, because only servers of `second` accept it.
#[test]
fn users_get_their_versions() {
    let scratch = scratch("nats-permissions");
    let output = scratch.transcript("nats-permissions versions.proto#second");
    let all = scratch.transcript("fingerprint versions.proto");
    let mut lines = all.lines();
    let own = lines.find_map(|line| line.strip_prefix("versions.second "));
    let own = own.unwrap_or_else(|| panic!("{all}"));
    let old = "ad0a8e4e0f4e9c72f54783959bd2d2fd";
    assert_eq!(subjects(&output, "server", "publish"), ["duo.at.>"]);
    assert_eq!(
        subjects(&output, "server", "subscribe"),
        [
            "duo.at.server.>".to_owned(),
            format!("duo.second.{own} duo"),
            format!("duo.second.{old} duo"),
            format!("duo.second.full-{own} duo"),
            format!("duo.second.full-{old} duo"),
        ]
    );
    assert_eq!(
        subjects(&output, "client", "publish"),
        [
            "duo.at.>".to_owned(),
            format!("duo.second.{own}"),
            format!("duo.second.full-{own}"),
        ]
    );
    assert_eq!(
        subjects(&output, "client", "subscribe"),
        ["duo.at.client.>"]
    );
    assert!(output.contains("password: $SERVER_PASSWORD"), "{output}");
}

/// Only servers answer requests, and only those with their name.
#[test]
fn servers_may_be_discoverable() {
    let scratch = scratch("nats-discoverable");
    let command = "nats-permissions versions.proto#numbers --name shop.numbers --any-version";
    let output = scratch.transcript(&format!("{command} --discoverable"));
    assert_eq!(
        subjects(&output, "server", "subscribe")[2..],
        ["$SRV.*", "$SRV.*.shop_numbers", "$SRV.*.shop_numbers.*"]
    );
    assert_eq!(
        output.matches("allow_responses: true").count(),
        1,
        "{output}"
    );
    let client = output
        .split("user: \"client\"")
        .nth(1)
        .expect("it is there");
    assert!(!client.contains("allow_responses"), "{output}");
    assert!(!client.contains("$SRV"), "{output}");
    let without = scratch.transcript(command);
    assert!(!without.contains("$SRV") && !without.contains("allow_responses"));
}

#[test]
fn names_and_users_are_those_of_the_installation() {
    let scratch = scratch("nats-users");
    let output = scratch.transcript(
        "nats-permissions versions.proto#numbers --name shop.numbers --any-version --server desk-1 --client web --client phone",
    );
    assert_eq!(
        subjects(&output, "desk-1", "subscribe"),
        ["duo.at.desk-1.>", "duo.shop.numbers.* duo"]
    );
    for user in ["web", "phone"] {
        assert_eq!(
            subjects(&output, user, "publish"),
            ["duo.at.>", "duo.shop.numbers.*"]
        );
    }
    assert!(output.contains("password: $DESK_1_PASSWORD"), "{output}");
    assert!(!output.contains("\"server\""), "{output}");
}

#[test]
fn what_cannot_be_part_of_a_subject_is_rejected() {
    let scratch = scratch("nats-rejected");
    for (arguments, reason) in [
        ("versions.proto", "say which"),
        ("versions.proto#stream", "type parameters"),
        ("versions.proto#first --name at.home", "are for processes"),
        ("versions.proto#first --name a..b", "at most 128 letters"),
        ("versions.proto#first --client a*b", "at most 128 letters"),
        ("versions.proto#first --client 1st", "begins with a letter"),
        ("versions.proto#first --client server", "use two names"),
    ] {
        let answer = scratch.transcript(&format!("nats-permissions {arguments}"));
        assert!(answer.contains(reason), "{arguments}: {answer}");
        assert!(answer.contains("--- exit 2 ---"), "{arguments}: {answer}");
    }
}
