//! The units of C code: protocols without type parameters, named instances of the others, and the states that endpoint types
//! mention. C has no generic types, so each unit is generated with its arguments filled in.

use super::spelling;
use crate::languages::c::ctype::{Bytes, CType, stored};
use crate::protocol::text::builtin_word;
use crate::protocol::{
    EndpointType, FileId, InstanceId, Lengths, Next, Program, Protocol, ProtocolId, StateId, Type,
    TypeId,
};
use std::collections::{BTreeMap, VecDeque};

/// One header and source.
#[derive(Debug)]
pub struct Unit {
    /// What it is generated for.
    pub kind: UnitKind,
    /// The protocol.
    pub protocol: ProtocolId,
    /// The file that it is generated for.
    pub file: FileId,
    /// What all its names start with.
    pub prefix: String,
    /// The name of its files, without the extension.
    pub file_name: String,
    /// Its states. The first is the start, unless this is [`UnitKind::Mentioned`]. States that only other units mention come last, so
    /// that positions do not depend on which files were compiled together.
    pub states: Vec<UnitState>,
    /// The positions in `states` of the states without type parameters.
    plain: Vec<Option<u32>>,
    /// The positions of the others.
    generic: BTreeMap<(StateId, Vec<Type>), u32>,
}

/// What a unit is generated for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum UnitKind {
    /// A protocol without type parameters.
    Protocol,
    /// A named instance.
    Instance(InstanceId),
    /// A generic protocol without a matching instance, whose states are mentioned in endpoint types.
    Mentioned,
}

/// A state with arguments for its type parameters.
#[derive(Debug)]
pub struct UnitState {
    pub state: StateId,
    /// Without aliases.
    pub arguments: Vec<Type>,
    /// The spelling inside longer names: `login_response`, `wait_list_u8`.
    pub name: String,
    /// Whether an endpoint in this state can be inside a message or value.
    pub travels: bool,
}

/// A state of a unit.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct UnitStateId {
    pub unit: usize,
    pub state: usize,
}

/// All units of a program.
#[derive(Debug)]
pub struct Units {
    pub units: Vec<Unit>,
    /// The units of each protocol.
    of: Vec<Vec<usize>>,
    /// Which protocols are known; the others, which have errors, have no units.
    known: Vec<bool>,
    /// The prefix of all declared names, from the options.
    prefix: String,
}

/// A type with more parts than this is assumed to grow forever, which `check` reports as an error.
const PARTS: usize = 2_000;

impl Units {
    /// The units of a program, whose states have their plain words, even if two names are equal then. Terminates even for a program
    /// that breaks rules.
    pub fn with_plain_words(program: &Program, prefix: &str) -> Units {
        let mut units = Units {
            units: Vec::new(),
            of: vec![Vec::new(); program.protocols.len()],
            known: program.protocols.iter().map(Protocol::is_known).collect(),
            prefix: prefix.to_owned(),
        };
        for file in &program.files {
            for id in &file.protocols {
                let protocol = program.protocol(*id);
                if !units.known[id.index()] || protocol.is_generic() {
                    continue;
                }
                let unit = units.add(program, UnitKind::Protocol, *id, protocol.file);
                for state in protocol.state_ids() {
                    if protocol.state(state).parameters.is_empty() {
                        units.reach(program, unit, state, Vec::new());
                    }
                }
            }
            for id in &file.instances {
                let instance = program.instance(*id);
                if !units.known[instance.protocol.index()] {
                    continue;
                }
                let unit = units.add(
                    program,
                    UnitKind::Instance(*id),
                    instance.protocol,
                    instance.file,
                );
                let arguments = instance.arguments.iter().map(|ty| canonical(program, ty));
                units.reach(program, unit, StateId::new(0), arguments.collect());
            }
        }
        units.add_mentioned(program);
        units
    }

    /// The unit and position of the state of an endpoint type. The unit that mentions it is searched first, if it is of that
    /// protocol.
    pub fn find(
        &self,
        endpoint: &EndpointType,
        mentioned_by: Option<usize>,
    ) -> Option<UnitStateId> {
        let units = mentioned_by
            .into_iter()
            .chain(self.of[endpoint.protocol.index()].iter().copied());
        let mut units = units.filter(|unit| self.units[*unit].protocol == endpoint.protocol);
        units.find_map(|unit| {
            let state = self.units[unit].position(endpoint.state, &endpoint.arguments)?;
            Some(UnitStateId { unit, state })
        })
    }

    /// The units of a protocol.
    pub fn of_protocol(&self, protocol: ProtocolId) -> impl Iterator<Item = &Unit> {
        self.of[protocol.index()]
            .iter()
            .map(|unit| &self.units[*unit])
    }

    /// The unit, and its state.
    pub fn at(&self, id: UnitStateId) -> (&Unit, &UnitState) {
        let unit = &self.units[id.unit];
        (unit, &unit.states[id.state])
    }

    fn add(
        &mut self,
        program: &Program,
        kind: UnitKind,
        protocol: ProtocolId,
        file: FileId,
    ) -> usize {
        let declared = program.protocol(protocol);
        let name = match kind {
            UnitKind::Instance(id) => &program.instance(id).name,
            UnitKind::Protocol | UnitKind::Mentioned => &declared.name,
        };
        let id = self.units.len();
        self.units.push(Unit {
            kind,
            protocol,
            file,
            prefix: spelling::protocol(&self.prefix, name.text()),
            file_name: spelling::file(&spelling::word(name.text())),
            states: Vec::new(),
            plain: vec![None; declared.states.len()],
            generic: BTreeMap::new(),
        });
        self.of[protocol.index()].push(id);
        id
    }

    /// Adds a state and all states that follow it.
    fn reach(&mut self, program: &Program, unit: usize, state: StateId, arguments: Vec<Type>) {
        let protocol = program.protocol(self.units[unit].protocol);
        let mut queue = VecDeque::from([(state, arguments)]);
        while let Some((state, arguments)) = queue.pop_front() {
            let is_known = self.units[unit].position(state, &arguments).is_some();
            if is_known || arguments.iter().map(Type::count).sum::<usize>() > PARTS {
                continue;
            }
            for message in &protocol.state(state).messages {
                if let Next::State {
                    state,
                    arguments: next,
                } = &message.next
                {
                    let next = next
                        .iter()
                        .map(|ty| canonical(program, ty).substitute(&arguments));
                    queue.push_back((*state, next.collect()));
                }
            }
            self.push(program, unit, state, arguments);
        }
    }

    fn push(&mut self, program: &Program, unit: usize, state: StateId, arguments: Vec<Type>) {
        let declared = program.protocol(self.units[unit].protocol).state(state);
        let mut name = spelling::word(declared.name.text());
        let own = match self.units[unit].kind {
            UnitKind::Instance(id) => {
                let own = program.instance(id).arguments.iter();
                Some(own.map(|ty| canonical(program, ty)).collect::<Vec<_>>())
            }
            UnitKind::Protocol | UnitKind::Mentioned => None,
        };
        if !arguments.is_empty() && own.as_ref() != Some(&arguments) {
            for argument in &arguments {
                name.push('_');
                name.push_str(&self.suffix(program, argument, Some(unit)));
            }
        }
        let unit = &mut self.units[unit];
        let position = u32::try_from(unit.states.len()).expect("fewer than 2^32 states");
        if arguments.is_empty() {
            unit.plain[state.index()] = Some(position);
        } else {
            unit.generic.insert((state, arguments.clone()), position);
        }
        unit.states.push(UnitState {
            state,
            arguments,
            name,
            travels: false,
        });
    }

    /// A type argument as part of a name: `u64`, `opt_u64`, `list_str`. The type has no aliases, and no bounds.
    pub fn suffix(&self, program: &Program, ty: &Type, mentioned_by: Option<usize>) -> String {
        self.words(program, &stored(ty, Lengths::NONE, None), mentioned_by)
    }

    /// A type without aliases as part of a name. Bounds of inline values are in it too: `str32`, `list10_u64`.
    pub fn words(&self, program: &Program, ty: &CType, mentioned_by: Option<usize>) -> String {
        let inner = |ty| self.words(program, ty, mentioned_by);
        match ty {
            CType::Builtin(builtin) => builtin_word(*builtin).to_owned(),
            CType::Inline(Bytes::Text, most) => format!("str{most}"),
            CType::Inline(Bytes::Any, most) => format!("bytes{most}"),
            CType::List(item) => format!("list_{}", inner(item)),
            CType::Array(item, most) => format!("list{most}_{}", inner(item)),
            CType::Option(item) => format!("opt_{}", inner(item)),
            CType::Tuple(items) => {
                let items: Vec<String> = items.iter().map(inner).collect();
                format!("tuple{}_{}", items.len(), items.join("_"))
            }
            CType::Named(id) => {
                let declared = program.ty(*id);
                match declared.is_declared {
                    true => declared_word(program, &self.prefix, declared),
                    false => spelling::host(declared.name.text()),
                }
            }
            CType::Parameter(index) => format!("parameter{index}"),
            CType::Endpoint(endpoint) => match self.find(endpoint, mentioned_by) {
                Some(id) => {
                    let (unit, state) = self.at(id);
                    format!("{}_{}_{}", unit.prefix, endpoint.side.word(), state.name)
                }
                // Not generated yet: this is the name it will get.
                None => {
                    let protocol = program.protocol(endpoint.protocol);
                    let mut words = vec![
                        spelling::protocol(&self.prefix, protocol.name.text()),
                        endpoint.side.word().to_owned(),
                        spelling::word(protocol.state(endpoint.state).name.text()),
                    ];
                    let arguments = endpoint.arguments.iter();
                    words.extend(arguments.map(|ty| self.suffix(program, ty, mentioned_by)));
                    words.join("_")
                }
            },
        }
    }

    /// Follows endpoint types in messages and declared types until every state they mention is added, and marks those states.
    fn add_mentioned(&mut self, program: &Program) {
        for declared in &program.types {
            for ty in declared.definition.parts() {
                self.mention(program, &canonical(program, ty), None);
            }
        }
        let mut looked = Vec::new();
        loop {
            let mut is_done = true;
            let mut unit = 0;
            while unit < self.units.len() {
                if looked.len() == unit {
                    looked.push(0);
                }
                while looked[unit] < self.units[unit].states.len() {
                    self.mentions_of(program, unit, looked[unit]);
                    looked[unit] += 1;
                    is_done = false;
                }
                unit += 1;
            }
            if is_done {
                return;
            }
        }
    }

    fn mentions_of(&mut self, program: &Program, unit: usize, state: usize) {
        let protocol = program.protocol(self.units[unit].protocol);
        let declared = protocol.state(self.units[unit].states[state].state);
        for message in &declared.messages {
            for entry in &message.entries {
                let may_hold_endpoints = |part: &Type| {
                    matches!(
                        part,
                        Type::Endpoint(_) | Type::Parameter(_) | Type::Named(_)
                    )
                };
                if entry.ty.any(&may_hold_endpoints) {
                    let arguments = &self.units[unit].states[state].arguments;
                    let ty = canonical(program, &entry.ty).substitute(arguments);
                    self.mention(program, &ty, Some(unit));
                }
            }
        }
    }

    fn mention(&mut self, program: &Program, ty: &Type, by: Option<usize>) {
        match ty {
            Type::Builtin(_) | Type::Named(_) | Type::Parameter(_) | Type::Error => {}
            Type::List(item) | Type::Option(item) => self.mention(program, item, by),
            Type::Tuple(items) => items
                .iter()
                .for_each(|item| self.mention(program, item, by)),
            Type::Endpoint(endpoint) => {
                if !self.known[endpoint.protocol.index()] {
                    return;
                }
                let protocol = program.protocol(endpoint.protocol);
                if self.find(endpoint, by).is_none() {
                    let of = &self.of[endpoint.protocol.index()];
                    let open =
                        |unit: &&usize| !matches!(self.units[**unit].kind, UnitKind::Instance(_));
                    let unit = of.iter().find(open).copied().unwrap_or_else(|| {
                        self.add(
                            program,
                            UnitKind::Mentioned,
                            endpoint.protocol,
                            protocol.file,
                        )
                    });
                    self.reach(program, unit, endpoint.state, endpoint.arguments.clone());
                }
                if let Some(id) = self.find(endpoint, by) {
                    self.units[id.unit].states[id.state].travels = true;
                }
            }
        }
    }
}

impl Unit {
    /// The position in `states` of a state with these arguments, which contain no aliases.
    pub fn position(&self, state: StateId, arguments: &[Type]) -> Option<usize> {
        let position = if arguments.is_empty() {
            self.plain[state.index()]
        } else {
            self.generic.get(&(state, arguments.to_vec())).copied()
        };
        position.map(|position| position as usize)
    }
}

/// What the names of a declared type start with.
pub fn declared_word(
    program: &Program,
    prefix: &str,
    declared: &crate::protocol::TypeDeclaration,
) -> String {
    let mut package = String::new();
    for segment in &program.file(declared.file).package {
        package.push_str(&spelling::word(segment.text()));
        package.push('_');
    }
    spelling::declared(prefix, &package, declared.name.text())
}

/// The type with every alias replaced by what it stands for, so that equal types have the same form. An alias for a very large
/// type is kept, because the size may double with every alias in a chain.
pub fn canonical(program: &Program, ty: &Type) -> Type {
    ty.replaced(&|part| {
        let (target, _) = program.aliased(part)?;
        let Type::Named(id) = part else { return None };
        is_small_alias(program, *id).then(|| canonical(program, target))
    })
}

/// Whether a type is an alias that is replaced in names.
pub fn is_small_alias(program: &Program, id: TypeId) -> bool {
    let target = program.ty(id).definition.alias();
    target.is_some_and(|target| is_small(program, target, &mut 64))
}

/// Whether a type has no more parts than the budget once its aliases are replaced; false for an alias that leads back to itself.
fn is_small(program: &Program, ty: &Type, budget: &mut u32) -> bool {
    if *budget == 0 {
        return false;
    }
    *budget -= 1;
    match ty {
        Type::Builtin(_) | Type::Parameter(_) | Type::Error => true,
        Type::List(item) | Type::Option(item) => is_small(program, item, budget),
        Type::Tuple(items) => items.iter().all(|item| is_small(program, item, budget)),
        Type::Named(id) => {
            let target = program.ty(*id).definition.alias();
            target.is_none_or(|target| is_small(program, target, budget))
        }
        Type::Endpoint(endpoint) => {
            let mut arguments = endpoint.arguments.iter();
            arguments.all(|argument| is_small(program, argument, budget))
        }
    }
}
