//! Robots: a header and a source for each unit that has them, with a function for each side that plays a session through the
//! generated functions, and the tables that it plays by.

mod tables;

use crate::languages::c::names::{Header, OfState, OfUnit, Own, handle};
use crate::languages::c::protocol::source::{SourceFootView, SourceView};
use crate::languages::c::spelling;
use crate::languages::c::spelling::{render, render_functions};
use crate::languages::c::types::inline;
use crate::languages::c::units::{UnitKind, canonical};
use crate::languages::c::view::{FootView, UnitView};
use crate::protocol::{Entry, Message, Next, Side};
use crate::relation::View;
use crate::robots::{Absent, Makeable, Node, Plan};
use askama::Template;
use std::collections::BTreeSet;
use tables::Tables;

/// The beginning of the header.
#[derive(Template)]
#[template(path = "c/robots_head.h.jinja")]
struct HeadView {
    source: String,
    guard: String,
    owner: String,
    header: String,
    prefix: String,
    table: String,
}

/// What the header declares for a side.
#[derive(Template)]
#[template(path = "c/robots.h.jinja")]
struct SideView {
    side: &'static str,
    hooks: String,
    robot: String,
    endpoint: String,
    /// The hooks, as members.
    makes: Vec<String>,
    shows: Vec<String>,
    receives: Vec<String>,
}

/// The function of a side.
#[derive(Template)]
#[template(path = "c/robots.c.jinja")]
struct RobotView {
    role: &'static str,
    hooks: String,
    robot: String,
    endpoint: String,
    handle: &'static str,
    close: String,
    table: String,
    hosts: Option<HostsView>,
    count: usize,
    nodes: Vec<NodeView>,
}

/// The hooks of a side for host types.
struct HostsView {
    make: String,
    show: String,
    hosts: String,
    makes: Vec<HostView>,
    shows: Vec<HostView>,
}

struct HostView {
    number: usize,
    word: String,
    ty: String,
}

/// What a side does in a node.
struct NodeView {
    number: usize,
    sends: bool,
    may_wait: bool,
    endpoint: String,
    handle: &'static str,
    received: String,
    state: String,
    close: String,
    free: String,
    recv: String,
    hook: String,
    messages: Vec<MessageView>,
}

struct MessageView {
    constant: String,
    member: String,
    send: String,
    arguments: Vec<String>,
    next: Option<NextView>,
    number: usize,
}

struct NextView {
    endpoint: String,
    handle: &'static str,
    close: String,
}

/// The robots of a unit.
pub struct Robots<'a> {
    view: &'a UnitView<'a>,
    plan: Plan<'a>,
    /// For each node, the position of its state in the unit.
    places: Vec<usize>,
    makeable: &'a Makeable,
}

impl<'a> Robots<'a> {
    /// The robots of a unit.
    ///
    /// # Errors
    ///
    /// Why it has none.
    pub fn of(view: &'a UnitView<'a>, makeable: &'a Makeable) -> Result<Robots<'a>, Absent> {
        let program = view.types.program;
        let whole = match view.unit.kind {
            UnitKind::Mentioned => return Err(Absent::Nothing),
            UnitKind::Protocol => View::of(program, view.unit.protocol),
            UnitKind::Instance(id) => View::instance(program, program.instance(id)),
        };
        let plan = Plan::of(whole, makeable)?;
        let place = |node: &Node| {
            let arguments = node.arguments.iter().map(|ty| canonical(program, ty));
            let place = view
                .unit
                .position(node.state, &arguments.collect::<Vec<_>>());
            place.expect("a unit has all states that its sessions reach")
        };
        let places = plan.nodes.iter().map(place).collect();
        Ok(Robots {
            view,
            plan,
            places,
            makeable,
        })
    }

    /// The text of the header.
    pub fn header(&self) -> String {
        let view = self.view;
        let tables = Tables::of(self);
        let head = HeadView {
            source: spelling::harmless(&view.types.program.file(view.unit.file).path),
            guard: view.unit.guard(Header::Robots),
            owner: view.owner(),
            header: view.unit.file(Header::Own),
            prefix: view.unit.prefix.clone(),
            table: view.unit.own(OfUnit::RobotTable),
        };
        let mut text = String::new();
        render(&head, &mut text);
        for side in [Side::Client, Side::Server] {
            render_functions(&self.side(side, &tables), &mut text);
        }
        FootView::write(BTreeSet::new(), &mut text);
        text
    }

    /// The text of the source.
    pub fn source(&self) -> String {
        let view = self.view;
        let mut text = String::new();
        let head = SourceView {
            source: spelling::harmless(&view.types.program.file(view.unit.file).path),
            header: view.unit.file(Header::Robots),
        };
        render(&head, &mut text);
        text.push_str("\n\n");
        let tables = Tables::of(self);
        text.push_str(&tables.text);
        for side in [Side::Client, Side::Server] {
            render_functions(&self.robot(side, &tables), &mut text);
        }
        render(&SourceFootView, &mut text);
        text.push('\n');
        text
    }

    fn side(&self, side: Side, tables: &Tables) -> SideView {
        let unit = self.view.unit;
        let mut receives = BTreeSet::new();
        let mut hooks = Vec::new();
        for (node, place) in self.plan.nodes.iter().zip(&self.places) {
            if node.sender != side && receives.insert(*place) {
                let (received, name) = (self.view.received(*place), &unit.states[*place].name);
                let start = format!("    const char *(*on_{name})(");
                let parameters = [
                    "void *context".to_owned(),
                    format!("const {received} *message"),
                ];
                hooks.push(spelling::wrapped(&start, &parameters, ");"));
            }
        }
        let make = |host: &tables::Host| {
            let start = format!("    bool (*make_{})(", host.word);
            let place = format!("{} *place", host.ty);
            let parameters = ["void *context", "duo_values *values", &place].map(str::to_owned);
            spelling::wrapped(&start, &parameters, ");")
        };
        let show = |host: &tables::Host| {
            let start = format!("    void (*show_{})(", host.word);
            let value = format!("const {} *value", host.ty);
            let parameters = ["void *context", &value, "duo_robot_text *text"].map(str::to_owned);
            spelling::wrapped(&start, &parameters, ");")
        };
        let makes = tables.hosts.iter().filter(|host| host.is_sent_by(side));
        SideView {
            side: side.word(),
            hooks: unit.own(OfUnit::RobotHooks(side)),
            robot: unit.own(OfUnit::Robot(side)),
            endpoint: self.view.endpoint_type(0, side),
            makes: makes.map(make).collect(),
            shows: tables.hosts.iter().map(show).collect(),
            receives: hooks,
        }
    }

    fn robot(&self, side: Side, tables: &Tables) -> RobotView {
        let view = self.view;
        let host = |(number, host): (usize, &tables::Host)| HostView {
            number,
            word: host.word.clone(),
            ty: host.ty.clone(),
        };
        let hosts = (!tables.hosts.is_empty()).then(|| {
            let all = tables.hosts.iter().enumerate();
            let made = all.clone().filter(|(_, host)| host.is_sent_by(side));
            let [make, show, hosts] = [Own::RobotMake, Own::RobotShow, Own::RobotHosts]
                .map(|own| format!("{}_{}", view.unit.ours(own), side.word()));
            HostsView {
                make,
                show,
                hosts,
                makes: made.map(host).collect(),
                shows: all.map(host).collect(),
            }
        });
        let nodes = self.plan.nodes.iter().enumerate();
        RobotView {
            role: spelling::role(side),
            hooks: view.unit.own(OfUnit::RobotHooks(side)),
            robot: view.unit.own(OfUnit::Robot(side)),
            endpoint: view.endpoint_type(0, side),
            handle: handle(view.state(0).direction, side),
            close: view.unit.of_state(0, OfState::Function(side, "close")),
            table: view.unit.own(OfUnit::RobotTable),
            hosts,
            count: self.plan.nodes.len(),
            nodes: nodes
                .map(|(number, node)| self.node(number, node, side))
                .collect(),
        }
    }

    fn node(&self, number: usize, node: &Node, side: Side) -> NodeView {
        let (view, place) = (self.view, self.places[number]);
        let name = |what| view.unit.of_state(place, OfState::Function(side, what));
        let sends = node.sender == side;
        let messages = self
            .plan
            .messages(node)
            .filter(|(_, edge)| edge.is_makeable || !sends);
        let messages = messages.map(|(message, edge)| MessageView {
            constant: view.constant(place, message),
            member: spelling::member(message.name.text()),
            send: view
                .unit
                .of_state(place, OfState::Send(side, "send", message)),
            arguments: message
                .entries
                .iter()
                .map(|entry| self.argument(place, message, entry))
                .collect(),
            next: self.next(place, message, side),
            number: edge.next.unwrap_or(self.plan.nodes.len()),
        });
        NodeView {
            number,
            sends,
            may_wait: view.leaves || view.may_wait[place],
            endpoint: view.endpoint_type(place, side),
            handle: handle(view.state(place).direction, side),
            received: view.received(place),
            state: view.table(place),
            close: name("close"),
            free: view.unit.of_state(place, OfState::Free),
            recv: name("recv_within"),
            hook: view.unit.states[place].name.clone(),
            messages: messages.collect(),
        }
    }

    fn next(&self, place: usize, message: &Message, side: Side) -> Option<NextView> {
        let view = self.view;
        let Next::State { .. } = message.next else {
            return None;
        };
        let next = view.next(place, message)?;
        Some(NextView {
            endpoint: view.endpoint_type(next, side),
            handle: handle(view.state(next).direction, side),
            close: view.unit.of_state(next, OfState::Function(side, "close")),
        })
    }

    /// How an entry of a message is sent.
    fn argument(&self, place: usize, message: &Message, entry: &Entry) -> String {
        let view = self.view;
        let member = spelling::member(message.name.text());
        let value = format!("message.as.{member}.{}", spelling::entry(entry.name.text()));
        let ty = view.entry_type(place, entry);
        match inline::shown_as(view.types, &ty, Some(view.id)) {
            Some((_, show)) => format!("{show}(&{value})"),
            None => value,
        }
    }
}
