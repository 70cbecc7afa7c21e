//! A type argument must satisfy the bounds of its parameter.

use super::bounds::Satisfied;
use crate::check::findings::{Findings, Subject};
use crate::check::wording::{bound_word, type_text};
use crate::diagnostic::Diagnostic;
use crate::protocol::{Bound, Definition, Next, Parameter, Program, State, Type, TypeId};
use crate::source::Span;

rule! {
    "unsatisfied-bound", error,
    "a type argument does not satisfy the bounds of the type parameter"
}

fn find(subject: &Subject<'_>, findings: &mut Findings) {
    let program = subject.program;
    let parameters = program
        .protocols
        .iter()
        .flat_map(|protocol| &protocol.states);
    let mut bounds = parameters.flat_map(|state| &state.parameters);
    if bounds.all(|parameter| parameter.bounds.is_empty()) {
        return;
    }
    let mut search = Search {
        program,
        satisfied: Satisfied::of(program),
        findings,
    };
    for declaration in &program.types {
        for (ty, _, span) in declaration.parts() {
            search.ty(ty, span, &[]);
        }
    }
    for instance in &program.instances {
        let protocol = program.protocol(instance.protocol);
        if let Some(start) = protocol.states.first() {
            search.arguments(&instance.arguments, start, instance.span, &[]);
        }
        for argument in &instance.arguments {
            search.ty(argument, instance.span, &[]);
        }
    }
    for case in subject.cases() {
        for state in &case.protocol.states {
            let own = &state.parameters;
            for message in &state.messages {
                for entry in &message.entries {
                    search.ty(&entry.ty, entry.ty_span, own);
                }
                if let Next::State { state, arguments } = &message.next {
                    let next = case.protocol.state(*state);
                    search.arguments(arguments, next, message.next_span, own);
                    for argument in arguments {
                        search.ty(argument, message.next_span, own);
                    }
                }
            }
        }
    }
}

struct Search<'a, 'f> {
    program: &'a Program,
    satisfied: Satisfied<'a>,
    findings: &'f mut Findings,
}

impl Search<'_, '_> {
    /// Checks the arguments of the endpoint types inside a type.
    fn ty(&mut self, ty: &Type, at: Span, own: &[Parameter]) {
        for endpoint in ty.endpoints() {
            let protocol = self.program.protocol(endpoint.protocol);
            if let Some(state) = protocol.states.get(endpoint.state.index()) {
                self.arguments(&endpoint.arguments, state, at, own);
            }
        }
    }

    /// Checks arguments, which appear in a state with the parameters `own`, against the parameters of the state they are for.
    fn arguments(&mut self, arguments: &[Type], next: &State, at: Span, own: &[Parameter]) {
        for (argument, parameter) in arguments.iter().zip(&next.parameters) {
            let mut bounds = parameter.bounds.iter();
            let lacking = bounds
                .find_map(|bound| Some((*bound, self.satisfied.offender(argument, own, *bound)?)));
            if let Some((bound, offender)) = lacking {
                let error = self.tell(argument, (bound, offender), (next, parameter), at, own);
                self.findings.error(error);
            }
        }
    }

    fn tell(
        &self,
        argument: &Type,
        (bound, offender): (Bound, &Type),
        (next, parameter): (&State, &Parameter),
        at: Span,
        own: &[Parameter],
    ) -> Diagnostic {
        let argument_text = type_text(self.program, own, argument);
        let word = bound_word(self.program, bound);
        let message = format!("`{argument_text}` is not `{word}`");
        let wants = format!(
            "`{}` of state `{}` has to be `{word}`",
            parameter.name, next.name
        );
        let mut error = RULE
            .finding(at, message)
            .label(format!("needs a type that is `{word}`"))
            .related(parameter.name.span, wants);
        if offender != argument {
            let part = type_text(self.program, own, offender);
            error = error.note(format!(
                "`{argument_text}` contains `{part}`, which is not `{word}`"
            ));
        }
        match offender {
            Type::Parameter(index) => self.ask_more(error, &own[*index as usize], word),
            Type::Named(id) => self.explain(error, *id, bound, parameter),
            Type::Builtin(_)
            | Type::List(_)
            | Type::Option(_)
            | Type::Tuple(_)
            | Type::Endpoint(_)
            | Type::Error => error.note(why(bound)).help(other(parameter, word)),
        }
    }

    /// The offender is a parameter of the state itself.
    fn ask_more(&self, error: Diagnostic, parameter: &Parameter, word: &str) -> Diagnostic {
        let name = &parameter.name;
        let text = format!("require the same of `{name}` here");
        let error = error.related(name.span, format!("`{name}` is not declared as `{word}`"));
        match parameter.bounds.first() {
            None => error.fix(text, name.span.after(), format!(": {word}")),
            Some(_) => error.help(format!("{text}: add `{word}` to its bounds")),
        }
    }

    /// The offender is a declared type: descends to the part that causes it.
    fn explain(
        &self,
        mut error: Diagnostic,
        mut id: TypeId,
        bound: Bound,
        parameter: &Parameter,
    ) -> Diagnostic {
        let word = bound_word(self.program, bound);
        for _ in 0..5 {
            let declaration = self.program.ty(id);
            let name = &declaration.name;
            match &declaration.definition {
                Definition::Extern(..) if !declaration.is_declared => {
                    return error
                        .note(format!(
                            "the host program supplies `{name}`, so nothing is known about it"
                        ))
                        .help(format!(
                            "declare what it can do: `extern type {name}: {word};`"
                        ));
                }
                Definition::Extern(_, bounds) => {
                    let error = error.related(name.span, format!("not declared to be `{word}`"));
                    let text = "if the host program's type satisfies it, declare that";
                    return match bounds.first() {
                        None => error.fix(text, name.span.after(), format!(": {word}")),
                        Some(_) => error.help(format!("{text}: add `{word}` to its bounds")),
                    };
                }
                Definition::Struct(_) | Definition::Enum(_) if bound == Bound::Copy => {
                    return error
                        .note("structs and enums are never `copy`")
                        .help(other(parameter, word));
                }
                Definition::Alias(_) | Definition::Struct(_) | Definition::Enum(_) => {}
            }
            let Some((part, ty)) = self.satisfied.blame(id, bound) else {
                break;
            };
            let text = type_text(self.program, &[], ty);
            let is_alias = matches!(declaration.definition, Definition::Alias(_));
            error = if is_alias {
                error.note(format!("`{name}` is another name for `{text}`"))
            } else {
                error.note(format!("`{part}` of `{name}` holds `{text}`"))
            };
            let Type::Named(next) = ty else {
                return error.note(why(bound)).help(other(parameter, word));
            };
            id = *next;
        }
        error.help(other(parameter, word))
    }
}

fn other(parameter: &Parameter, word: &str) -> String {
    let name = &parameter.name;
    format!("use another type, or remove `{word}` from the bounds of `{name}`")
}

/// Which types have a bound.
fn why(bound: Bound) -> &'static str {
    match bound {
        Bound::Copy => "`bool`, numbers, and options and tuples of them are `copy`",
        Bound::Clone => "all types except endpoints are `clone`",
        Bound::Debug => "all types except endpoints are `debug`",
        Bound::Eq => "all types except `f32`, `f64` and endpoints are `eq`",
        Bound::Ord => "all types except `f32`, `f64` and endpoints are `ord`",
        Bound::Hash => "all types except `f32`, `f64` and endpoints are `hash`",
        Bound::Send | Bound::Extern(_) => "all types satisfy this bound",
    }
}
