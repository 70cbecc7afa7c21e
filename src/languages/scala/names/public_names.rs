//! The names in generated Scala that programs use.

use super::object_scope::package;
use super::spelling::{entry_name, method_name, object_name, type_name, types_object};
use super::whole::side_objects;
use crate::languages::Options;
use crate::languages::public_names::{MessageNames, ProtocolNames, PublicNames, StateNames};
use crate::name::Name;
use crate::protocol::{FileId, Message, Program, Protocol, State};

/// The names of a program, with their packages.
pub fn public_names(program: &Program, options: &Options) -> PublicNames {
    let package = |file: FileId| package(program, options, file).join(".");
    let protocol = |declared: &Protocol, file: FileId, name: &Name| {
        let object = format!("{}.{}", package(file), object_name(name.text()));
        let sides = side_objects(declared);
        let states = declared.states.iter();
        ProtocolNames {
            states: states
                .map(|state| Some(of_state(&object, sides, state)))
                .collect(),
            name: object,
        }
    };
    PublicNames::of_all(program, protocol, |declared| {
        let object = types_object(&program.file(declared.file).stem);
        let name = type_name(declared.name.text());
        format!("{}.{object}.{name}", package(declared.file))
    })
}

fn of_state(object: &str, sides: [&str; 2], state: &State) -> StateNames {
    let name = type_name(state.name.text());
    let received = format!("{object}.{name}");
    let of_message = |message: &Message| {
        let entries = message.entries.iter();
        MessageNames {
            send: method_name(message.name.text()),
            received: format!("{received}.{}", type_name(message.name.text())),
            entries: entries.map(|entry| entry_name(entry.name.text())).collect(),
        }
    };
    let [client, server] = sides;
    StateNames {
        client: format!("{object}.{client}.{name}"),
        server: format!("{object}.{server}.{name}"),
        messages: state.messages.iter().map(of_message).collect(),
        receive: state.direction.map(|_| "recv".to_owned()),
        received: state.direction.map(|_| received),
    }
}
