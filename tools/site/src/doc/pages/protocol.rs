//! The page of a protocol.

use super::page::Page;
use crate::doc::changes::{FindingView, VerdictView};
use crate::doc::context::{Context, the};
use crate::doc::table;
use crate::html::{Html, sentence};
use crate::picture::{self, Layout};
use askama::Template;
use duologue::fingerprint::Fingerprint;
use duologue::graph::diagram::turn;
use duologue::protocol::ProtocolId;
use duologue::relation::{View, canonical};

#[derive(Template)]
#[template(path = "protocol.html")]
struct ProtocolPage<'a> {
    name: &'a str,
    docs: Html,
    facts: Vec<Fact>,
    verdict: Option<VerdictView>,
    findings: Vec<FindingView>,
    picture: Option<Html>,
    /// Why there is no picture.
    no_picture: String,
    states: Vec<StateRow>,
    table: Html,
}

struct Fact {
    name: &'static str,
    text: Html,
}

struct StateRow {
    state: Html,
    turn: String,
    summary: Html,
    messages: Vec<MessageRow>,
}

struct MessageRow {
    signature: Html,
    next: Html,
    docs: Html,
}

pub fn page(
    context: &Context<'_>,
    id: ProtocolId,
    verdict: Option<VerdictView>,
    findings: Vec<FindingView>,
) -> Page {
    let protocol = context.program.protocol(id);
    let full_name = context.full_name(protocol.file, &protocol.name);
    let links = |state| context.addresses.state(id, state).to_owned();
    let (picture, no_picture) = match picture::whole(protocol, context.sources) {
        Ok(picture) => {
            let drawn = picture::inline(&picture, &Layout::of(&picture), &links);
            (Some(Html::markup(drawn)), String::new())
        }
        Err(too_large) => (None, too_large.to_string()),
    };
    let states = protocol.state_ids().map(|state| {
        let declared = protocol.state(state);
        let messages = declared.messages.iter().map(|message| MessageRow {
            signature: context.signature(message),
            next: super::state::next(context, message),
            docs: context.docs(&message.docs),
        });
        StateRow {
            state: context.state(id, state),
            turn: turn(declared),
            summary: Html::text(&crate::doc::markdown::summary(&declared.docs)),
            messages: messages.collect(),
        }
    });
    let template = ProtocolPage {
        name: &full_name,
        docs: context.docs(&protocol.docs),
        facts: facts(context, id),
        verdict,
        findings,
        picture,
        no_picture,
        states: states.collect(),
        table: table::table(context, id),
    };
    Page::new(context.addresses.protocol(id), full_name.clone(), &template)
}

fn facts(context: &Context<'_>, id: ProtocolId) -> Vec<Fact> {
    let checked = context.checked.protocol(id);
    let protocol = checked.protocol();
    let mut facts = Vec::new();
    let mut add = |name, text: Html| facts.push(Fact { name, text });
    let first = protocol.start().active_side().map_or("neither side", the);
    add("Sends first", Html::text(first));
    let capacity = format!(
        "{} to the server, {} to the client",
        checked.capacity_to_server().words(),
        checked.capacity_to_client().words()
    );
    add("In flight", Html::text(&capacity));
    if !protocol.dual_of.is_empty() {
        let mut html = Html::default();
        for (index, (dual, _)) in protocol.dual_of.iter().enumerate() {
            if index > 0 {
                html.push(", ");
            }
            let name = context.program.protocol(*dual).name.text();
            html.link(context.addresses.protocol(*dual), name);
        }
        add("Dual of", html);
    }
    if !protocol.is_generic() {
        let canonical = canonical(View::of(context.program, id));
        match &canonical.obstacle {
            Some(obstacle) => {
                let words = format!("only within a process: {obstacle}");
                add("Runs", sentence(&words));
            }
            None => {
                let fingerprint = Fingerprint::of_text(&canonical).to_string();
                add("Fingerprint", sentence(&format!("`{fingerprint}`")));
            }
        }
    }
    let instances = context.program.instances.iter();
    let instances = instances.filter(|instance| instance.protocol == id);
    let mut named = Html::default();
    for instance in instances {
        if !named.is_empty() {
            named.push(", ");
        }
        let address = context
            .source_address(instance.name.span)
            .unwrap_or_default();
        named.link(&address, instance.name.text());
    }
    if !named.is_empty() {
        add("Instances", named);
    }
    let all = context.names.iter().filter_map(|(target, names)| {
        let names = names.protocols[id.index()].as_ref()?;
        Some(format!("`{}` in {}", names.name, target.title()))
    });
    let all: Vec<String> = all.collect();
    add("Generated as", sentence(&all.join(", ")));
    add("Declared in", context.place(protocol.name.span));
    facts
}
