//! The names in generated Rust that programs use.

use super::fields;
use super::spelling::{module_name, type_name, value_name};
use crate::name::Name;
use crate::protocol::{Entry, FileId, Message, Program, Protocol, State};
use crate::target::Options;
use crate::target::public_names::{MessageNames, ProtocolNames, PublicNames, StateNames, of_types};

/// The names of a program, with their paths from the module that includes the generated tree.
pub fn public_names(program: &Program, _: &Options) -> PublicNames {
    let protocol = |declared: &Protocol, file: FileId, name: &Name| {
        let module = package(program, file) + &module_name(name);
        let states = declared.states.iter();
        let states = states.map(|state| Some(of_state(&module, state))).collect();
        Some(ProtocolNames {
            name: module,
            states,
        })
    };
    let protocols = program.protocols.iter();
    let instances = program.instances.iter();
    PublicNames {
        protocols: protocols
            .map(|declared| protocol(declared, declared.file, &declared.name))
            .collect(),
        instances: instances
            .map(|instance| {
                let declared = program.protocol(instance.protocol);
                protocol(declared, instance.file, &instance.name)
            })
            .collect(),
        types: of_types(program, |declared| {
            package(program, declared.file) + &type_name(&declared.name)
        }),
    }
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
    match fields::of_message(entries) {
        Some(mut fields) => {
            fields.truncate(entries.len());
            fields
        }
        None => entries
            .iter()
            .map(|entry| value_name(&entry.name))
            .collect(),
    }
}
