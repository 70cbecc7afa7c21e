//! The module of an instance, as the templates see it: aliases for a generic protocol with its arguments.

use super::docs::Docs;
use super::names::methods::shared_name;
use super::names::spelling::{NameScope, generics, turbofish, type_name};
use super::remote::{StartView, accepted_by_instance};
use super::states::used_parameters;
use crate::check::CheckedProgram;
use crate::endpoint::Endpoint;
use crate::languages::limits::instance_docs;
use crate::protocol::{InstanceId, Side, StateId, Type};
use crate::wire::Plan;
use askama::Template;

/// The module of an instance.
#[derive(Template)]
#[template(path = "rust/instance.rs.jinja")]
pub struct InstanceView {
    source: String,
    docs: Docs,
    /// The module of the protocol, from here and from the modules inside.
    protocol: String,
    inner_protocol: String,
    /// The type arguments with which `init` calls the protocol's.
    turbofish: String,
    /// The type arguments of the first endpoints, unless their names here have them already.
    first_generics: String,
    sides: [&'static str; 2],
    states: Vec<AliasView>,
    start: Option<StartView>,
    /// The text of the module with robots.
    pub(super) robots: Option<String>,
}

/// A state of the protocol.
struct AliasView {
    name: String,
    is_terminal: bool,
    /// The shared sender, and the side that may have it.
    shared: Option<SharedView>,
    /// The type arguments of its enum and of its endpoints, if they are the same wherever the state is reached.
    generics: Option<(String, String)>,
}

/// A shared sender.
struct SharedView {
    side: &'static str,
    name: String,
}

impl InstanceView {
    /// The module of an instance; `scope` is the module's position in the tree.
    pub fn of(
        checked: &CheckedProgram,
        id: InstanceId,
        scope: NameScope,
        plan: Option<Plan>,
    ) -> InstanceView {
        let instance = scope.program.instance(id);
        let protocol = scope.program.protocol(instance.protocol);
        let reached = checked.instantiations_of(id);
        let module = |scope: NameScope| {
            let path = scope.protocol(instance.protocol);
            path.trim_end_matches("::").to_owned()
        };
        let (path, inner) = (module(scope), scope.inside(1));
        let alias = |id: StateId| {
            let state = protocol.state(id);
            let can_be_shared = |side: &Side| Endpoint::of(protocol, *side).can_be_shared(id);
            let of_all = |all: &[Type]| {
                let used: Vec<Type> = used_parameters(state).map(|at| all[at].clone()).collect();
                let used = scope.types(&used, &[]);
                (generics(&used), generics(&inner.types(all, &[])))
            };
            AliasView {
                name: type_name(&state.name),
                is_terminal: state.active_side().is_none(),
                shared: state
                    .active_side()
                    .filter(can_be_shared)
                    .map(|side| SharedView {
                        side: side.word(),
                        name: shared_name(state, scope.taken),
                    }),
                generics: only_arguments(&reached, id).map(of_all),
            }
        };
        let arguments = scope.types(&instance.arguments, &[]);
        let start = |plan| {
            let name = scope.program.full_name(instance.file, instance.name.text());
            let state = type_name(&protocol.start().name);
            let accepts = |side| accepted_by_instance(scope.program, id, side);
            StartView::of(
                plan,
                name,
                format!("{path}::state"),
                state,
                &arguments,
                accepts,
            )
        };
        // Rust resolves the link from inside the module.
        let title = format!("[`{}`]({path})", protocol.name);
        InstanceView {
            source: scope.program.file(instance.file).path.clone(),
            docs: Docs::of_module(&instance_docs(scope.program, instance, &title)),
            inner_protocol: module(inner),
            turbofish: turbofish(&arguments),
            first_generics: match only_arguments(&reached, StateId::new(0)) {
                Some(_) => String::new(),
                None => generics(&arguments),
            },
            sides: Side::BOTH.map(Side::word),
            states: protocol.state_ids().map(alias).collect(),
            start: plan.and_then(start),
            robots: None,
            protocol: path,
        }
    }
}

/// The arguments of a state, if the same ones are used wherever it is reached.
fn only_arguments(reached: &[(StateId, Vec<Type>)], id: StateId) -> Option<&[Type]> {
    let mut all = reached.iter().filter(|(state, _)| *state == id);
    match (all.next(), all.next()) {
        (Some((_, arguments)), None) => Some(arguments),
        _ => None,
    }
}
