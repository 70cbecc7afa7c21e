//! The level of a rule at a location: its default, overridden by the settings of the project, then by attributes from the outermost
//! to the innermost, then by the settings of the run.

use super::Rule;
use crate::diagnostic::Level;
use crate::protocol::{LevelAttribute, Message, Protocol, State};
use std::collections::HashMap;

/// The levels that apply to a whole run.
#[derive(Debug, Default)]
pub struct Levels {
    /// Settings that replace the built-in levels.
    project: Settings,
    /// Settings that override everything.
    run: Settings,
}

/// Levels by rule, and one for all other rules.
#[derive(Debug, Default)]
struct Settings {
    all: Option<Level>,
    one: HashMap<String, Level>,
}

impl Settings {
    /// Applies settings in order: a later one overrides an earlier one, and `all` overrides earlier ones for single rules.
    fn new(settings: &[(String, Level)]) -> Settings {
        let mut levels = Settings::default();
        for (name, level) in settings {
            if name == "all" {
                levels.all = Some(*level);
                levels.one.clear();
            } else {
                levels.one.insert(name.clone(), *level);
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
    pub protocol: Option<&'a Protocol>,
    pub state: Option<&'a State>,
    pub message: Option<&'a Message>,
}

impl<'a> Location<'a> {
    /// Outside of any protocol.
    pub fn outside() -> Location<'a> {
        Location::default()
    }

    pub fn protocol(protocol: &'a Protocol) -> Location<'a> {
        Location {
            protocol: Some(protocol),
            ..Location::default()
        }
    }

    pub fn state(protocol: &'a Protocol, state: &'a State) -> Location<'a> {
        Location {
            state: Some(state),
            ..Location::protocol(protocol)
        }
    }

    pub fn message(protocol: &'a Protocol, state: &'a State, message: &'a Message) -> Location<'a> {
        Location {
            message: Some(message),
            ..Location::state(protocol, state)
        }
    }

    /// The attribute that sets the level of a rule here: the last such attribute of the innermost item that has one.
    pub fn attribute(self, rule: &Rule) -> Option<&'a LevelAttribute> {
        let message = self.message.map(|message| &message.levels[..]);
        let state = self.state.map(|state| &state.levels[..]);
        let protocol = self.protocol.map(|protocol| &protocol.levels[..]);
        let mut lists = [message, state, protocol].into_iter().flatten();
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
        location
            .attribute(rule)
            .map_or(default, |attribute| attribute.level)
    }
}

fn last_of<'a>(attributes: &'a [LevelAttribute], name: &str) -> Option<&'a LevelAttribute> {
    let own = |attribute: &&LevelAttribute| {
        let text = attribute.rule.text();
        text == name || text == "all"
    };
    attributes.iter().rev().find(own)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::check::rule;

    #[test]
    fn a_later_setting_wins_and_errors_have_no_level() {
        let setting = |name: &str, level| (name.to_owned(), level);
        let run = [
            setting("stuck-state", Level::Allow),
            setting("all", Level::Deny),
            setting("never-ends", Level::Warn),
            setting("syntax", Level::Allow),
        ];
        let levels = Levels::new(&[setting("stuck-state", Level::Warn)], &run);
        let of = |name| levels.of(rule(name).expect("a rule"), Location::outside());
        assert_eq!(of("stuck-state"), Level::Deny);
        assert_eq!(of("never-ends"), Level::Warn);
        assert_eq!(of("syntax"), Level::Deny);
    }
}
