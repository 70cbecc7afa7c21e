//! Names of the protocol as texts, for logs: of the messages of a state, and of the variants of an enum.

use super::names::{OfState, OfType};
use super::render::render_functions;
use super::types::Types;
use super::view::UnitView;
use crate::protocol::{TypeId, Variant};
use askama::Template;

/// The function that returns the name of a tag.
#[derive(Template)]
#[template(path = "c/text.h.jinja")]
struct TextView<'a> {
    /// What the tag tells apart.
    of: &'static str,
    function: String,
    tag: String,
    /// Each constant with its text.
    texts: Vec<(String, &'a str)>,
}

impl UnitView<'_> {
    /// Writes the function for the messages of a state, unless there are none.
    pub fn message_texts(&self, index: usize, text: &mut String) {
        let messages = self.state(index).messages.iter();
        let texts = messages.map(|message| (self.constant(index, message), message.name.text()));
        let view = TextView {
            of: "message",
            function: self.unit.of_state(index, OfState::TagText),
            tag: self.unit.of_state(index, OfState::Tag),
            texts: texts.collect(),
        };
        view.write(text);
    }
}

/// Writes the function for the variants of an enum.
pub fn of_variants(types: &Types, id: TypeId, variants: &[Variant], tag: &str, text: &mut String) {
    let constant = |name| types.of_type(id, OfType::Variant(name));
    let variants = variants.iter().map(|variant| variant.name.text());
    let view = TextView {
        of: "variant",
        function: types.of_type(id, OfType::Text),
        tag: tag.to_owned(),
        texts: variants.map(|name| (constant(name), name)).collect(),
    };
    view.write(text);
}

impl TextView<'_> {
    fn write(&self, text: &mut String) {
        if !self.texts.is_empty() {
            render_functions(self, text);
        }
    }
}
