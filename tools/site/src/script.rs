//! Scripts of pages. They are modules of JavaScript, which a page has as one script.

/// The stepper and what it needs.
pub const STEPPER: &[&str] = &[
    include_str!("../templates/dom.mjs"),
    include_str!("../templates/values.mjs"),
    include_str!("../templates/stepper.mjs"),
];

/// Modules as one script, without comments and indentation. They share their names, so imports and exports fall away.
pub fn joined(modules: &[&str]) -> String {
    let lines = modules.iter().flat_map(|module| module.lines());
    let lines = lines.map(str::trim_start);
    let lines = lines.filter(|line| {
        !["", "//", "import "]
            .iter()
            .any(|start| line.starts_with(start) && (!start.is_empty() || line.is_empty()))
    });
    let lines = lines.map(|line| line.strip_prefix("export ").unwrap_or(line));
    lines.flat_map(|line| [line, "\n"]).collect()
}
