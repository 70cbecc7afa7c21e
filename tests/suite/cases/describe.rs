//! What the compiler understood, as readable text: resolved names and types, and the capacities.

use duologue::check::CheckedProgram;
use duologue::protocol::{
    Bound, Definition, Entry, Mapping, Next, Parameter, Program, State, Type,
};
use std::fmt::Write;

/// The input file of a program: its types, protocols and instances.
pub fn describe(checked: &CheckedProgram) -> String {
    let program = checked.program();
    let file = &program.files[0];
    let mut text = String::new();
    let package: Vec<_> = file.package.iter().map(ToString::to_string).collect();
    if !package.is_empty() {
        let _ = writeln!(text, "package {}", package.join("."));
    }
    for id in &file.types {
        let ty = program.ty(*id);
        let _ = writeln!(
            text,
            "type {}: {}",
            ty.name,
            match ty.is_declared {
                true => definition(program, &ty.definition),
                false => "undeclared".to_owned(),
            }
        );
    }
    for id in &file.protocols {
        let checked = checked.protocol(*id);
        let protocol = checked.protocol();
        let (to_server, to_client) = (checked.capacity_to_server(), checked.capacity_to_client());
        let _ = writeln!(
            text,
            "protocol {}: {to_server} to the server, {to_client} to the client",
            protocol.name
        );
        for state in &protocol.states {
            write_state(&mut text, program, state, &protocol.states);
        }
    }
    for id in &file.instances {
        let instance = program.instance(*id);
        let arguments = types(program, &[], &instance.arguments);
        let protocol = program.protocol(instance.protocol);
        let _ = writeln!(
            text,
            "instance {}: {}<{arguments}>",
            instance.name, protocol.name
        );
        for (state, arguments) in checked.instantiations_of(*id) {
            let arguments = types(program, &[], &arguments);
            let _ = writeln!(text, "  {}<{arguments}>", protocol.state(state).name);
        }
    }
    text
}

fn write_state(text: &mut String, program: &Program, state: &State, states: &[State]) {
    let direction = state.direction.map_or("over", |direction| direction.word());
    let parameters: Vec<_> = state
        .parameters
        .iter()
        .map(|parameter| parameter_text(program, parameter))
        .collect();
    let head = format!("  {} {direction} {}", state.name, parameters.join(", "));
    let _ = writeln!(text, "{}", head.trim_end());
    for message in &state.messages {
        let next = match &message.next {
            Next::Error => "nowhere".to_owned(),
            Next::End => "the end".to_owned(),
            Next::State {
                state: next,
                arguments,
            } => {
                format!(
                    "{}<{}>",
                    states[next.index()].name,
                    types(program, &state.parameters, arguments)
                )
            }
        };
        let entries = entries(program, &state.parameters, &message.entries);
        let _ = writeln!(
            text,
            "    {}({entries}) -> {}",
            message.name,
            next.trim_end_matches("<>")
        );
    }
}

fn parameter_text(program: &Program, parameter: &Parameter) -> String {
    let bounds = parameter.bounds.iter().map(|bound| match bound {
        Bound::Extern(id) => program.bound(*id).name.to_string(),
        Bound::Send
        | Bound::Copy
        | Bound::Clone
        | Bound::Eq
        | Bound::Ord
        | Bound::Hash
        | Bound::Debug => format!("{bound:?}").to_lowercase(),
    });
    format!(
        "{}: {}",
        parameter.name,
        bounds.collect::<Vec<_>>().join(" + ")
    )
}

fn definition(program: &Program, definition: &Definition) -> String {
    match definition {
        Definition::Alias(ty) => type_text(program, &[], ty),
        Definition::Struct(fields) => {
            let fields = fields
                .iter()
                .map(|field| format!("{}: {}", field.name, type_text(program, &[], &field.ty)));
            format!("struct {{ {} }}", fields.collect::<Vec<_>>().join(", "))
        }
        Definition::Enum(variants) => {
            let variants = variants.iter().map(|variant| {
                format!(
                    "{}({})",
                    variant.name,
                    entries(program, &[], &variant.entries)
                )
            });
            format!("enum {{ {} }}", variants.collect::<Vec<_>>().join(", "))
        }
        Definition::Extern(mappings, _) => {
            let targets: Vec<_> = mappings.iter().map(|(_, line)| mapping(line)).collect();
            format!("extern {{ {} }}", targets.join(", "))
        }
    }
}

fn mapping(mapping: &Mapping) -> String {
    format!(
        "{} from {:?} drop {:?}",
        mapping.name, mapping.from, mapping.drop
    )
}

fn entries(program: &Program, parameters: &[Parameter], entries: &[Entry]) -> String {
    let entries = entries.iter().map(|entry| {
        format!(
            "{}: {}",
            entry.name,
            type_text(program, parameters, &entry.ty)
        )
    });
    entries.collect::<Vec<_>>().join(", ")
}

fn types(program: &Program, parameters: &[Parameter], types: &[Type]) -> String {
    let types = types.iter().map(|ty| type_text(program, parameters, ty));
    types.collect::<Vec<_>>().join(", ")
}

fn type_text(program: &Program, parameters: &[Parameter], ty: &Type) -> String {
    match ty {
        Type::Error => "unknown".to_owned(),
        Type::Builtin(builtin) => format!("{builtin:?}").to_lowercase(),
        Type::List(item) => format!("[{}]", type_text(program, parameters, item)),
        Type::Option(item) => format!("{}?", type_text(program, parameters, item)),
        Type::Tuple(items) => format!("({})", types(program, parameters, items)),
        Type::Named(id) => program.ty(*id).name.to_string(),
        Type::Parameter(index) => parameters[*index as usize].name.to_string(),
        Type::Endpoint(endpoint) => {
            let protocol = program.protocol(endpoint.protocol);
            let arguments = types(program, parameters, &endpoint.arguments);
            let (side, state) = (endpoint.side.word(), &protocol.state(endpoint.state).name);
            format!("{}::{side}::{state}<{arguments}>", protocol.name)
                .trim_end_matches("<>")
                .to_owned()
        }
    }
}
