//! Commands and options that were merged into others.

use clap::Command;
use std::ffi::OsString;

/// What one typed, a command alone or with the word or the option that followed, and what to type now.
const RENAMED: [(&str, &str); 5] = [
    ("rules", "explain"),
    ("guarantee", "explain FILE"),
    ("trace check", "trace LOG"),
    ("fingerprint --against", "breaking --against OLD -v"),
    ("fingerprint --write", "breaking --against OLD --accept"),
];

/// What to say about arguments in an old spelling.
pub fn instead(arguments: &[OsString], program: &Command) -> Option<String> {
    let words: Vec<&str> = arguments.iter().filter_map(|word| word.to_str()).collect();
    let commands = RENAMED.map(|(old, _)| old.split(' ').next());
    let is_command =
        |word: &&str| program.find_subcommand(word).is_some() || commands.contains(&Some(*word));
    let at = 1 + words.iter().skip(1).position(is_command)?;
    let (command, rest) = (words[at], &words[at + 1..]);
    let is_meant = |(old, _): &&(&str, &str)| match old.split_once(' ') {
        None => *old == command,
        Some((old, option)) if option.starts_with('-') => {
            let names = |word: &&str| word.split('=').next() == Some(option);
            old == command && rest.iter().any(names)
        }
        Some((old, word)) => old == command && rest.first() == Some(&word),
    };
    let (old, new) = RENAMED.iter().rev().find(is_meant)?;
    Some(format!("`duologue {old}` is now `duologue {new}`"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn old_spellings_name_the_new_ones() {
        let program = crate::command();
        let said = |line: &str| {
            let words: Vec<OsString> = line.split(' ').map(OsString::from).collect();
            instead(&words, &program)
        };
        for (old, new) in RENAMED {
            let words = said(&format!("duologue -q {old} bank.proto"));
            assert!(words.is_some_and(|words| words.contains(new)), "{old}");
            let mut words = new.split(' ');
            let command = words
                .next()
                .and_then(|command| program.find_subcommand(command));
            let command = command.unwrap_or_else(|| panic!("there is no {new}"));
            for option in words.filter_map(|word| word.strip_prefix("--")) {
                let mut known = command.get_arguments();
                assert!(known.any(|known| known.get_long() == Some(option)), "{new}");
            }
            assert_eq!(said(&format!("duologue {new}")), None);
        }
        assert_eq!(said("duologue explain rules"), None);
        assert_eq!(said("duologue fmt --check rules"), None);
        assert_eq!(said("duologue trace ./check"), None);
    }
}
