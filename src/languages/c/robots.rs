//! Robots: for each unit that has them, the table by which the runtime plays a session, a codec of its values, and a typed function
//! for each side.

use super::ctype::CType;
use super::names::spelling;
use super::names::units::canonical;
use super::scope::Scope;
use super::types::is_bare;
use super::types::layouts::Place;
use super::view::UnitView;
use crate::languages::robots::{Kind, Names, Of, Robots, Word};
use crate::name::Name;
use crate::protocol::{Builtin, EndpointType, Lengths, Part, Shape, Side, Type, TypeId};
use crate::robots::{Absent, Makeable, Node};
use askama::Template;

#[derive(Template)]
#[template(path = "c/robots.h.jinja")]
struct HeaderView<'a> {
    unit: &'a UnitView<'a>,
    robots: &'a Robots<CNames<'a>>,
}

#[derive(Template)]
#[template(path = "c/robots.c.jinja")]
struct SourceView<'a> {
    unit: &'a UnitView<'a>,
    robots: &'a Robots<CNames<'a>>,
}

/// The names in a unit.
struct CNames<'a>(&'a Scope<'a>);

struct TypeNames {
    name: String,
    is_inline: bool,
    /// Whether it is an enum without values.
    is_bare: bool,
}

/// The session that is begun to make an endpoint, and its state.
struct Session {
    prefix: String,
    state: usize,
}

/// The texts of the header and of the source with the robots of a unit.
///
/// # Errors
///
/// Why it has none.
pub fn files(scope: &Scope, unit: &UnitView, makeable: &Makeable) -> Result<[String; 2], Absent> {
    let view = scope.whole().ok_or(Absent::Nothing)?;
    let robots = &Robots::of(view, makeable, &CNames(scope))?;
    let (header, source) = (HeaderView { unit, robots }, SourceView { unit, robots });
    Ok([spelling::rendered(&header), spelling::rendered(&source)])
}

impl Names for CNames<'_> {
    /// The position in the unit.
    type State = usize;
    type Type = TypeNames;
    type Part = Place;
    /// Without one, the session of the endpoint is over.
    type Session = Option<Session>;

    fn word(&self, name: &Name) -> Word {
        Word {
            text: name.to_string(),
            ..Word::default()
        }
    }

    fn ty(&self, ty: &Type, lengths: &Lengths) -> TypeNames {
        let stored = self.0.types.stored(ty, lengths);
        TypeNames {
            name: self.0.types.name(&stored, Some(self.0.id)),
            is_inline: stored.is_inline(),
            is_bare: matches!(self.0.types.program.shape(ty, lengths).0, Shape::Enum(all) if is_bare(all)),
        }
    }

    fn hook(&self, id: TypeId) -> String {
        self.0.types.words(&CType::Named(id), Some(self.0.id))
    }

    fn state(&self, node: &Node) -> usize {
        let arguments = node.arguments.iter();
        let arguments = arguments.map(|ty| canonical(self.0.types.program, ty));
        let state = self
            .0
            .unit
            .position(node.state, &arguments.collect::<Vec<_>>());
        state.expect("a unit has all states that its sessions reach")
    }

    fn part(&self, of: &Of, at: usize, part: &Part) -> Place {
        let name = || part.name.expect("entries and fields have names");
        match of {
            Of::Message(node, message) => {
                let state = self.0.unit.state(self.state(node));
                Place::entry(&state, message, name())
            }
            Of::Variant(ty, variant) => {
                Place::variant(&self.ty(ty, Lengths::NONE).name, variant, name())
            }
            Of::Value(ty, lengths) => {
                let names = self.ty(ty, lengths);
                let member = match of {
                    Of::Value(Type::List(_), _) if !names.is_inline => return Place::Whole,
                    Of::Value(Type::List(_), _) => "data".to_owned(),
                    Of::Value(Type::Option(_), _) => "value".to_owned(),
                    Of::Value(Type::Tuple(_), _) => format!("v{at}"),
                    Of::Message(..) | Of::Variant(..) | Of::Value(..) => {
                        spelling::member(name().text())
                    }
                };
                Place::member(&names.name, member)
            }
        }
    }

    fn session(&self, endpoint: &EndpointType) -> Option<Session> {
        let types = self.0.types;
        let found = types.unit_state(endpoint, Some(self.0.id));
        let found = found.filter(|_| !types.is_over(endpoint));
        found.map(|id| Session {
            prefix: types.units.at(id).0.prefix.clone(),
            state: id.state,
        })
    }
}
