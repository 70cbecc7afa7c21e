//! Types in the syntax of the language.

use super::{Builtin, Lengths, Parameter, Program, Type};
use std::fmt::{self, Display, Formatter, Write as _};

/// A type as it is written in a state with these parameters. Long types end in `...`.
pub fn type_text(program: &Program, parameters: &[Parameter], ty: &Type) -> String {
    bounded_type_text(program, parameters, ty, Lengths::NONE)
}

/// The same with its bounds: `str<5>`, `[u8; 2]`.
pub fn bounded_type_text(
    program: &Program,
    parameters: &[Parameter],
    ty: &Type,
    lengths: &Lengths,
) -> String {
    let mut text = String::new();
    write_type(&mut text, program, parameters, (ty, lengths));
    text
}

const LONG: usize = 200;

fn write_type(
    text: &mut String,
    program: &Program,
    parameters: &[Parameter],
    (ty, lengths): (&Type, &Lengths),
) {
    if text.len() > LONG {
        if !text.ends_with("...") {
            text.push_str("...");
        }
        return;
    }
    let list = |text: &mut String, types: &[Type]| {
        for (index, ty) in types.iter().enumerate() {
            if index > 0 {
                text.push_str(", ");
            }
            write_type(text, program, parameters, (ty, lengths.part(index)));
        }
    };
    let most = lengths.most.map(|limit| limit.most);
    match ty {
        Type::Builtin(builtin) => {
            text.push_str(builtin_word(*builtin));
            if let Some(most) = most {
                let _ = write!(text, "<{most}>");
            }
        }
        Type::List(item) => {
            text.push('[');
            write_type(text, program, parameters, (item, lengths.part(0)));
            if let Some(most) = most {
                let _ = write!(text, "; {most}");
            }
            text.push(']');
        }
        Type::Option(item) => {
            write_type(text, program, parameters, (item, lengths.part(0)));
            text.push('?');
        }
        Type::Tuple(items) => {
            text.push('(');
            list(text, items);
            text.push(')');
        }
        Type::Named(id) => text.push_str(program.ty(*id).name.text()),
        Type::Error => text.push('_'),
        Type::Parameter(index) => match parameters.get(*index as usize) {
            Some(parameter) => text.push_str(parameter.name.text()),
            None => text.push('_'),
        },
        Type::Endpoint(endpoint) => {
            let protocol = program.protocol(endpoint.protocol);
            let state = protocol.states.get(endpoint.state.index());
            let state = state.map_or("_", |state| state.name.text());
            let side = endpoint.side.word();
            let _ = write!(text, "{}::{side}::{state}", protocol.name);
            if !endpoint.arguments.is_empty() {
                text.push('<');
                list(text, &endpoint.arguments);
                text.push('>');
            }
        }
    }
}

impl Display for Builtin {
    fn fmt(&self, out: &mut Formatter<'_>) -> fmt::Result {
        out.write_str(builtin_word(*self))
    }
}

/// A built-in type's name.
pub fn builtin_word(builtin: Builtin) -> &'static str {
    let mut words = Builtin::WORDS.iter();
    let found = words.find(|(_, named)| *named == builtin);
    found.map_or("_", |(word, _)| *word)
}
