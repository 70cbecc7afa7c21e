//! Lines that cannot be read.

/// Why a line cannot be read.
#[derive(Debug)]
pub struct Problem {
    /// What is wrong.
    pub message: String,
    /// The byte of the line where that is noticed.
    pub byte: Option<usize>,
    /// Whether the text ends too early.
    pub is_cut: bool,
}

impl Problem {
    pub(super) fn new(message: impl Into<String>) -> Problem {
        Problem {
            message: message.into(),
            byte: None,
            is_cut: false,
        }
    }

    pub(super) fn of(error: &serde_json::Error) -> Problem {
        let text = error.to_string();
        let place = format!(" at line {} column {}", error.line(), error.column());
        let is_first = error.line() == 1;
        // In a document over several lines, the place stays in the text: the report shows the first line.
        let text = text
            .strip_suffix(&place)
            .filter(|_| is_first)
            .unwrap_or(&text);
        Problem {
            // The document is JSON, and says something that an event cannot say.
            message: match error.is_data() {
                true => text.to_owned(),
                false => format!("this is not valid JSON: {text}"),
            },
            byte: is_first.then(|| error.column().saturating_sub(1)),
            is_cut: error.is_eof(),
        }
    }
}
