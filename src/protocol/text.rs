//! Types in the syntax of the language.

use super::{Builtin, Parameter, Program, Type};
use std::fmt::Write as _;

/// A type as it is written in a state with these parameters. Long types end in `...`.
pub fn type_text(program: &Program, parameters: &[Parameter], ty: &Type) -> String {
    let mut text = String::new();
    write_type(&mut text, program, parameters, ty);
    text
}

const LONG: usize = 200;

fn write_type(text: &mut String, program: &Program, parameters: &[Parameter], ty: &Type) {
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
            write_type(text, program, parameters, ty);
        }
    };
    match ty {
        Type::Builtin(builtin) => text.push_str(builtin_word(*builtin)),
        Type::List(item) => {
            text.push('[');
            write_type(text, program, parameters, item);
            text.push(']');
        }
        Type::Option(item) => {
            write_type(text, program, parameters, item);
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

/// A built-in type's name.
pub fn builtin_word(builtin: Builtin) -> &'static str {
    let mut words = Builtin::WORDS.iter();
    let found = words.find(|(_, named)| *named == builtin);
    found.map_or("_", |(word, _)| *word)
}
