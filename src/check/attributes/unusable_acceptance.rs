//! An `#[accepts(...)]` that cannot have the effect that it says.

use crate::check::findings::{Findings, Subject};
use crate::check::names::target_clash::TOO_BROKEN;
use crate::fingerprint::Fingerprint;
use crate::protocol::limits::ACCEPTED;
use crate::protocol::{Accepted, Program, Protocol, ProtocolId, Side, Type};
use crate::relation::{View, canonical};
use std::collections::HashMap;

rule! {
    "unusable-acceptance", error,
    "an older fingerprint cannot be accepted where it is written"
}

fn find(subject: &Subject<'_>, findings: &mut Findings) {
    let program = subject.program;
    // The fingerprint of a protocol that is not known completely would say nothing. Types and endpoints lead to other declarations.
    let is_complete = !findings.is_incomplete() && !findings.has_any(&TOO_BROKEN);
    let is_known = |protocol: &Protocol| {
        let mut entries = protocol.messages().flat_map(|message| &message.entries);
        let is_built_in = entries.all(|entry| matches!(entry.ty, Type::Builtin(_)));
        protocol.is_known() && (is_complete || is_built_in)
    };
    for (index, protocol) in program.protocols.iter().enumerate() {
        if protocol.states.is_empty() {
            continue;
        }
        let id = ProtocolId::new(index);
        match protocol.accepts.first() {
            Some(first) if protocol.is_generic() => generic(program, first, id, findings),
            Some(_) => {
                let view = View::of(program, id);
                all(&protocol.accepts, view, is_known(protocol), findings);
            }
            None => {}
        }
    }
    for instance in &program.instances {
        if !instance.accepts.is_empty() {
            let view = View::instance(program, instance);
            let is_known = is_complete && is_known(program.protocol(instance.protocol));
            all(&instance.accepts, view, is_known, findings);
        }
    }
}

fn generic(program: &Program, first: &Accepted, id: ProtocolId, findings: &mut Findings) {
    let name = &program.protocol(id).name;
    let text = format!("`{name}` has type parameters, and therefore no fingerprint");
    let error = RULE.finding(first.span, text);
    let error = error.note("each of its instances has its own fingerprint");
    let mut instances = program.instances.iter();
    findings.error(match instances.find(|found| found.protocol == id) {
        Some(instance) => error
            .related(instance.name.span, "this is an instance")
            .help(format!("put the attribute before `proto! {}`", instance.name)),
        None => error.help(format!(
            "declare an instance, such as `proto! numbers = {name}<u64>;`, and put the attribute before it"
        )),
    });
}

/// What is wrong with the attributes of one protocol or instance.
fn all(accepts: &[Accepted], view: View<'_>, is_known: bool, findings: &mut Findings) {
    let name = view.name();
    let text = is_known.then(|| canonical(view));
    if let Some(obstacle) = text.as_ref().and_then(|text| text.obstacle.as_ref()) {
        let text =
            format!("sessions of `{name}` do not leave their process, so it accepts nothing");
        let error = RULE.finding(accepts[0].span, text);
        findings.error(
            error
                .note(obstacle.to_string())
                .help("remove the attribute"),
        );
        return;
    }
    let own = text.map(|text| Fingerprint::of_text(&text).0);
    let mut seen: HashMap<[u8; 16], &Accepted> = HashMap::new();
    let mut counts: HashMap<Side, usize> = HashMap::new();
    for accepted in accepts {
        let count = counts.entry(accepted.side).or_default();
        *count += 1;
        let error = |text: String| RULE.finding(accepted.span, text);
        let side = accepted.side.word();
        let first = seen.get(&accepted.fingerprint).copied();
        if own == Some(accepted.fingerprint) {
            let error = error(format!("this is the fingerprint of `{name}` itself"));
            let error = error.note("sides with the same fingerprint always talk to each other");
            findings.error(error.fix("remove the attribute", accepted.span, ""));
        } else if let Some(first) = first.filter(|first| first.side == accepted.side) {
            let error = error(format!("the {side} accepts this fingerprint twice"))
                .label("the second time")
                .related(first.span, "the first time");
            findings.error(error.fix("remove one of them", accepted.span, ""));
        } else if let Some(first) = first {
            let error = error("both sides accept this fingerprint".to_owned())
                .label(format!("the {side} does"))
                .related(first.span, format!("the {} does", first.side.word()))
                .note("if two versions differ, at most one side of the new version can talk to the old one");
            findings
                .error(error.help("`duologue breaking --against OLD -v` reports which side it is"));
        } else if *count == ACCEPTED + 1 {
            let error = error(format!(
                "the {side} accepts more than {ACCEPTED} fingerprints"
            ));
            let error = error.note(format!("a side that connects can send at most {ACCEPTED}"));
            findings.error(error.help("remove those of versions that no program uses any more"));
        }
        seen.entry(accepted.fingerprint).or_insert(accepted);
    }
}
