//! Which outputs depend on which inputs, in the syntax of make, which CMake and Ninja read too.

use std::fmt::Write;
use std::path::{Path, PathBuf};

/// One rule: all outputs depend on all files that were read.
pub fn depfile<'a>(outputs: impl Iterator<Item = &'a Path>, inputs: &[PathBuf]) -> String {
    let mut text = String::new();
    for output in outputs {
        let separator = if text.is_empty() { "" } else { " \\\n  " };
        let _ = write!(text, "{separator}{}", escaped(output));
    }
    text.push(':');
    for input in inputs {
        let _ = write!(text, " \\\n  {}", escaped(input));
    }
    text.push('\n');
    text
}

fn escaped(path: &Path) -> String {
    let mut text = String::new();
    for letter in path.to_string_lossy().chars() {
        match letter {
            ' ' | '#' => text.push('\\'),
            '$' => text.push('$'),
            _ => {}
        }
        text.push(letter);
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn letters_that_mean_something_to_make_are_escaped() {
        let outputs = [Path::new("out/a b.rs"), Path::new("out/$x#.rs")];
        let text = depfile(outputs.into_iter(), &[PathBuf::from("in/a.proto")]);
        assert_eq!(text, "out/a\\ b.rs \\\n  out/$$x\\#.rs: \\\n  in/a.proto\n");
    }
}
