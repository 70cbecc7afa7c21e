//! Fills in the templates.

use super::spelling;
use askama::Template;

/// Appends a rendered view.
pub fn render(view: &impl Template, to: &mut String) {
    view.render_into(to).expect("string writes cannot fail");
}

/// Appends functions, with their long lines broken.
pub fn render_functions(view: &impl Template, text: &mut String) {
    let mut functions = String::new();
    render(view, &mut functions);
    spelling::break_lines(&functions, text);
}

/// Filters of the templates.
pub mod filters {
    use crate::languages::c::spelling;
    use askama::{Result, Values};
    use std::fmt::Display;

    /// Sentences, one or more a line, as a block comment's lines after its first ` * `.
    #[askama::filter_fn]
    pub fn fill(text: impl Display, _: &dyn Values) -> Result<String> {
        Ok(spelling::filled(&text.to_string()))
    }
}
