//! `duologue --rust_out=DIR FILE...`: a command line as protoc users type it, treated as the command `gen`.

use std::ffi::OsString;

/// Inserts `gen` before arguments that name an output directory as protoc does, and no command.
pub fn as_gen(mut arguments: Vec<OsString>, command: &clap::Command) -> Vec<OsString> {
    let is_command = |argument: &OsString| {
        argument
            .to_str()
            .is_some_and(|word| command.find_subcommand(word).is_some())
    };
    let asks_for_output = |argument: &OsString| {
        let word = argument.to_string_lossy();
        let option = word.split('=').next().unwrap_or_default();
        option.starts_with("--") && (option.ends_with("_out") || option.ends_with("-out"))
    };
    let given = arguments.iter().skip(1);
    if given.clone().any(asks_for_output) && !given.clone().any(is_command) {
        arguments.insert(1, OsString::from("gen"));
    }
    arguments
}
