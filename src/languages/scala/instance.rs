//! The file of an instance: other names for what its generic protocol has.

use super::names::object_scope::ObjectScope;
use super::names::spelling::{object_name, type_name};
use super::remote::{RemoteView, WirePayload};
use super::view::{Head, docs};
use super::wire::Codec;
use crate::check::CheckedProgram;
use crate::languages::limits::instance_docs;
use crate::protocol::{Builtin, InstanceId, StateId, Type};
use askama::Template;
use std::collections::BTreeMap;

#[derive(Template)]
#[template(path = "scala/instance.scala.jinja")]
pub struct InstanceView<'a> {
    head: Head<'a>,
    docs: Vec<String>,
    object: String,
    /// The object of the generic protocol, and the arguments of its start.
    protocol: String,
    arguments: String,
    /// The first endpoints.
    start: String,
    /// The objects with the endpoints of the client and the server.
    sides: [&'static str; 2],
    states: Vec<AliasView>,
    remote: Option<RemoteView>,
    /// The text of the object with robots.
    robots: Option<String>,
}

/// A state's other name.
struct AliasView {
    name: String,
    has_messages: bool,
    /// A state that is reached with different arguments keeps its parameters.
    parameters: String,
    arguments: String,
}

impl<'a> InstanceView<'a> {
    pub fn of(
        checked: &'a CheckedProgram,
        id: InstanceId,
        scope: &mut ObjectScope<'a>,
        remote: Option<RemoteView>,
        robots: Option<String>,
    ) -> InstanceView<'a> {
        let instance = checked.program().instance(id);
        let protocol = checked.program().protocol(instance.protocol);
        let mut reached: BTreeMap<StateId, Vec<Vec<Type>>> = BTreeMap::new();
        for (state, arguments) in checked.instantiations_of(id) {
            reached.entry(state).or_default().push(arguments);
        }
        let states = reached.into_iter().map(|(state, given)| {
            let state = protocol.state(state);
            scope.enter(state);
            let (parameters, arguments) = match given.as_slice() {
                [only] => (String::new(), scope.arguments(only)),
                _ => (scope.parameter_list(), scope.parameter_list()),
            };
            AliasView {
                name: type_name(state.name.text()),
                has_messages: state.direction.is_some(),
                parameters,
                arguments,
            }
        });
        let states: Vec<AliasView> = states.collect();
        let arguments = scope.arguments(&instance.arguments);
        // The first is the start.
        let is_generic = states.first().is_some_and(|it| !it.parameters.is_empty());
        let start = type_name(protocol.start().name.text());
        let title = format!("`{}`", protocol.name);
        InstanceView {
            head: Head::of(scope.whole, instance.file),
            docs: docs(&instance_docs(checked.program(), instance, &title)),
            object: object_name(instance.name.text()),
            protocol: scope.object(protocol.file, &object_name(protocol.name.text())),
            start: start + if is_generic { &arguments } else { "" },
            arguments,
            sides: scope.whole.side_objects(instance.protocol),
            states,
            remote,
            robots,
        }
    }
}
