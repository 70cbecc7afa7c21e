//! The headers by which a session between processes begins: in memory that two processes share, and over byte streams.

use crate::languages::c::names::{Begin, Header, OfUnit, Own, handle};
use crate::languages::c::protocol::functions::{FunctionView, FunctionsView};
use crate::languages::c::spelling;
use crate::languages::c::spelling::render;
use crate::languages::c::view::{FootView, UnitView};
use crate::protocol::Side;
use askama::Template;
use std::collections::BTreeSet;

#[derive(Template)]
#[template(path = "c/remote.h.jinja")]
struct HeadView {
    source: String,
    guard: String,
    owner: String,
    wire_header: String,
    prefix: String,
    /// The header of the runtime.
    runtime: &'static str,
    /// Whether the two-file runtime includes it.
    is_amalgamated: bool,
}

/// What connects the processes.
#[derive(Clone, Copy, PartialEq)]
enum Transport {
    Shm,
    Net,
}

/// One side of a protocol, as the functions of these headers name it.
struct SideView<'a> {
    view: &'a UnitView<'a>,
    side: Side,
    /// The type of its first endpoint, and the member with the handle.
    endpoint: String,
    handle: &'static str,
}

const SIDES: [Side; 2] = [Side::Client, Side::Server];

impl UnitView<'_> {
    /// The header of sessions in memory that two processes share.
    pub fn shm_header(&self) -> String {
        let functions = SIDES.map(|side| SideView::of(self, side).attach());
        self.header_of(Header::Shm, Transport::Shm, functions.into())
    }

    /// The header of sessions over byte streams.
    pub fn net_header(&self) -> String {
        let functions = SIDES.iter().flat_map(|side| {
            let side = SideView::of(self, *side);
            let call = std::iter::once(side.call());
            call.chain(Begin::ALL.map(|begin| side.begin(begin)))
                .collect::<Vec<_>>()
        });
        self.header_of(Header::Net, Transport::Net, functions.collect())
    }

    fn header_of(
        &self,
        header: Header,
        transport: Transport,
        functions: Vec<FunctionView>,
    ) -> String {
        let head = HeadView {
            source: spelling::harmless(&self.types.program.file(self.unit.file).path),
            guard: self.unit.guard(header),
            owner: self.owner(),
            wire_header: self.unit.file(Header::Wire),
            prefix: self.unit.prefix.clone(),
            runtime: match transport {
                Transport::Shm => "shm",
                Transport::Net => "net",
            },
            is_amalgamated: transport == Transport::Shm,
        };
        let mut text = String::new();
        render(&head, &mut text);
        render(&FunctionsView { functions }, &mut text);
        FootView::write(BTreeSet::new(), &mut text);
        text
    }
}

impl<'a> SideView<'a> {
    fn of(view: &'a UnitView<'a>, side: Side) -> SideView<'a> {
        SideView {
            view,
            side,
            endpoint: view.endpoint_type(0, side),
            handle: handle(view.state(0).direction, side),
        }
    }

    fn word(&self) -> &'static str {
        self.side.word()
    }

    fn wire(&self) -> String {
        format!("&{}", self.view.unit.ours(Own::Wire))
    }

    /// A function that returns what the runtime's `call` returns.
    fn function(
        &self,
        name: OfUnit,
        comment: &str,
        parameters: &[String],
        call: &str,
        arguments: &[String],
    ) -> FunctionView {
        let name = self.view.unit.own(name);
        let start = format!("DUO_MUST_CHECK DUO_API duo_status {name}");
        FunctionView {
            comment: format!("/** {comment}: see `{call}`. */\n"),
            head: spelling::head(&start, parameters),
            body: vec![spelling::head(&format!("    return {call}"), arguments) + ";"],
        }
    }

    fn attach(&self) -> FunctionView {
        let word = self.word();
        let parameters = [
            "int region".to_owned(),
            "const duo_shm_options *options".to_owned(),
            self.result(),
        ];
        let arguments = [
            "region".to_owned(),
            self.wire(),
            spelling::role(self.side).to_owned(),
            "options".to_owned(),
            self.place(),
        ];
        self.function(
            OfUnit::Attach(self.side),
            &format!("Attaches the {word}'s side of a session between processes"),
            &parameters,
            "duo_shm_attach",
            &arguments,
        )
    }

    /// The parameter that receives the first endpoint.
    fn result(&self) -> String {
        format!("{} *{}", self.endpoint, self.word())
    }

    fn place(&self) -> String {
        format!("&{}->{}", self.word(), self.handle)
    }

    /// The type of a function that is called with the first endpoint of each session.
    fn handler(&self, name: &str) -> String {
        let (endpoint, word) = (&self.endpoint, self.word());
        format!("void (*{name})({endpoint} {word}, const duo_peer *peer, void *context)")
    }

    /// The internal function by which the runtime calls a handler: the runtime knows no types.
    fn call(&self) -> FunctionView {
        let word = self.word();
        let start = format!(
            "DUO_API void {}",
            self.view.unit.own(OfUnit::Call(self.side))
        );
        let parameters = [
            "duo_endpoint endpoint",
            "const duo_peer *peer",
            "duo_handler *handler",
            "void *context",
        ];
        FunctionView {
            comment: String::new(),
            head: spelling::head(&start, &parameters.map(str::to_owned)),
            body: vec![
                format!("    {} {word} = {{endpoint}};", self.endpoint),
                format!(
                    "    (({})handler)({word}, peer, context);",
                    self.handler("")
                ),
            ],
        }
    }

    fn begin(&self, begin: Begin) -> FunctionView {
        let word = self.word();
        let role = spelling::role(self.side).to_owned();
        let options = "const duo_net_options *options".to_owned();
        let listener = "duo_listener *listener".to_owned();
        let over = "int descriptor".to_owned();
        let (comment, call, parameters, arguments) = match begin {
            Begin::Connect => (
                format!("Connects to an address as the {word}"),
                "duo_net_connect",
                vec!["const char *address".to_owned(), options, self.result()],
                vec!["address".to_owned(), self.wire(), role],
            ),
            Begin::ConnectOver => (
                format!("Connects over an existing connection as the {word}"),
                "duo_net_connect_over",
                vec![over, options, self.result()],
                vec!["descriptor".to_owned(), self.wire(), role],
            ),
            Begin::Accept => (
                format!("Accepts one session as the {word}"),
                "duo_net_accept",
                vec![listener, "uint64_t nanoseconds".to_owned(), self.result()],
                vec!["listener".to_owned(), self.wire(), role],
            ),
            Begin::AcceptOver => (
                format!("Accepts a session over an existing connection as the {word}"),
                "duo_net_accept_over",
                vec![over, options, self.result()],
                vec!["descriptor".to_owned(), self.wire(), role],
            ),
            Begin::Serve => (
                format!("Calls a handler for each session in which this process is the {word}"),
                "duo_listener_serve",
                vec![
                    listener,
                    options,
                    self.handler("handler"),
                    "void *context".to_owned(),
                ],
                vec!["listener".to_owned(), self.wire(), role],
            ),
        };
        let last = match begin {
            Begin::Serve => vec![
                "options".to_owned(),
                self.view.unit.own(OfUnit::Call(self.side)),
                "(duo_handler *)handler".to_owned(),
                "context".to_owned(),
            ],
            Begin::Accept => vec!["nanoseconds".to_owned(), self.place()],
            Begin::Connect | Begin::ConnectOver | Begin::AcceptOver => {
                vec!["options".to_owned(), self.place()]
            }
        };
        let arguments = [arguments, last].concat();
        self.function(
            OfUnit::Begin(self.side, begin),
            &comment,
            &parameters,
            call,
            &arguments,
        )
    }
}
