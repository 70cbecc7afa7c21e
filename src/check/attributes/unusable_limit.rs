//! A limit that cannot hold: every message is larger, or a bound is written where types cannot have one.

use crate::check::findings::{Findings, Subject};
use crate::diagnostic::{Diagnostic, counted};
use crate::name::Name;
use crate::protocol::text::type_text;
use crate::protocol::{
    Lengths, Limit, Message, Parameter, Program, Protocol, State, StateId, Type,
};
use crate::source::Span;
use crate::wire::Sizes;
use std::collections::{BTreeMap, BTreeSet, HashSet};

rule! {
    "unusable-limit", error,
    "a limit cannot hold where it is written"
}

/// How many parts a type with bounds in aliases may have: generated code describes each of them. Arguments with more parts are not
/// followed.
const MOST_PARTS: usize = 1000;

/// The maximum number of visits to the states of a protocol, each with different arguments. A state that permutes its arguments
/// may be reached with very many; limits are then checked for the first of them.
const MOST_VISITS: usize = 10_000;

fn find(subject: &Subject<'_>, findings: &mut Findings) {
    if findings.has_any(&["recursive-type"]) {
        return;
    }
    let program = subject.program;
    let sizes = Sizes::of(program);
    for protocol in &program.protocols {
        too_small(protocol, &sizes, findings);
        over(protocol, findings);
    }
    // Otherwise the number of arguments may be infinite.
    if !findings.has_any(&["expanding-recursion"]) {
        too_small_for_arguments(program, &sizes, findings);
    }
    let seeker = Seeker {
        program,
        sizes: &sizes,
    };
    for protocol in &program.protocols {
        for state in &protocol.states {
            for message in &state.messages {
                seeker.message(state, message, findings);
            }
        }
    }
    for instance in &program.instances {
        for argument in &instance.arguments {
            seeker.argument(argument, &[], instance.span, findings);
        }
    }
    for declared in &program.types {
        for (ty, lengths, span) in declared.parts() {
            seeker.ty(ty, lengths, &[], span, findings);
        }
    }
}

/// Reports durations of states in which nothing is sent.
fn over(protocol: &Protocol, findings: &mut Findings) {
    for state in &protocol.states {
        let is_over = state.direction.is_none() && state.messages.is_empty();
        let Some(limit) = state.within.filter(|_| is_over) else {
            continue;
        };
        let text = format!(
            "nothing is sent in state `{}`, so it cannot have a time limit",
            state.name
        );
        findings.error(
            RULE.finding(limit.span, text)
                .label("this duration")
                .related(state.name.span, "the session is over in this state")
                .help("remove the attribute"),
        );
    }
}

/// Of the messages that a limit is too small for, the one that needs most.
struct TooSmall<'a> {
    limit: Limit,
    least: u64,
    state: &'a Name,
    message: &'a Name,
}

fn too_small(protocol: &Protocol, sizes: &Sizes, findings: &mut Findings) {
    let mut found: BTreeMap<u32, TooSmall<'_>> = BTreeMap::new();
    for state in &protocol.states {
        let encodings = sizes.messages(state, &[]);
        for (encoding, message) in encodings.zip(&state.messages) {
            let least = encoding.size.least;
            let Some(limit) = message.at_most.filter(|limit| limit.most < least) else {
                continue;
            };
            let one = TooSmall {
                limit,
                least,
                state: &state.name,
                message: &message.name,
            };
            let known = found.get(&limit.span.start);
            if known.is_none_or(|known| known.least < least) {
                found.insert(limit.span.start, one);
            }
        }
    }
    for one in found.into_values() {
        let (state, message) = (one.state, one.message);
        let (least, most) = (counted(one.least, "byte"), counted(one.limit.most, "byte"));
        let text = format!("message `{message}` of state `{state}` is larger than its limit");
        findings.error(
            RULE.finding(one.limit.span, text)
                .label(format!("at most {most}"))
                .related(message.span, format!("takes at least {least}"))
                .note("every message above its limit is refused, so this one could never be sent")
                .fix(
                    "raise the limit, or give this message a limit of its own",
                    one.limit.span,
                    format!("{} B", one.least),
                ),
        );
    }
}

/// Reports limits that are too small for the arguments with which a state is reached: first those that a protocol gives itself, then
/// those of its instances.
fn too_small_for_arguments(program: &Program, sizes: &Sizes, findings: &mut Findings) {
    let mut known = BTreeSet::new();
    for (at, protocol) in program.protocols.iter().enumerate() {
        let own = protocol
            .states
            .first()
            .map_or(Vec::new(), State::own_arguments);
        let found = too_small_from(protocol, sizes, own, None);
        for one in found {
            known.insert((at, one.limit.span.start));
            findings.error(one.error(program));
        }
    }
    for instance in &program.instances {
        let id = instance.protocol;
        let arguments = instance.arguments.clone();
        let found = too_small_from(program.protocol(id), sizes, arguments, Some(instance.span));
        for one in found {
            if !known.contains(&(id.index(), one.limit.span.start)) {
                findings.error(one.error(program));
            }
        }
    }
}

/// A message that is larger than its limit with the arguments that its state is given at a place.
struct TooSmallThere<'a> {
    protocol: &'a Protocol,
    limit: Limit,
    least: u64,
    state: &'a State,
    message: &'a Name,
    arguments: Vec<Type>,
    place: Span,
}

impl TooSmallThere<'_> {
    fn error(&self, program: &Program) -> Diagnostic {
        let (state, message) = (&self.state.name, self.message);
        let parameters = self.state.parameters.iter().zip(&self.arguments);
        let given = parameters.map(|(parameter, argument)| {
            let argument = type_text(program, &self.protocol.start().parameters, argument);
            format!("`{}` = `{argument}`", parameter.name)
        });
        let given: Vec<String> = given.collect();
        let text = format!(
            "message `{message}` of state `{state}` is larger than its limit with {}",
            given.join(", ")
        );
        let (least, most) = (
            counted(self.least, "byte"),
            counted(self.limit.most, "byte"),
        );
        RULE.finding(self.place, text)
            .label(format!("with these arguments it takes at least {least}"))
            .related(self.limit.span, format!("at most {most}"))
            .note("every message above its limit is refused, so this one could never be sent")
            .help(format!(
                "raise the limit to at least {} B, or use smaller types",
                self.least
            ))
    }
}

/// The messages of all states that are reached from the start with these arguments: at most one for each limit and place. `place` is
/// where the arguments are written, if that is not in the protocol.
fn too_small_from<'a>(
    protocol: &'a Protocol,
    sizes: &Sizes,
    arguments: Vec<Type>,
    place: Option<Span>,
) -> Vec<TooSmallThere<'a>> {
    if protocol.messages().all(|message| message.at_most.is_none()) {
        return Vec::new();
    }
    // A wrong number of arguments is reported where names are resolved.
    let fits = |(id, arguments): &(StateId, Vec<Type>)| {
        let state = protocol.states.get(id.index());
        state.is_some_and(|state| state.parameters.len() == arguments.len())
    };
    let first = (StateId::new(0), arguments);
    if !fits(&first) {
        return Vec::new();
    }
    let mut seen = HashSet::from([first.clone()]);
    let mut open = vec![(first, place)];
    let mut found: Vec<TooSmallThere<'a>> = Vec::new();
    while let Some(((id, arguments), at)) = open.pop() {
        let state = protocol.state(id);
        let given = at.filter(|_| !state.parameters.is_empty());
        let encodings = sizes
            .messages(state, &arguments)
            .zip(sizes.messages(state, &[]));
        for ((encoding, of_any), message) in encodings.zip(&state.messages) {
            let least = encoding.size.least;
            // A message that is too large with any arguments is reported elsewhere.
            let any = of_any.size.least;
            let limit = message.at_most;
            let limit = limit.filter(|limit| limit.most < least && limit.most >= any);
            let is_known = |limit: &Limit| {
                let mut found = found.iter();
                found.any(|one| one.limit.span == limit.span && Some(one.place) == given)
            };
            if let (Some(limit), Some(place)) = (limit.filter(|it| !is_known(it)), given) {
                found.push(TooSmallThere {
                    protocol,
                    limit,
                    least,
                    state,
                    message: &message.name,
                    arguments: arguments.clone(),
                    place,
                });
            }
            if let Some(next) = message.next.with(&arguments) {
                let is_small = next.1.iter().map(Type::count).sum::<usize>() <= MOST_PARTS;
                let is_first = next.1.is_empty() || seen.len() < MOST_VISITS;
                if fits(&next) && is_small && is_first && seen.insert(next.clone()) {
                    open.push((next, place.or(Some(message.next_span))));
                }
            }
        }
    }
    found
}

struct Seeker<'a> {
    program: &'a Program,
    sizes: &'a Sizes,
}

impl Seeker<'_> {
    fn message(&self, state: &State, message: &Message, findings: &mut Findings) {
        let parameters = &state.parameters;
        for entry in &message.entries {
            let lengths = &entry.lengths;
            self.ty(&entry.ty, lengths, parameters, entry.ty_span, findings);
        }
        for argument in message.next.arguments() {
            self.argument(argument, parameters, message.next_span, findings);
        }
    }

    /// Reports a type whose bounds are too many, and the arguments of endpoints in it that have bounds.
    fn ty(
        &self,
        ty: &Type,
        lengths: &Lengths,
        parameters: &[Parameter],
        at: Span,
        findings: &mut Findings,
    ) {
        for argument in ty.endpoints().iter().flat_map(|of| &of.arguments) {
            self.argument(argument, parameters, at, findings);
        }
        let mut left = MOST_PARTS;
        if self.sizes.is_bounded(ty, lengths) && !self.is_small(ty, lengths, &mut left) {
            let text = "a type with bounds has too many parts";
            findings.error(
                RULE.finding(at, text)
                    .label(format!(
                        "more than {MOST_PARTS} once its aliases are expanded"
                    ))
                    .help("make one of the aliases a struct"),
            );
        }
    }

    /// A bound that is written in an argument is reported where names are resolved; here it is in an alias.
    fn argument(
        &self,
        argument: &Type,
        parameters: &[Parameter],
        at: Span,
        findings: &mut Findings,
    ) {
        if !self.sizes.is_bounded(argument, Lengths::NONE) {
            return;
        }
        let shown = type_text(self.program, parameters, argument);
        let text = format!("`{shown}` has a bound, and cannot be a type argument");
        let mut error = RULE.finding(at, text);
        let mut bound = None;
        argument.walk(&mut |part| {
            let (_, lengths) = self.program.unaliased(part, Lengths::NONE);
            bound = bound.or(lengths.first());
        });
        if let Some(limit) = bound {
            error = error.related(limit.span, "the bound is here");
        }
        findings.error(
            error
                .note("a state with type parameters is generated once, for all arguments")
                .help("use a type without a bound, and limit the messages with `#[at_most(...)]`"),
        );
    }

    /// Whether a type has no more parts than are left, once aliases with bounds are replaced. Takes at most that many steps.
    fn is_small(&self, ty: &Type, lengths: &Lengths, left: &mut usize) -> bool {
        if *left == 0 {
            return false;
        }
        *left -= 1;
        if !self.sizes.is_bounded(ty, lengths) {
            return true;
        }
        let (mut ty, mut lengths) = (ty, lengths);
        // Each alias of a chain counts, because all of them are followed wherever the type is used.
        while let Some(target) = self.program.aliased(ty) {
            if *left == 0 {
                return false;
            }
            *left -= 1;
            (ty, lengths) = target;
        }
        match ty {
            Type::List(item) | Type::Option(item) => self.is_small(item, lengths.part(0), left),
            Type::Tuple(items) => {
                let mut items = items.iter().enumerate();
                items.all(|(at, item)| self.is_small(item, lengths.part(at), left))
            }
            Type::Builtin(_)
            | Type::Named(_)
            | Type::Parameter(_)
            | Type::Endpoint(_)
            | Type::Error => true,
        }
    }
}
