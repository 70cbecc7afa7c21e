//! The page of a state.

use super::page::{Crumb, Page};
use crate::doc::context::{Context, bytes, the};
use crate::doc::talk::{self, Talk};
use crate::html::Html;
use crate::picture::{self, Layout};
use askama::Template;
use duologue::endpoint::Endpoint;
use duologue::graph::diagram::title;
use duologue::graph::{StateGraph, Way};
use duologue::protocol::{Message, Next, Protocol, ProtocolId, Side, StateId};

/// The most messages that are listed as leading to a state.
const LEADING: usize = 40;

#[derive(Template)]
#[template(path = "state.html")]
struct StatePage {
    title: String,
    docs: Html,
    turn: String,
    place: Html,
    picture: Html,
    within: Option<u64>,
    is_reachable: bool,
    /// Whether a message has documentation.
    has_docs: bool,
    messages: Vec<MessageView>,
    languages: Vec<LanguageView>,
    here: Option<Talk>,
    is_start: bool,
    out: Option<Talk>,
    is_over: bool,
    leading: Vec<Leading>,
    more_leading: usize,
}

struct MessageView {
    name: String,
    signature: Html,
    next: Html,
    bytes: String,
    docs: Html,
}

struct LanguageView {
    title: &'static str,
    /// The language has this state's names only for instances.
    is_missing: bool,
    client: String,
    client_calls: Vec<String>,
    server: String,
    server_calls: Vec<String>,
}

struct Leading {
    state: Html,
    message: Html,
}

/// What the pages of a protocol's states share.
pub struct Surroundings {
    here: Vec<Option<Way>>,
    out: Vec<Option<Way>>,
    /// The messages that lead to each state.
    leading: Vec<Vec<(StateId, usize)>>,
}

impl Surroundings {
    pub fn of(protocol: &Protocol) -> Surroundings {
        let graph = StateGraph::of(protocol);
        let mut leading = vec![Vec::new(); protocol.states.len()];
        for id in protocol.state_ids() {
            for (position, message) in protocol.state(id).messages.iter().enumerate() {
                if let Some(next) = message.next.state() {
                    leading[next.index()].push((id, position));
                }
            }
        }
        Surroundings {
            here: graph.ways_here(),
            out: graph.ways_out(),
            leading,
        }
    }
}

pub fn page(context: &Context<'_>, id: ProtocolId, state: StateId, around: &Surroundings) -> Page {
    let checked = context.checked.protocol(id);
    let protocol = checked.protocol();
    let declared = protocol.state(state);
    let turn = match declared.active_side() {
        Some(side) => format!("{} sends, and {} receives.", the(side), the(side.dual())),
        None => "the session is over.".to_owned(),
    };
    let leading = &around.leading[state.index()];
    let encodings = context.sizes.messages(declared, &[]);
    let messages = encodings.zip(&declared.messages);
    let full_name = context.full_name(protocol.file, &protocol.name);
    let links = |state| context.addresses.state(id, state).to_owned();
    let picture = picture::beside(protocol, context.sources, state, leading);
    let template = StatePage {
        picture: Html::markup(picture::inline(&picture, &Layout::of(&picture), &links)),
        title: title(declared),
        docs: context.docs(&declared.docs),
        turn,
        place: context.place(declared.name.span),
        within: declared.within.map(|limit| limit.most),
        is_reachable: checked.is_reachable(state),
        has_docs: declared
            .messages
            .iter()
            .any(|message| !message.docs.is_empty()),
        messages: messages
            .map(|(encoding, message)| MessageView {
                name: message.name.to_string(),
                signature: context.signature(message),
                next: next(context, message),
                bytes: bytes(encoding.size),
                docs: context.docs(&message.docs),
            })
            .collect(),
        languages: languages(context, id, state),
        here: talk::to(context, id, state, &around.here),
        is_start: state.index() == 0,
        out: talk::out(context, id, state, &around.out),
        is_over: declared.messages.is_empty(),
        leading: leading
            .iter()
            .take(LEADING)
            .map(|(from, position)| Leading {
                state: context.state(id, *from),
                message: context.signature(&protocol.state(*from).messages[*position]),
            })
            .collect(),
        more_leading: leading.len().saturating_sub(LEADING),
    };
    Page {
        address: context.addresses.state(id, state).to_owned(),
        title: format!("{} of {full_name}", declared.name),
        crumbs: vec![Crumb {
            address: context.addresses.protocol(id).to_owned(),
            text: full_name,
        }],
        content: template.render(),
    }
}

/// What follows a message: a state, or the end of the session.
pub fn next(context: &Context<'_>, message: &Message) -> Html {
    match &message.next {
        Next::End | Next::Error => Html::text("the end"),
        Next::State { .. } => {
            let mut html = Html::markup("<code>".to_owned());
            html.add(&context.code(message.next_span));
            html.mark("</code>");
            html
        }
    }
}

fn languages(context: &Context<'_>, id: ProtocolId, state: StateId) -> Vec<LanguageView> {
    let protocol = context.program.protocol(id);
    let all = context.names.iter().map(|(target, names)| {
        let names = names.state(id, state);
        let sides = Side::BOTH.map(|side| {
            let activity = Endpoint::of(protocol, side).activity(state);
            let calls = names.map_or_else(Vec::new, |names| names.calls(activity));
            let endpoint = names.map_or("", |names| names.endpoint(side));
            let calls = calls.into_iter().map(str::to_owned).collect();
            (endpoint.to_owned(), calls)
        });
        let [(client, client_calls), (server, server_calls)] = sides;
        LanguageView {
            title: target.title(),
            is_missing: names.is_none(),
            client,
            client_calls,
            server,
            server_calls,
        }
    });
    all.collect()
}
