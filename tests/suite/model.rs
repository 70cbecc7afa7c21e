//! The model of a program as JSON: it keeps to the committed schema, the schema only grows, and what the model says is so.

use crate::support::program::Scratch;
use crate::support::repository;
use crate::support::rust::{Checked, GROUPS, checked_with_sources, protocols_in};
use crate::support::schema::violations;
use duologue::languages::public_names::ProtocolNames;
use duologue::languages::{self, Options, Target};
use duologue::protocol::{ProtocolId, StateId};
use duologue_reports::model::{Model, SCHEMA};
use serde_json::{Map, Value, json};
use std::collections::BTreeSet;
use std::fs;

fn groups() -> impl Iterator<Item = (&'static str, Checked)> {
    let groups = GROUPS.into_iter().chain(["tests/events"]);
    groups.map(|group| (group, checked_with_sources(&protocols_in(group))))
}

fn model(checked: &Checked) -> Value {
    let options = Options::default();
    let model = Model::of(&checked.program, &checked.sources, &options);
    serde_json::from_str(&model.pretty()).expect("it is JSON")
}

fn schema() -> Value {
    serde_json::from_str(SCHEMA).expect("the schema is JSON")
}

/// The definitions of the schema.
fn definitions(schema: &mut Value) -> &mut Map<String, Value> {
    schema["$defs"].as_object_mut().expect("definitions")
}

/// In the committed schema objects may have more properties, because versions to come add some. Here they may not, so that every
/// property is described.
fn closed() -> Value {
    let mut schema = schema();
    for definition in definitions(&mut schema).values_mut() {
        let definition = definition.as_object_mut().expect("an object");
        if definition.contains_key("properties") {
            definition.insert("additionalProperties".to_owned(), json!(false));
        }
    }
    schema
}

#[test]
fn models_keep_to_the_schema() {
    let schema = closed();
    assert_eq!(violations(&schema, &json!({ "version": 0 })).len(), 2);
    let mut protocols = 0;
    for (group, checked) in groups() {
        let model = model(&checked);
        assert_eq!(violations(&schema, &model), [""; 0], "{group}");
        protocols += model["protocols"].as_array().expect("a list").len();
    }
    assert!(protocols > 100, "only {protocols} protocols were found");
}

/// Every property of every definition, required or not, and the values that are allowed where they are listed.
fn promises() -> BTreeSet<String> {
    let mut promises = BTreeSet::new();
    for (name, definition) in definitions(&mut schema()).iter() {
        let required = definition["required"].as_array();
        for property in required.into_iter().flatten() {
            let property = property.as_str().expect("a name");
            promises.insert(format!("{name}.{property} is always there"));
        }
        let properties = definition["properties"].as_object();
        for (property, of) in properties.into_iter().flatten() {
            promises.insert(format!("{name} may have {property}"));
            for value in of["enum"].as_array().into_iter().flatten() {
                promises.insert(format!("{name}.{property} may be {value}"));
            }
        }
    }
    promises
}

/// A program that reads version 1 relies on every line of the list. A line may be added with a property, and none is removed or
/// changed without a new version.
#[test]
fn the_schema_only_grows() {
    let path = repository().join("tests/model/version-1.txt");
    let list = fs::read_to_string(&path).expect("the list can be read");
    let listed: BTreeSet<String> = list.lines().map(str::to_owned).collect();
    let promises = promises();
    let broken: Vec<_> = listed.difference(&promises).collect();
    assert!(
        broken.is_empty(),
        "the schema no longer says this of version 1: {broken:#?}"
    );
    let new: Vec<_> = promises.difference(&listed).cloned().collect();
    assert!(
        new.is_empty(),
        "add these lines to {}, which is sorted:\n{}",
        path.display(),
        new.join("\n")
    );
}

#[test]
fn the_schema_is_printed() {
    let scratch = Scratch::new("model-schema");
    let printed = scratch.transcript("model --schema");
    assert_eq!(
        printed,
        format!("$ duologue model --schema\n{SCHEMA}--- exit 0 ---\n")
    );
}

/// Follows the ways of each state, and finds that they are dialogues of the stated length which lead where they should.
#[test]
fn ways_lead_here_and_out() {
    let mut longest = 0;
    for (group, checked) in groups() {
        let model = model(&checked);
        for protocol in model["protocols"].as_array().expect("a list") {
            let states = protocol["states"].as_array().expect("a list");
            for (index, state) in states.iter().enumerate() {
                let place = format!("{group}: {}, {}", protocol["name"], state["name"]);
                assert_eq!(
                    state["is_reachable"],
                    json!(!state["here"].is_null()),
                    "{place}"
                );
                let number = |value: &Value| {
                    usize::try_from(value.as_u64().expect("a number")).expect("small")
                };
                let mut at = index;
                let mut rest = state["here"]["length"].as_u64();
                while let Some(step) = states[at]["here"]["last"].as_object() {
                    let from = number(&step["state"]);
                    let message = &states[from]["messages"][number(&step["message"])];
                    assert_eq!(number(&message["next"]["state"]), at, "{place}");
                    at = from;
                    rest = rest.and_then(|rest| rest.checked_sub(1));
                    assert_eq!(states[at]["here"]["length"].as_u64(), rest, "{place}");
                    longest += 1;
                }
                if !state["here"].is_null() {
                    assert_eq!((at, rest), (0, Some(0)), "{place}");
                }
                let mut at = index;
                let mut rest = state["out"]["length"].as_u64();
                while let Some(first) = states[at]["out"]["first"].as_u64() {
                    rest = rest.and_then(|rest| rest.checked_sub(1));
                    let message = &states[at]["messages"][usize::try_from(first).expect("small")];
                    if message["next"].is_null() {
                        break;
                    }
                    at = number(&message["next"]["state"]);
                    assert_eq!(states[at]["out"]["length"].as_u64(), rest, "{place}");
                }
                if !state["out"].is_null() {
                    assert_eq!(rest, Some(0), "{place}");
                }
            }
        }
    }
    assert!(longest > 500, "only {longest} steps were followed");
}

/// The names that a generated file declares, each with the path of what is around it, which the indentation shows. In C, where all names
/// are in one scope, every word of the file.
fn declared(target: Target, path: &str, text: &str) -> BTreeSet<(String, String)> {
    let is_part = |letter: char| letter.is_alphanumeric() || "_$".contains(letter);
    if target == Target::C {
        let words = text.split(|letter| !is_part(letter));
        return words.map(|word| (String::new(), word.to_owned())).collect();
    }
    let is_rust = target == Target::Rust;
    let separator = if is_rust { "::" } else { "." };
    let (folder, file) = path.rsplit_once('/').unwrap_or(("", path));
    let mut around: Vec<(usize, bool, String)> = Vec::new();
    // An object of Scala names itself in its file.
    let module = file.strip_suffix(".rs").filter(|name| *name != "mod");
    let folders = folder.split('/').filter(|part| !part.is_empty());
    let outer: Vec<&str> = folders.chain(module).collect();
    let mut found = BTreeSet::new();
    let mut lines = text.lines();
    while let Some(line) = lines.next() {
        let code = line.trim_start();
        let indent = line.len() - code.len();
        let goes_on = code.starts_with(['/', '*', ')', '>', ']', '{', '#', '@']);
        if code.is_empty() || goes_on || code.starts_with("where") {
            continue;
        }
        around.retain(|(outer, ..)| *outer < indent);
        let is_variant = around.last().is_some_and(|(_, is_enum, _)| *is_enum);
        let mut head = code.to_owned();
        if let Some(mut rest) = code.strip_prefix("impl").map(str::to_owned) {
            // What is after the parameters, which may take several lines.
            let name = |rest: &str| {
                let mut depth = 0;
                let at = rest.find(|letter: char| {
                    depth += i32::from(letter == '<') - i32::from(letter == '>');
                    depth == 0 && letter.is_alphabetic()
                });
                at.map(|at| format!("impl {}", &rest[at..]))
            };
            while name(&rest).is_none()
                && let Some(line) = lines.next()
            {
                rest += line;
            }
            head = name(&rest).unwrap_or_default();
        }
        let mut words = head.split([' ', '(', '<', '{', ',', ':', '[', ';']);
        let kinds = [
            "impl", "mod", "struct", "enum", "trait", "type", "fn", "class", "object", "def", "val",
        ];
        let first = words.clone().next().unwrap_or_default();
        let kind = words.find(|word| kinds.contains(word));
        let name = match kind {
            Some(_) => words.find(|word| !word.is_empty()),
            None => Some(first).filter(|_| is_variant),
        };
        let Some(name) = name else { continue };
        let name = name.trim_start_matches("r#").trim_matches('`').to_owned();
        let parts = outer.iter().copied();
        let place = parts.chain(around.iter().map(|(.., name)| name.as_str()));
        let place = place.collect::<Vec<_>>().join(separator);
        found.insert((place, name.clone()));
        around.push((indent, is_rust && kind == Some("enum"), name));
    }
    found
}

/// What the model calls things is what generated code declares, in the place that the model says.
#[test]
fn names_are_those_of_generated_code() {
    let mut count = 0;
    for (group, checked) in groups() {
        let program = checked.program.program();
        for target in Target::ALL {
            let files = languages::generate(&checked.program, target, &Options::default()).files;
            let files = files.iter();
            let declared = files.flat_map(|file| declared(target, &file.path, &file.text));
            let declared: BTreeSet<_> = declared.collect();
            let mut is_declared = |place: &str, name: &str| {
                let plain = |text: &str| text.replace("r#", "").replace('`', "");
                let is_there = declared.contains(&(plain(place), plain(name)));
                assert!(is_there, "{group}, {target:?}: `{name}` in `{place}`");
                count += 1;
            };
            let names = languages::public_names(program, target, &Options::default());
            for (index, of) in names.protocols.iter().enumerate() {
                let protocol = program.protocol(ProtocolId::new(index));
                assert!(of.is_some() || protocol.is_generic() && target == Target::C);
                for state in of.iter().flat_map(|of| state_names(protocol, of)) {
                    let (active, types, messages) = state;
                    for full in types {
                        let (place, name) = split(&full, target);
                        is_declared(place, name);
                    }
                    for (send, received) in messages {
                        let (place, name) = split(&received, target);
                        is_declared(place, name);
                        let place = if target == Target::C { "" } else { &active };
                        is_declared(place, &send);
                    }
                }
            }
        }
    }
    assert!(count > 3_000, "only {count} names were compared");
}

/// The active side's endpoint, the types, and for each message how it is sent and recognized.
type OfState = (String, Vec<String>, Vec<(String, String)>);

fn state_names(protocol: &duologue::protocol::Protocol, names: &ProtocolNames) -> Vec<OfState> {
    let states = names.states.iter().enumerate();
    let states = states.filter_map(|(index, names)| {
        let names = names.as_ref()?;
        let active = match protocol.state(StateId::new(index)).active_side() {
            Some(duologue::protocol::Side::Server) => &names.server,
            Some(duologue::protocol::Side::Client) | None => &names.client,
        };
        let types = [&names.client, &names.server].into_iter();
        let messages = names.messages.iter();
        Some((
            active.clone(),
            types.chain(&names.received).cloned().collect(),
            messages
                .map(|names| (names.send.clone(), names.received.clone()))
                .collect(),
        ))
    });
    states.collect()
}

/// The place and the name of a path.
fn split(path: &str, target: Target) -> (&str, &str) {
    let separator = if target == Target::Rust { "::" } else { "." };
    path.rsplit_once(separator).unwrap_or(("", path))
}
