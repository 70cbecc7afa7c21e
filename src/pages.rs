//! The pages of the documentation that tools print. Those of rules are in [`check`](crate::check).

/// The settings of a project, in `duologue.toml`.
pub const CONFIGURATION: &str = include_str!("../docs/configuration.md");

/// Plugins of `duologue gen`.
pub const PLUGINS: &str = include_str!("../docs/plugins.md");

/// Recorded sessions.
pub const TRACING: &str = include_str!("../docs/tracing.md");

/// The JSON Schema of a checked program.
pub const MODEL_SCHEMA: &str = include_str!("../docs/model.schema.json");

/// A file with its name.
pub type Example = (&'static str, &'static str);

macro_rules! examples {
    ($([$($name:literal),*]),*) => {
        [$(&[$(($name, include_str!(concat!("../protocols/", $name)))),*]),*]
    };
}

/// Examples, each with the files that it needs; the first one is what it shows.
pub const EXAMPLES: [&[Example]; 7] = examples![
    ["bank.proto"],
    ["pingpong.proto"],
    ["calculator.proto"],
    ["smtp.proto"],
    ["work_queue.proto"],
    ["file_server.proto", "types.proto"],
    ["switchboard.proto", "calculator.proto"]
];
