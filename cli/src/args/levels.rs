//! `-A RULE`, `-W RULE`, `-D RULE`: levels of rules, where a later option overrides an earlier one.

use clap::{Arg, ArgAction, ArgMatches, Args, Command, FromArgMatches};
use duologue::check::{WARNINGS, rule};
use duologue::diagnostic::Level;
use duologue_project::Failure;
use duologue_project::config::instead_of;

/// The levels in the order in which they were given, which a derived implementation would lose.
#[derive(Debug, Default)]
pub struct Levels(Vec<(String, Level)>);

const OPTIONS: [(&str, char, Level, &str); 3] = [
    (
        "allow",
        'A',
        Level::Allow,
        "Do not report a rule; `all` means every rule, `warnings` every rule that would warn, and a later level overrides earlier \
         ones",
    ),
    (
        "warn",
        'W',
        Level::Warn,
        "Report a rule or `all`, and still succeed",
    ),
    (
        "deny",
        'D',
        Level::Deny,
        "Report a rule, `all` or `warnings`, and fail",
    ),
];

impl Levels {
    /// The levels, if every rule exists and has a level.
    pub fn checked(self) -> Result<Vec<(String, Level)>, Failure> {
        for (name, _) in &self.0 {
            if name == "all" || name == WARNINGS {
                continue;
            }
            match rule(name) {
                Some(rule) if rule.default.is_some() => {}
                Some(_) => {
                    bail_usage!("`{name}` is an error, so its level cannot be set");
                }
                None => return Err(Failure::Usage(unknown(name))),
            }
        }
        Ok(self.0)
    }
}

/// The message for a rule that does not exist.
pub fn unknown(name: &str) -> String {
    format!("there is no rule `{name}`; {}", instead_of(name))
}

impl Args for Levels {
    fn augment_args(command: Command) -> Command {
        let command = command.next_help_heading("Rules");
        let options = OPTIONS.map(|(long, short, _, help)| {
            let option = Arg::new(long).long(long).short(short).help(help);
            option.value_name("RULE").action(ArgAction::Append)
        });
        command.args(options).next_help_heading(None::<&str>)
    }

    fn augment_args_for_update(command: Command) -> Command {
        Levels::augment_args(command)
    }
}

impl FromArgMatches for Levels {
    fn from_arg_matches(matches: &ArgMatches) -> Result<Levels, clap::Error> {
        let mut placed = Vec::new();
        for (long, _, level, _) in OPTIONS {
            let places = matches.indices_of(long).into_iter().flatten();
            let names = matches.get_many::<String>(long).into_iter().flatten();
            placed.extend(
                places
                    .zip(names)
                    .map(|(place, name)| (place, name.clone(), level)),
            );
        }
        placed.sort_by_key(|(place, ..)| *place);
        let levels = placed.into_iter().map(|(_, name, level)| (name, level));
        Ok(Levels(levels.collect()))
    }

    fn update_from_arg_matches(&mut self, matches: &ArgMatches) -> Result<(), clap::Error> {
        *self = Levels::from_arg_matches(matches)?;
        Ok(())
    }
}
