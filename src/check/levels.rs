//! The level of a rule at a location: its default, overridden by the settings of the project, then by attributes from the outermost
//! to the innermost, then by the settings of the run.

use super::Rule;
use crate::diagnostic::Level;
use crate::protocol::{LevelAttribute, Message, Program, Protocol, State};
use crate::source::Span;
use std::collections::HashMap;

/// The name that means every rule whose level would be [`Level::Warn`], in the settings of a run.
pub const WARNINGS: &str = "warnings";

/// The levels that apply to a whole run.
#[derive(Debug, Default)]
pub struct Levels {
    /// Settings that replace the built-in levels.
    project: Settings,
    /// Settings that override everything.
    run: Settings,
}

/// Levels by rule, one for all other rules, and one for what would be a warning.
#[derive(Debug, Default)]
struct Settings {
    all: Option<Level>,
    one: HashMap<String, Level>,
    warnings: Option<Level>,
}

impl Settings {
    /// Applies settings in order: a later one overrides an earlier one, and `all` overrides earlier ones for single rules.
    fn new(settings: &[(String, Level)]) -> Settings {
        let mut levels = Settings::default();
        for (name, level) in settings {
            match name.as_str() {
                "all" => {
                    levels = Settings {
                        all: Some(*level),
                        ..Settings::default()
                    }
                }
                WARNINGS => {
                    let set = levels.one.values_mut().chain(&mut levels.all);
                    set.filter(|own| **own == Level::Warn)
                        .for_each(|own| *own = *level);
                    levels.warnings = Some(*level);
                }
                _ => drop(levels.one.insert(name.clone(), *level)),
            }
        }
        levels
    }

    fn of(&self, rule: &Rule) -> Option<Level> {
        self.one.get(rule.name).copied().or(self.all)
    }
}

/// A location in the source, given by the enclosing items whose attributes apply to it.
#[derive(Clone, Copy, Default)]
pub struct Location<'a> {
    /// The attributes of a declaration that is not a protocol.
    pub(super) declaration: &'a [LevelAttribute],
    pub(super) protocol: Option<&'a Protocol>,
    pub(super) state: Option<&'a State>,
    pub(super) message: Option<&'a Message>,
}

impl<'a> Location<'a> {
    /// Outside of any protocol.
    pub fn outside() -> Location<'a> {
        Location::default()
    }

    /// In a type, bound or instance with these attributes.
    pub fn declaration(levels: &'a [LevelAttribute]) -> Location<'a> {
        Location {
            declaration: levels,
            ..Location::default()
        }
    }

    /// In a protocol, outside of its states.
    pub fn protocol(protocol: &'a Protocol) -> Location<'a> {
        Location {
            protocol: Some(protocol),
            ..Location::default()
        }
    }

    /// In a state, outside of its messages.
    pub fn state(protocol: &'a Protocol, state: &'a State) -> Location<'a> {
        Location {
            state: Some(state),
            ..Location::protocol(protocol)
        }
    }

    /// In a message.
    pub fn message(protocol: &'a Protocol, state: &'a State, message: &'a Message) -> Location<'a> {
        Location {
            message: Some(message),
            ..Location::state(protocol, state)
        }
    }

    /// The name of the innermost protocol, state or message.
    pub fn item(self) -> Option<Span> {
        let message = self.message.map(|message| &message.name);
        let state = self.state.map(|state| &state.name);
        let protocol = self.protocol.map(|protocol| &protocol.name);
        message.or(state).or(protocol).map(|name| name.span)
    }

    /// The attribute that sets the level of a rule here: the last such attribute of the innermost item that has one.
    pub fn attribute(self, rule: &Rule) -> Option<&'a LevelAttribute> {
        let message = self.message.map(|message| &message.levels[..]);
        let state = self.state.map(|state| &state.levels[..]);
        let protocol = self.protocol.map(|protocol| &protocol.levels[..]);
        let lists = [message, state, protocol, Some(self.declaration)];
        let mut lists = lists.into_iter().flatten();
        lists.find_map(|list| last_of(list, rule.name))
    }
}

impl Levels {
    /// The levels set by a project, which replace the built-in ones, and those set by the run, which override everything. In each
    /// list a later setting overrides an earlier one, and `all` overrides earlier ones for single rules.
    #[must_use]
    pub fn new(project: &[(String, Level)], run: &[(String, Level)]) -> Levels {
        Levels {
            project: Settings::new(project),
            run: Settings::new(run),
        }
    }

    /// The level of a rule at a location. Errors are always at level deny.
    pub fn of(&self, rule: &Rule, location: Location<'_>) -> Level {
        let Some(default) = rule.default else {
            return Level::Deny;
        };
        if let Some(level) = self.run.of(rule) {
            return level;
        }
        let default = self.project.of(rule).unwrap_or(default);
        let attribute = location.attribute(rule);
        match attribute.map_or(default, |attribute| attribute.level) {
            Level::Warn => self.run.warnings.unwrap_or(Level::Warn),
            level @ (Level::Allow | Level::Deny) => level,
        }
    }
}

/// What an attribute is passed to, with where it applies.
pub type Look<'l> = &'l mut dyn FnMut(&LevelAttribute, Location<'_>);

/// Passes on the attributes of types, bounds and instances.
pub fn attributes_outside(program: &Program, look: Look<'_>) {
    let types = program.types.iter().map(|found| &found.levels);
    let bounds = program.bounds.iter().map(|found| &found.levels);
    let instances = program.instances.iter().map(|found| &found.levels);
    for levels in types.chain(bounds).chain(instances) {
        each(levels, Location::declaration(levels), look);
    }
}

/// Passes on the attributes of a protocol, its states and its messages.
pub fn attributes_in(protocol: &Protocol, look: Look<'_>) {
    each(&protocol.levels, Location::protocol(protocol), look);
    for state in &protocol.states {
        each(&state.levels, Location::state(protocol, state), look);
        for message in &state.messages {
            let location = Location::message(protocol, state, message);
            each(&message.levels, location, look);
        }
    }
}

fn each(levels: &[LevelAttribute], location: Location<'_>, look: Look<'_>) {
    for attribute in levels {
        look(attribute, location);
    }
}

fn last_of<'a>(attributes: &'a [LevelAttribute], name: &str) -> Option<&'a LevelAttribute> {
    let own = |attribute: &&LevelAttribute| {
        let text = attribute.rule.text();
        text == name || text == "all"
    };
    attributes.iter().rev().find(own)
}
