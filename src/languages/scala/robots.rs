//! The object `robots` of a protocol or an instance: the table of its states, and how its values are made and shown.

use super::names::object_scope::{ObjectScope, tuple_paths};
use super::names::spelling::{Spell, entry_name, field_name, method_name, object_name, type_name};
use super::names::whole::{Whole, robots_object};
use super::wire::{Matching, parts};
use crate::languages::robots::{Kind, Names, Of, Robots, Word};
use crate::name::Name;
use crate::protocol::{Builtin, EndpointType, Lengths, Part, Side, Type, TypeId};
use crate::relation::View;
use crate::robots::{Absent, Makeable, Node};
use askama::Template;

#[derive(Template)]
#[template(path = "scala/robots.scala.jinja")]
struct RobotsView<'a> {
    robots: Robots<ScalaNames<'a>>,
    object: &'static str,
    /// The object of the generic protocol, and those in it with the endpoints of the client and the server.
    protocol: String,
    endpoints: [&'static str; 2],
    /// For each type, the variants in each part of its code, by their positions.
    parts: Vec<Vec<Vec<usize>>>,
    /// The member with the number of a variant.
    number: &'static str,
}

/// The names in the object `robots`.
struct ScalaNames<'a>(ObjectScope<'a>);

/// A part of a value.
struct PartNames {
    field: String,
    /// The parentheses around a tuple's item. Scala has no long tuples, so these are nested.
    open: String,
    close: String,
    /// The other name of a built-in type, if that is a type of its own.
    distinct: Option<String>,
    holds_endpoints: bool,
}

/// The object `robots` of a protocol or an instance.
///
/// # Errors
///
/// Why there is none.
pub fn object(view: View, whole: &Whole, makeable: &Makeable) -> Result<String, Absent> {
    let protocol = view.description();
    let scope = ObjectScope::of_protocol(whole, protocol).distant();
    let path = scope.object(protocol.file, &object_name(protocol.name.text()));
    let robots = Robots::of(view, makeable, &ScalaNames(scope))?;
    let split = robots.types.iter().map(|ty| {
        let variants = ty.variants.iter().enumerate();
        let parts = parts(variants.collect(), |(_, variant)| variant.parts.len());
        let positions = parts.into_iter();
        positions
            .map(|part| part.into_iter().map(|(at, _)| at).collect())
            .collect()
    });
    let text = RobotsView {
        object: robots_object(protocol),
        protocol: path,
        endpoints: whole.side_objects(view.protocol),
        parts: split.collect(),
        number: Matching::of(whole, &[]).member,
        robots,
    };
    Ok(text.render().expect("writing to a string cannot fail"))
}

impl Names for ScalaNames<'_> {
    /// The type arguments.
    type State = String;
    type Type = String;
    type Part = PartNames;
    /// The call of `init`.
    type Session = String;

    fn word(&self, name: &Name) -> Word {
        let ty = type_name(name.text());
        Word {
            text: name.to_string(),
            value: method_name(name.text()),
            end: ty.clone(),
            ty,
        }
    }

    fn ty(&self, ty: &Type, _: &Lengths) -> String {
        self.0.payload_type(ty)
    }

    fn hook(&self, id: TypeId) -> String {
        type_name(self.0.whole.program.ty(id).name.text())
    }

    fn state(&self, node: &Node) -> String {
        self.0.arguments(&node.arguments)
    }

    fn part(&self, of: &Of, at: usize, part: &Part) -> PartNames {
        let whole = self.0.whole;
        let named = |spell: Spell| part.name.map_or(String::new(), |name| spell(name.text()));
        let (mut open, mut close) = (0, 0);
        let field = match of {
            Of::Message(..) => named(entry_name),
            Of::Variant(..) => named(whole.variant_field()),
            Of::Value(Type::Tuple(items), _) => {
                let paths = tuple_paths(items.len());
                let begins = |path: &str| path.rsplit("._").take_while(|part| *part == "1").count();
                open = begins(&paths[at]);
                close = begins(paths.get(at + 1).unwrap_or(&paths[0]));
                paths[at].trim_start_matches('.').to_owned()
            }
            Of::Value(..) => named(field_name),
        };
        PartNames {
            field,
            open: "(".repeat(open),
            close: ")".repeat(close),
            distinct: self.0.distinct(part.ty),
            holds_endpoints: whole.holds_endpoints(part.ty),
        }
    }

    fn session(&self, endpoint: &EndpointType) -> String {
        let protocol = self.0.whole.program.protocol(endpoint.protocol);
        let object = self
            .0
            .object(protocol.file, &object_name(protocol.name.text()));
        format!("{object}.init{}()", self.0.arguments(&endpoint.arguments))
    }
}
