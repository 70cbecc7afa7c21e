//! The names in generated C that programs use.

use super::spelling;
use super::units::{Unit, UnitKind, Units, declared_word};
use crate::languages::Options;
use crate::languages::public_names::{
    MessageNames, ProtocolNames, PublicNames, StateNames, of_types,
};
use crate::protocol::{Message, Program, Side, StateId};

/// The names of a program.
pub fn public_names(program: &Program, options: &Options) -> PublicNames {
    let prefix = options.c.prefix.as_deref().unwrap_or_default();
    let none = |count| std::iter::repeat_with(|| None).take(count).collect();
    let mut names = PublicNames {
        protocols: none(program.protocols.len()),
        instances: none(program.instances.len()),
        types: of_types(program, |declared| {
            declared_word(program, prefix, declared) + "_t"
        }),
    };
    for unit in &Units::of(program, prefix).units {
        let place = match unit.kind {
            UnitKind::Protocol => &mut names.protocols[unit.protocol.index()],
            UnitKind::Instance(id) => &mut names.instances[id.index()],
            UnitKind::Mentioned => continue,
        };
        *place = Some(of_unit(program, unit));
    }
    names
}

fn of_unit(program: &Program, unit: &Unit) -> ProtocolNames {
    let protocol = program.protocol(unit.protocol);
    let mut places: Vec<Vec<usize>> = vec![Vec::new(); protocol.states.len()];
    for (index, state) in unit.states.iter().enumerate() {
        places[state.state.index()].push(index);
    }
    let states = protocol.state_ids().map(|id| match places[id.index()][..] {
        [only] => Some(of_state(program, unit, only, id)),
        _ => None,
    });
    ProtocolNames {
        name: unit.prefix.clone(),
        states: states.collect(),
    }
}

fn of_state(program: &Program, unit: &Unit, index: usize, id: StateId) -> StateNames {
    let state = program.protocol(unit.protocol).state(id);
    let active = state.active_side().unwrap_or(Side::Client);
    let (of_state, sender) = (unit.state(index), unit.end(index, active));
    let of_message = |message: &Message| {
        let (name, entries) = (message.name.text(), message.entries.iter());
        MessageNames {
            send: format!("{sender}_send_{}", spelling::word(name)),
            received: spelling::message(&of_state, name),
            entries: entries
                .map(|entry| spelling::entry(entry.name.text()))
                .collect(),
        }
    };
    let receive = || unit.end(index, active.dual()) + "_recv";
    StateNames {
        client: unit.end(index, Side::Client) + "_t",
        server: unit.end(index, Side::Server) + "_t",
        receive: state.direction.map(|_| receive()),
        received: state.direction.map(|_| format!("{of_state}_t")),
        messages: state.messages.iter().map(of_message).collect(),
    }
}
