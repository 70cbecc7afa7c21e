//! The module `robots` of a protocol or an instance: a table of the protocol, and functions that play one state and that make and show
//! values. The runtime plays sessions with them.

use super::names::fields;
use super::names::spelling::{NameScope, generics, turbofish, type_name, value_name};
use super::states::used_parameters;
use crate::languages::robots::{Kind, Names, Of, Robots, Word};
use crate::name::Name;
use crate::protocol::{Builtin, EndpointType, Lengths, Part, Side, Type, TypeId};
use crate::relation::View;
use crate::robots::{Absent, Makeable, Node};
use askama::Template;

#[derive(Template)]
#[template(path = "rust/robots.rs.jinja")]
struct RobotsView<'a> {
    robots: Robots<RustNames<'a>>,
    /// The module of the protocol, with `::` at the end.
    protocol: String,
}

/// The names in the module `robots`.
struct RustNames<'a> {
    scope: NameScope<'a>,
    view: View<'a>,
}

/// The module `robots` in the module `scope` of a protocol or an instance.
///
/// # Errors
///
/// Why there is none.
pub fn module(view: View, makeable: &Makeable, scope: NameScope) -> Result<String, Absent> {
    let scope = scope.inside(1);
    let protocol = scope.protocol(view.protocol);
    let robots = Robots::of(view, makeable, &RustNames { scope, view })?;
    let text = RobotsView { robots, protocol }.render();
    Ok(text.expect("writing to a string cannot fail"))
}

impl Names for RustNames<'_> {
    /// The type arguments of the endpoints, and of the enum of the messages.
    type State = [String; 2];
    type Type = String;
    /// The field.
    type Part = String;
    /// The path of `init`.
    type Session = String;

    fn word(&self, name: &Name) -> Word {
        let value = value_name(name);
        Word {
            text: name.to_string(),
            ty: type_name(name),
            end: value.trim_start_matches("r#").to_owned(),
            value,
        }
    }

    fn ty(&self, ty: &Type, _: &Lengths) -> String {
        self.scope.ty(ty, &[])
    }

    fn hook(&self, id: TypeId) -> String {
        self.word(&self.scope.program.ty(id).name).end
    }

    fn state(&self, node: &Node) -> [String; 2] {
        let all = self.scope.types(&node.arguments, &[]);
        let used = used_parameters(self.view.description().state(node.state));
        let used: Vec<String> = used.map(|at| all[at].clone()).collect();
        [generics(&all), generics(&used)]
    }

    fn part(&self, of: &Of, at: usize, part: &Part) -> String {
        let names = match of {
            Of::Message(_, message) => fields::of_message(&message.entries),
            Of::Variant(_, variant) => fields::of_variant(&variant.entries),
            Of::Value(..) => part.name.map(|name| vec![value_name(name); at + 1]),
        };
        names.map_or(at.to_string(), |names| names[at].clone())
    }

    fn session(&self, endpoint: &EndpointType) -> String {
        let arguments = turbofish(&self.scope.types(&endpoint.arguments, &[]));
        format!("{}init{arguments}", self.scope.protocol(endpoint.protocol))
    }
}
