//! The view for the template of an instance: aliases for a generic protocol with its arguments.

use super::docs::comment;
use super::layout::{Document, definition, signature};
use super::remote;
use super::shared::shared_name;
use super::spelling::{NameScope, type_name};
use super::states::used_parameters;
use crate::check::CheckedProgram;
use crate::endpoint::Endpoint;
use crate::languages::limits::instance_docs;
use crate::protocol::{InstanceId, Side, State, StateId, Type};
use crate::wire::Plan;
use askama::Template;

/// The module of an instance.
#[derive(Template)]
#[template(path = "rust/instance.rs.jinja")]
pub struct InstanceView {
    header: String,
    docs: String,
    protocol: String,
    signature: String,
    init: String,
    messages: Vec<String>,
    client: Vec<String>,
    server: Vec<String>,
    /// How sessions begin between processes, or nothing.
    remote: String,
    /// The module of the robots, or nothing.
    pub(super) robots: String,
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
        let states: Vec<(&State, Option<&[Type]>)> = protocol
            .state_ids()
            .map(|id| (protocol.state(id), only_arguments(&reached, id)))
            .collect();
        let path = scope.protocol(instance.protocol);
        let inner = scope.inside(1);
        let inner_path = inner.protocol(instance.protocol);
        let endpoints = |side: Side| {
            let end = Endpoint::of(protocol, side);
            let mut all = Vec::new();
            for (id, (state, arguments)) in protocol.state_ids().zip(&states) {
                let mut names = vec![type_name(&state.name)];
                names.extend(
                    end.can_be_shared(id)
                        .then(|| shared_name(state, scope.taken)),
                );
                for name in names {
                    let path = format!("{inner_path}{}::{name}", side.word());
                    let arguments = arguments.map(|all| inner.types(all, &[]));
                    all.push(other_name(4, &name, path, arguments));
                }
            }
            // rustfmt sorts consecutive `use` lines.
            for run in all.chunk_by_mut(|one, next| is_use(one) && is_use(next)) {
                if is_use(&run[0]) {
                    run.sort();
                }
            }
            all
        };
        let message = |(state, arguments): &(&State, Option<&[Type]>)| {
            let path = format!("{path}{}", type_name(&state.name));
            let used = |all: &[Type]| {
                let used: Vec<Type> = used_parameters(state).map(|at| all[at].clone()).collect();
                scope.types(&used, &[])
            };
            other_name(0, &type_name(&state.name), path, arguments.map(used))
        };
        let start = type_name(&protocol.start().name);
        // A state that is also reached with other arguments keeps its parameters here.
        let start_arguments = match only_arguments(&reached, StateId::new(0)) {
            Some(_) => Vec::new(),
            None => scope.types(&instance.arguments, &[]),
        };
        let end = |side: Side| {
            Document::angle(format!("{}::{start}", side.word()), start_arguments.clone())
        };
        let result = Document::round("", vec![end(Side::Server), end(Side::Client)]);
        let arguments = Document::angle(
            format!("{path}init::"),
            scope.types(&instance.arguments, &[]),
        );
        let name = scope.program.full_name(instance.file, instance.name.text());
        let names = scope.types(&instance.arguments, &[]);
        let names: Vec<String> = names.iter().map(Document::flat).collect();
        let module = format!("{path}state::");
        let accepts = |side| remote::accepted_by_instance(scope.program, id, side);
        let state = (protocol.start(), &names[..]);
        let remote = |plan| remote::start(plan, &name, &module, state, "CAPACITY", accepts);
        // Rust resolves the link from inside the module.
        let module = path.trim_end_matches("::");
        let title = format!("[`{}`]({module})", protocol.name);
        let docs = instance_docs(scope.program, instance, &title);
        InstanceView {
            remote: plan.and_then(remote).unwrap_or_default(),
            header: super::header(&scope.program.file(instance.file).path),
            docs: comment(0, "//!", docs.iter().map(AsRef::as_ref)),
            robots: String::new(),
            signature: signature(0, "pub fn init", &[], &result, &[]),
            init: arguments.laid_out(4, 4, 2) + "()",
            messages: states
                .iter()
                .filter(|(state, _)| state.active_side().is_some())
                .map(message)
                .collect(),
            client: endpoints(Side::Client),
            server: endpoints(Side::Server),
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

fn is_use(text: &str) -> bool {
    text.starts_with("pub use ")
}

/// A type in the instance's module: an alias with its arguments where they are known, otherwise a re-export.
fn other_name(indent: usize, name: &str, path: String, arguments: Option<Vec<Document>>) -> String {
    match arguments {
        Some(arguments) => {
            let head = format!("pub type {name}");
            definition(indent, &head, &Document::angle(path, arguments))
        }
        None => format!("pub use {path};"),
    }
}
