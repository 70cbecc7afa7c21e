//! What the stepper knows about a protocol, as JSON.

use super::context::Context;
use super::html::Html;
use duologue::graph::diagram::message_text;
use duologue::protocol::{Builtin, Definition, Next, ProtocolId, Type};
use serde_json::{Value, json};

/// The most characters of an example.
const LONGEST: usize = 80;

impl Context<'_> {
    /// The table of a protocol, as it is embedded in its page. A message has its name and the state that follows; if it carries
    /// something, also its text and an example.
    pub fn table(&self, id: ProtocolId) -> Html {
        let checked = self.checked.protocol(id);
        let protocol = checked.protocol();
        let states = protocol.states.iter().map(|state| {
            let messages = state.messages.iter().map(|message| {
                let next = match &message.next {
                    Next::End | Next::Error => None,
                    Next::State { state, .. } => Some(state.index()),
                };
                let name = message.name.text();
                if message.entries.is_empty() {
                    return json!([name, next]);
                }
                let mut example = name.to_owned();
                let types = message.entries.iter().map(|entry| &entry.ty);
                self.examples(&mut example, ["(", ")"], types);
                json!([name, next, message_text(message, self.sources), example])
            });
            let messages: Vec<Value> = messages.collect();
            let turn = state.active_side().map(|side| side as u8);
            json!({ "name": state.name.text(), "turn": turn, "messages": messages })
        });
        let states: Vec<Value> = states.collect();
        let table = json!({
            "name": protocol.name.text(),
            "capacity": [checked.capacity_to_server().most(), checked.capacity_to_client().most()],
            "states": states,
        });
        // A `<` could end the element.
        Html::markup(table.to_string().replace('<', "\\u003c"))
    }

    fn examples<'t>(
        &self,
        text: &mut String,
        [open, close]: [&str; 2],
        types: impl Iterator<Item = &'t Type>,
    ) {
        text.push_str(open);
        for (index, ty) in types.enumerate() {
            if index > 0 {
                text.push_str(", ");
            }
            self.example(text, ty);
        }
        text.push_str(close);
    }

    /// A value of a type, as transcripts write it. Stops when the text is long, so that types within types take little time.
    fn example(&self, text: &mut String, ty: &Type) {
        if text.len() > LONGEST {
            text.push_str("...");
            return;
        }
        match ty {
            Type::Builtin(builtin) => text.push_str(match builtin {
                Builtin::Bool => "true",
                Builtin::F32 | Builtin::F64 => "0.00",
                Builtin::Str => "\"\"",
                Builtin::Bytes => "<>",
                Builtin::U8
                | Builtin::U16
                | Builtin::U32
                | Builtin::U64
                | Builtin::I8
                | Builtin::I16
                | Builtin::I32
                | Builtin::I64 => "0",
            }),
            Type::List(_) => text.push_str("[]"),
            Type::Option(_) => text.push_str("none"),
            Type::Tuple(parts) => self.examples(text, ["(", ")"], parts.iter()),
            Type::Named(id) => self.declared(text, *id),
            Type::Parameter(_) | Type::Error => text.push('_'),
            Type::Endpoint(endpoint) => {
                let protocol = self.program.protocol(endpoint.protocol);
                let state = &protocol.state(endpoint.state).name;
                let side = endpoint.side.word();
                text.push_str(&format!("<{}.{side}.{state}>", protocol.name));
            }
        }
    }

    fn declared(&self, text: &mut String, id: duologue::protocol::TypeId) {
        let declared = self.program.ty(id);
        match &declared.definition {
            Definition::Alias(ty) => self.example(text, ty),
            Definition::Struct(fields) => {
                text.push('{');
                for (index, field) in fields.iter().enumerate() {
                    if index > 0 {
                        text.push_str(", ");
                    }
                    text.push_str(field.name.text());
                    text.push_str(": ");
                    self.example(text, &field.ty);
                    if text.len() > LONGEST {
                        break;
                    }
                }
                text.push('}');
            }
            Definition::Enum(variants) => {
                let plain = variants.iter().find(|variant| variant.entries.is_empty());
                if let Some(variant) = plain.or(variants.first()) {
                    text.push_str(variant.name.text());
                    if !variant.entries.is_empty() {
                        let types = variant.entries.iter().map(|entry| &entry.ty);
                        self.examples(text, ["(", ")"], types);
                    }
                }
            }
            Definition::Extern(..) | Definition::Undeclared => text.push_str(declared.name.text()),
        }
    }
}
