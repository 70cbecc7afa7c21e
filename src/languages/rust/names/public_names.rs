//! The names in generated Rust that programs use.

use super::fields;
use super::spelling::{module_name, type_name, value_name};
use crate::languages::Options;
use crate::languages::public_names::{MessageNames, ProtocolNames, PublicNames, StateNames};
use crate::name::Name;
use crate::protocol::{Entry, FileId, Message, Program, Protocol, State};

/// The names of a program, with their paths from the module that includes the generated tree.
pub fn public_names(program: &Program, _: &Options) -> PublicNames {
    let protocol = |declared: &Protocol, file: FileId, name: &Name| {
        let module = package(program, file) + &module_name(name);
        let states = declared.states.iter();
        let states = states.map(|state| Some(of_state(&module, state))).collect();
        ProtocolNames {
            name: module,
            states,
        }
    };
    PublicNames::of_all(program, protocol, |declared| {
        package(program, declared.file) + &type_name(&declared.name)
    })
}

/// The path of the module of a file's package, which ends with `::` unless it is empty.
fn package(program: &Program, file: FileId) -> String {
    let segments = program.file(file).package.iter();
    segments
        .map(|segment| module_name(segment) + "::")
        .collect()
}

fn of_state(module: &str, state: &State) -> StateNames {
    let name = type_name(&state.name);
    let received = format!("{module}::{name}");
    let of_message = |message: &Message| MessageNames {
        send: value_name(&message.name),
        received: format!("{received}::{}", type_name(&message.name)),
        entries: entries(&message.entries),
    };
    StateNames {
        client: format!("{module}::client::{name}"),
        server: format!("{module}::server::{name}"),
        messages: state.messages.iter().map(of_message).collect(),
        receive: state.direction.map(|_| "recv".to_owned()),
        received: state.direction.map(|_| received),
    }
}

/// The fields of a variant, or the parameters of the method if the variant is a tuple.
fn entries(entries: &[Entry]) -> Vec<String> {
    let name: fn(&Entry) -> String = match Entry::are_named(entries) {
        true => fields::of_entry,
        false => |entry| value_name(&entry.name),
    };
    entries.iter().map(name).collect()
}
