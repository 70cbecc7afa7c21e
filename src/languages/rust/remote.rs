//! What `--remote` adds: which types have an encoding, and how sessions begin between processes.

use super::names::spelling::{generics, tuple, turbofish};
use crate::fingerprint::Fingerprint;
use crate::languages::holders;
use crate::protocol::{
    Instance, InstanceId, Lengths, Message, Next, Program, ProtocolId, Side, State, Type, TypeId,
};
use crate::relation::View;
use crate::wire::{Encoding, Plan, Sizes, accepted};

/// Which declarations of a program can leave the process. Without `--remote`, none.
#[derive(Default)]
pub struct Remotes {
    /// For each declared type, whether it has no encoding, because values contain endpoints or values of external types; empty without
    /// `--remote`.
    opaque: Vec<bool>,
    /// For each protocol, its plan.
    protocols: Vec<Option<Plan>>,
    /// For each instance, its plan; not for one with the same arguments as an earlier one, which begins the same
    /// sessions.
    instances: Vec<Option<Plan>>,
    /// The sizes of the program's types.
    pub sizes: Option<Sizes>,
    /// Why the others stay in one process.
    pub notes: Vec<String>,
}

impl Remotes {
    /// The declarations of a checked program that can leave the process.
    pub fn of(program: &Program) -> Remotes {
        let mut remotes = Remotes {
            opaque: holders(program, true),
            sizes: Some(Sizes::of(program)),
            ..Remotes::default()
        };
        for index in 0..program.protocols.len() {
            let plan = remotes.plan(View::of(program, ProtocolId::new(index)));
            remotes.protocols.push(plan);
        }
        let mut seen = Vec::new();
        for instance in &program.instances {
            let plan = remotes.plan(View::instance(program, instance));
            let begins = begins(program, instance);
            let is_new = !seen.contains(&begins);
            seen.push(begins);
            remotes.instances.push(plan.filter(|_| is_new));
        }
        remotes
    }

    fn plan(&mut self, view: View<'_>) -> Option<Plan> {
        match Plan::of(view) {
            Ok(plan) => plan.first.is_some().then_some(plan),
            Err(obstacle) => {
                let note = format!("Rust: `{}` stays in one process: {obstacle}", view.name());
                self.notes.push(note);
                None
            }
        }
    }

    pub fn protocol(&self, id: ProtocolId) -> Option<Plan> {
        self.protocols.get(id.index()).copied().flatten()
    }

    pub fn instance(&self, id: InstanceId) -> Option<Plan> {
        self.instances.get(id.index()).copied().flatten()
    }

    /// How a field that has bounds is encoded; `None` for any other.
    pub fn coding(&self, program: &Program, ty: &Type, lengths: &Lengths) -> Option<String> {
        let sizes = self.sizes.as_ref();
        let sizes = sizes.filter(|sizes| sizes.is_bounded(ty, lengths));
        sizes.map(|sizes| coding(program, sizes, ty, lengths))
    }

    /// Whether values of a declared type can be encoded.
    pub fn has_encoding(&self, id: TypeId) -> bool {
        self.opaque.get(id.index()) == Some(&false)
    }
}

/// The type that says how values with bounds are encoded. Aliases with bounds, of which a checked program has few, are replaced.
fn coding(program: &Program, sizes: &Sizes, ty: &Type, lengths: &Lengths) -> String {
    const PATH: &str = "::duologue::generated";
    if !sizes.is_bounded(ty, lengths) {
        return format!("{PATH}::Plain");
    }
    let (ty, lengths) = program.unaliased(ty, lengths);
    let part = |at, ty| coding(program, sizes, ty, lengths.part(at));
    let most = lengths.most.map(|limit| limit.most);
    match ty {
        Type::Builtin(_)
        | Type::Named(_)
        | Type::Parameter(_)
        | Type::Endpoint(_)
        | Type::Error => match most {
            Some(most) => format!("{PATH}::AtMost<{most}>"),
            None => format!("{PATH}::Plain"),
        },
        Type::List(item) => match (most, part(0, item)) {
            (Some(most), item) if item.ends_with("::Plain") => format!("{PATH}::AtMost<{most}>"),
            (Some(most), item) => format!("{PATH}::AtMost<{most}, {item}>"),
            (None, item) => format!("{PATH}::Each<{item}>"),
        },
        Type::Option(value) => format!("{PATH}::Maybe<{}>", part(0, value)),
        Type::Tuple(items) => {
            let items = items.iter().enumerate().map(|(at, ty)| part(at, ty));
            tuple(&items.collect::<Vec<_>>())
        }
    }
}

/// The bounds of a message.
pub(super) struct Limit {
    /// How the payload is encoded.
    pub(super) coding: String,
    /// The most bytes.
    pub(super) most: u64,
}

/// The bounds of a message; `None` if it has none.
pub(super) fn limit(
    program: &Program,
    sizes: Option<&Sizes>,
    message: &Message,
    encoding: Option<Encoding>,
) -> Option<Limit> {
    let (sizes, encoding) = (sizes?, encoding?);
    let entries = || message.entries.iter();
    let is_bounded = entries().any(|entry| sizes.is_bounded(&entry.ty, &entry.lengths));
    if !is_bounded && encoding.limit.is_none() {
        return None;
    }
    let codings = entries().map(|entry| coding(program, sizes, &entry.ty, &entry.lengths));
    let codings: Vec<String> = codings.collect();
    Some(Limit {
        coding: match is_bounded {
            true => tuple(&codings),
            false => "::duologue::generated::Plain".to_owned(),
        },
        most: encoding.limit.unwrap_or(u64::MAX),
    })
}

/// The type without aliases.
fn meaning(program: &Program, ty: &Type) -> Type {
    ty.replaced(&|part| {
        let (of, _) = program.aliased(part)?;
        Some(meaning(program, of))
    })
}

/// The protocol and the arguments without aliases, which are the same for instances that begin the same sessions.
fn begins(program: &Program, instance: &Instance) -> (ProtocolId, Vec<Type>) {
    let arguments = instance.arguments.iter();
    let arguments = arguments.map(|ty| meaning(program, ty)).collect();
    (instance.protocol, arguments)
}

/// The older fingerprints that a side of an instance accepts. Instances that begin the same sessions share one list.
pub(super) fn accepted_by_instance(
    program: &Program,
    id: InstanceId,
    side: Side,
) -> Vec<Fingerprint> {
    let own = begins(program, program.instance(id));
    let same = program.instances.iter();
    let same = same.filter(|instance| !instance.accepts.is_empty());
    let same = same.filter(|instance| begins(program, instance) == own);
    let all = same.flat_map(|instance| accepted(View::instance(program, instance), side));
    let mut found = Vec::new();
    for fingerprint in all {
        if !found.contains(&fingerprint) {
            found.push(fingerprint);
        }
    }
    found
}

/// How sessions begin between processes.
pub(super) struct StartView {
    /// The module of the protocol's states, the start state there, and its arguments after a type and in a call.
    pub(super) module: String,
    pub(super) state: String,
    pub(super) generics: String,
    pub(super) turbofish: String,
    /// The name with its package.
    pub(super) name: String,
    pub(super) fingerprint: Fingerprint,
    /// The older fingerprints that the side that sends first accepts, and those that the other one accepts.
    pub(super) sender_accepts: Vec<Fingerprint>,
    pub(super) receiver_accepts: Vec<Fingerprint>,
}

impl StartView {
    /// `None` if that depends on type arguments. `module` leads to the protocol's states, and `accepts` returns the older
    /// fingerprints that a side accepts.
    pub(super) fn of(
        plan: Plan,
        name: String,
        module: String,
        state: String,
        arguments: &[String],
        accepts: impl Fn(Side) -> Vec<Fingerprint>,
    ) -> Option<StartView> {
        let first = plan.first?;
        Some(StartView {
            module,
            state,
            generics: generics(arguments),
            turbofish: turbofish(arguments),
            name,
            fingerprint: plan.fingerprint?,
            sender_accepts: accepts(first),
            receiver_accepts: accepts(first.dual()),
        })
    }
}

/// Marks the parameters that a type mentions.
fn mark(ty: &Type, parameters: &mut [bool]) {
    ty.walk(&mut |part| {
        if let Type::Parameter(index) = part {
            parameters[*index as usize] = true;
        }
    });
}

/// For each state and each of its parameters, whether a message from there on carries values of the parameter. The argument for any
/// other may be a type without an encoding.
pub(super) fn carried(states: &[State]) -> Vec<Vec<bool>> {
    let none = states
        .iter()
        .map(|state| vec![false; state.parameters.len()]);
    let mut carried: Vec<Vec<bool>> = none.collect();
    loop {
        let before = carried.clone();
        for (at, state) in states.iter().enumerate().rev() {
            for message in &state.messages {
                for entry in &message.entries {
                    mark(&entry.ty, &mut carried[at]);
                }
                if let Next::State { state, arguments } = &message.next {
                    let given = arguments.iter().zip(carried[state.index()].clone());
                    given
                        .filter(|(_, is_carried)| *is_carried)
                        .for_each(|(argument, _)| mark(argument, &mut carried[at]));
                }
            }
        }
        if carried == before {
            return carried;
        }
    }
}
