//! The call hierarchy of states: the messages that lead to a state, and those that lead out of it.

use super::requests::symbol_kind;
use super::{at, view};
use crate::answer::{ItemKind, state_at, transitions};
use crate::convert::View;
use crate::state::State;
use duologue::protocol::{ProtocolId, StateId};
use gen_lsp_types::*;
use std::rc::Rc;

pub fn prepared(
    state: &mut State<'_>,
    asked: &CallHierarchyPrepareParams,
) -> Option<Vec<CallHierarchyItem>> {
    let (view, offset) = at(state, &asked.text_document_position_params)?;
    let (protocol, found) = state_at(&view.snapshot, offset)?;
    Some(vec![item(&view, protocol, found, state)])
}

fn item(view: &View, protocol: ProtocolId, id: StateId, state: &State<'_>) -> CallHierarchyItem {
    let protocol = view.snapshot.program().protocol(protocol);
    let found = protocol.state(id);
    let sends = found
        .active_side()
        .map(|side| format!(", {} sends", side.word()));
    CallHierarchyItem {
        name: found.name.to_string(),
        kind: symbol_kind(ItemKind::State),
        tags: None,
        detail: Some(format!("{}{}", protocol.name, sends.unwrap_or_default())),
        uri: view.uri(found.name.span.source, &state.documents),
        range: view.span_range(found.span),
        selection_range: view.span_range(found.name.span),
        data: None,
    }
}

/// The other states, each with the ranges of the messages between them and the state of an item.
fn others(
    state: &mut State<'_>,
    of: &CallHierarchyItem,
    is_incoming: bool,
) -> Option<Vec<(CallHierarchyItem, Vec<Range>)>> {
    let view: Rc<View> = view(state, &TextDocumentIdentifier::new(of.uri.clone()))?;
    let offset = view.offset(of.selection_range.start);
    let (protocol, own) = state_at(&view.snapshot, offset)?;
    let mut found: Vec<(StateId, Vec<Range>)> = Vec::new();
    for (from, to, message) in transitions(view.snapshot.program().protocol(protocol)) {
        let (other, here) = match is_incoming {
            true => (from, to),
            false => (to, from),
        };
        if here != own {
            continue;
        }
        let range = view.span_range(message);
        match found.iter_mut().find(|(known, _)| *known == other) {
            Some((_, ranges)) => ranges.push(range),
            None => found.push((other, vec![range])),
        }
    }
    let found = found.into_iter();
    let found = found.map(|(other, ranges)| (item(&view, protocol, other, state), ranges));
    Some(found.collect())
}

pub fn incoming(
    state: &mut State<'_>,
    asked: &CallHierarchyIncomingCallsParams,
) -> Option<Vec<CallHierarchyIncomingCall>> {
    let found = others(state, &asked.item, true)?.into_iter();
    Some(
        found
            .map(|(from, ranges)| CallHierarchyIncomingCall::new(from, ranges))
            .collect(),
    )
}

pub fn outgoing(
    state: &mut State<'_>,
    asked: &CallHierarchyOutgoingCallsParams,
) -> Option<Vec<CallHierarchyOutgoingCall>> {
    let found = others(state, &asked.item, false)?.into_iter();
    Some(
        found
            .map(|(to, ranges)| CallHierarchyOutgoingCall::new(to, ranges))
            .collect(),
    )
}
