//! A type that is nested more deeply than the target languages' compilers accept.

use crate::check::findings::{Findings, Subject};
use crate::protocol::limits::{LIST_DEPTH, TYPE_DEPTH};
use crate::protocol::{Next, Program, Protocol, Type};
use crate::source::Span;

rule! {
    "deep-type", error,
    "a type is nested more deeply than compilers accept"
}

fn find(subject: &Subject<'_>, findings: &mut Findings) {
    if findings.has_any(&["recursive-type", "expanding-recursion"]) {
        return;
    }
    let program = subject.program;
    let depths = Depths::of(program);
    for file in &program.files {
        for id in &file.instances {
            let instance = program.instance(*id);
            let arguments = instance
                .arguments
                .iter()
                .map(|ty| depths.ty(ty, &[]))
                .collect();
            if subject.is_known(instance.protocol) {
                let protocol = program.protocol(instance.protocol);
                look(protocol, arguments, &depths, findings);
            }
        }
        for id in &file.protocols {
            if !subject.is_known(*id) {
                continue;
            }
            let protocol = program.protocol(*id);
            let own = vec![1; protocol.start().parameters.len()];
            look(protocol, own, &depths, findings);
        }
    }
}

/// Finds how deep the arguments of each state can become. A depth only grows and is capped, so the loop terminates.
fn look(protocol: &Protocol, start: Vec<u32>, depths: &Depths, findings: &mut Findings) {
    let mut known: Vec<Option<Vec<u32>>> = vec![None; protocol.states.len()];
    known[0] = Some(start);
    let mut waiting = vec![0];
    while let Some(index) = waiting.pop() {
        let own = known[index].clone().unwrap_or_default();
        for message in &protocol.states[index].messages {
            if let Some(entry) = message
                .entries
                .iter()
                .find(|entry| depths.ty(&entry.ty, &own) > TYPE_DEPTH)
            {
                tell(entry.ty_span, findings);
                return;
            }
            if let Next::State { state, arguments } = &message.next {
                let arguments: Vec<u32> = arguments.iter().map(|ty| depths.ty(ty, &own)).collect();
                let there = &mut known[state.index()];
                let grows = match there {
                    None => true,
                    Some(there) => arguments
                        .iter()
                        .zip(there.iter())
                        .any(|(new, old)| new > old),
                };
                if grows {
                    let old = there.take().unwrap_or_else(|| vec![0; arguments.len()]);
                    *there = Some(
                        old.into_iter()
                            .zip(arguments)
                            .map(|(old, new)| old.max(new))
                            .collect(),
                    );
                    waiting.push(state.index());
                }
            }
        }
    }
}

fn tell(at: Span, findings: &mut Findings) {
    findings.error(
        RULE.finding(at, "this type is nested too deeply")
            .label("followed through aliases, structs, enums and type arguments")
            .note("the limit is a depth of 96: a list counts as four, everything else as one")
            .help("make it flatter: use a list of structs instead of lists of lists"),
    );
}

/// The depth of each declared type. Where a list closes a loop, the loop is followed once.
struct Depths {
    named: Vec<u32>,
}

impl Depths {
    fn of(program: &Program) -> Depths {
        let mut depths = Depths {
            named: vec![0; program.types.len()],
        };
        for id in program.parts_first(&|id| program.ty(id).definition.named()) {
            let definition = &program.ty(id).definition;
            let parts = definition.parts().into_iter();
            let depth = parts.map(|ty| depths.ty(ty, &[])).max().unwrap_or(0);
            let own = u32::from(definition.alias().is_none());
            depths.named[id.index()] = (depth + own).min(2 * TYPE_DEPTH);
        }
        depths
    }

    fn ty(&self, ty: &Type, arguments: &[u32]) -> u32 {
        let deepest = |types: &[Type]| {
            types
                .iter()
                .map(|ty| self.ty(ty, arguments))
                .max()
                .unwrap_or(0)
        };
        let depth = match ty {
            Type::Builtin(_) | Type::Error => 1,
            Type::Named(id) => self.named[id.index()].max(1),
            Type::Parameter(index) => arguments.get(*index as usize).copied().unwrap_or(1),
            Type::List(item) => LIST_DEPTH + self.ty(item, arguments),
            Type::Option(item) => 1 + self.ty(item, arguments),
            Type::Tuple(items) => 1 + deepest(items),
            Type::Endpoint(endpoint) => 1 + deepest(&endpoint.arguments),
        };
        depth.min(2 * TYPE_DEPTH)
    }
}
