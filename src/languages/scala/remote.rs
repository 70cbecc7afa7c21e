//! What sessions with other processes need: how payloads are encoded, and a value for each side that transports use.

use super::layout::Document;
use super::object_scope::{GENERATED, ObjectScope, nested, tuple_paths};
use super::payload::number;
use super::spelling;
use super::three;
use super::whole::Whole;
use crate::check::{CheckedProgram, CheckedProtocol};
use crate::fingerprint::Fingerprint;
use crate::graph::Capacity;
use crate::protocol::{
    Builtin, Direction, InstanceId, Lengths, Message, Next, Side, State, StateId, Type,
};
use crate::relation::{Obstacle, View};
use crate::wire::{Plan, Size, Sizes, accepted};
use askama::Template;
use std::collections::BTreeMap;

/// The runtime's class that describes a protocol to transports.
const PROTOCOL: &str = "_root_.duologue.WireProtocol";

/// If there are more values than this, each message of a state is encoded by a method of its own,
/// because the JVM limits the size of a method.
const VALUES_IN_ONE_METHOD: usize = 400;

/// A side's object as a value: what follows its name, and its first members.
pub struct RoleView {
    pub base: &'static str,
    pub members: Vec<String>,
}

/// How the messages of a protocol or an instance are encoded.
#[derive(Template)]
#[template(path = "scala/remote.scala.jinja")]
pub struct RemoteView {
    name: String,
    fingerprint: String,
    capacity: usize,
    /// Calls that add the older fingerprints that its sides accept.
    accepts: Vec<String>,
    states: Vec<StateView>,
}

struct StateView {
    name: String,
    is_clients: bool,
    /// The names of its messages, separated by spaces.
    messages: String,
    rows: String,
    put: Vec<String>,
    get: Vec<String>,
    /// The cases of the messages whose payloads have a limit.
    limits: Vec<String>,
    /// How long the state may last, in milliseconds.
    within: Option<u64>,
    /// Methods to which `put` and `get` delegate in large states.
    parts: Vec<String>,
}

/// What a protocol or an instance needs, if it can leave the process.
pub struct Remote<'a> {
    protocol: CheckedProtocol<'a>,
    /// With its package.
    name: String,
    plan: Plan,
    /// The older fingerprints that each side accepts.
    accepts: [(Side, Vec<Fingerprint>); 2],
    reached: Vec<(StateId, Vec<Type>)>,
}

impl<'a> Remote<'a> {
    /// A protocol. `None` if it has no messages, or only its instances can leave the process.
    pub fn of_protocol(protocol: CheckedProtocol<'a>) -> Result<Option<Remote<'a>>, Obstacle> {
        let view = View::of(protocol.program(), protocol.id());
        Ok(Remote::of(
            view,
            protocol,
            Plan::of(view)?,
            protocol.instantiations(),
        ))
    }

    /// An instance of a generic protocol.
    pub fn of_instance(
        checked: &'a CheckedProgram,
        id: InstanceId,
    ) -> Result<Option<Remote<'a>>, Obstacle> {
        let instance = checked.program().instance(id);
        let view = View::instance(checked.program(), instance);
        let protocol = checked.protocol(instance.protocol);
        let reached = checked.instantiations_of(id);
        Ok(Remote::of(view, protocol, Plan::of(view)?, reached))
    }

    fn of(
        view: View<'a>,
        protocol: CheckedProtocol<'a>,
        plan: Plan,
        reached: Vec<(StateId, Vec<Type>)>,
    ) -> Option<Remote<'a>> {
        plan.fingerprint?;
        plan.first?;
        Some(Remote {
            protocol,
            name: match view.instance {
                Some(instance) => view.program.full_name(instance.file, instance.name.text()),
                None => view
                    .program
                    .full_name(view.description().file, view.name().text()),
            },
            plan,
            accepts: [Side::Client, Side::Server].map(|side| (side, accepted(view, side))),
            reached,
        })
    }

    /// A side's object. `first` is the class of its first endpoint, and `open` the code that creates it from `start`.
    pub fn role(side: Side, first: &str, open: &str) -> RoleView {
        let is_client = side == Side::Client;
        RoleView {
            base: " extends _root_.duologue.Role",
            members: vec![
                format!("type $First = {first}"),
                format!("def $protocol: {PROTOCOL} = $wire.protocol"),
                format!("def $isClient: _root_.scala.Boolean = {is_client}"),
                format!("def $open(start: _root_.duologue.Endpoint): {first} = {open}"),
            ],
        }
    }

    /// How the messages are encoded.
    pub fn view(&self, scope: &mut ObjectScope, sizes: &Sizes) -> RemoteView {
        scope.hide(std::iter::empty());
        let mut positions = BTreeMap::new();
        let mut states = Vec::new();
        for (id, arguments) in &self.reached {
            let state = self.protocol.protocol().state(*id);
            if let Some(direction) = state.direction {
                positions.insert((*id, arguments.clone()), positions.len());
                states.push((state, direction, arguments));
            }
        }
        let mut write = |(state, direction, arguments): &(&State, Direction, &Vec<Type>)| {
            let limits = sizes.messages(state, arguments).filter_map(|encoding| {
                let limit = long(encoding.limit?);
                Some(format!("case {} => {limit}", encoding.tag))
            });
            let encodings = sizes.messages(state, arguments);
            let rows = encodings.zip(&state.messages).map(|(encoding, message)| {
                let next = match &message.next {
                    Next::End | Next::Error => None,
                    Next::State {
                        state,
                        arguments: given,
                    } => {
                        let given = given.iter().map(|ty| ty.substitute(arguments));
                        positions.get(&(*state, given.collect()))
                    }
                };
                let Size { least, most } = encoding.size;
                let most = most.map_or("-1L".to_owned(), long);
                let next = next.map_or("-1".to_owned(), usize::to_string);
                format!("{}, {most}, {next}L", long(least))
            });
            let rows: Vec<String> = rows.collect();
            let names = state.messages.iter().map(|message| message.name.text());
            let names: Vec<&str> = names.collect();
            let mut view = StateView {
                name: spelling::literal(state.name.text()),
                is_clients: direction.active_side() == Side::Client,
                messages: spelling::literal(&names.join(" ")),
                rows: rows.join(", "),
                put: Vec::new(),
                get: Vec::new(),
                limits: limits.collect(),
                within: state.within.map(|limit| limit.most),
                parts: Vec::new(),
            };
            let code = Coder { scope, sizes };
            let values = state.messages.iter().map(|message| message.entries.len());
            let is_large = values.sum::<usize>() > VALUES_IN_ONE_METHOD;
            for (index, message) in state.messages.iter().enumerate() {
                code.message(index, message, arguments, is_large, &mut view);
            }
            view
        };
        let fingerprint = self.plan.fingerprint.map(|it| it.to_string());
        RemoteView {
            name: spelling::literal(&self.name),
            fingerprint: spelling::literal(&fingerprint.unwrap_or_default()),
            capacity: match self.protocol.capacity() {
                Capacity::Bounded(messages) => messages.max(1) as usize,
                Capacity::Unbounded => 0,
            },
            accepts: self.accepts.iter().filter_map(accepting).collect(),
            states: states.iter().map(&mut write).collect(),
        }
    }
}

/// The call that adds the older fingerprints that a side accepts.
fn accepting((side, older): &(Side, Vec<Fingerprint>)) -> Option<String> {
    let older = older.iter().map(|older| format!("\"{older}\""));
    let older = older.collect::<Vec<_>>();
    let is_client = *side == Side::Client;
    (!older.is_empty()).then(|| format!(".accepting({is_client}, {})", older.join(", ")))
}

/// The name of the method that writes or reads a value.
fn word(builtin: Builtin) -> &'static str {
    match builtin {
        Builtin::Bool => "bool",
        Builtin::U8 => "u8",
        Builtin::U16 => "u16",
        Builtin::U32 => "u32",
        Builtin::U64 | Builtin::I64 => "i64",
        Builtin::I8 => "i8",
        Builtin::I16 => "i16",
        Builtin::I32 => "i32",
        Builtin::F32 => "f32",
        Builtin::F64 => "f64",
        Builtin::Str => "str",
        Builtin::Bytes => "bytes",
    }
}

fn long(number: u64) -> String {
    // Only a type without values exceeds the range of `Long`.
    format!("{}L", i64::try_from(number).unwrap_or(i64::MAX))
}

/// The bound of a type as an argument after others; nothing without one.
fn most(lengths: &Lengths) -> String {
    let most = lengths.most.map(|limit| limit.most);
    most.map_or(String::new(), |most| format!(", {}", long(most)))
}

/// Whether values of a type have an encoding: it contains no endpoints, and nothing that only the program knows.
pub fn is_encoded(whole: &Whole, ty: &Type) -> bool {
    whole.is_encoded(ty)
}

/// Writes code that encodes and decodes.
pub struct Coder<'a, 'p> {
    pub scope: &'a ObjectScope<'p>,
    pub sizes: &'a Sizes,
}

impl Coder<'_, '_> {
    fn message(
        &self,
        index: usize,
        message: &Message,
        arguments: &[Type],
        is_large: bool,
        view: &mut StateView,
    ) {
        let types = message.entries.iter();
        let types: Vec<Type> = types.map(|entry| entry.ty.substitute(arguments)).collect();
        let lengths: Vec<&Lengths> = message.entries.iter().map(|it| &it.lengths).collect();
        let whole = self.scope.whole;
        // A value of a type parameter is an object in the ring, whatever the argument is.
        let declared: Vec<&Type> = message.entries.iter().map(|entry| &entry.ty).collect();
        let is_number = number(whole, &declared).is_some();
        let (put, get) = match types.as_slice() {
            [] => (vec!["()".to_owned()], Document::word("null")),
            [only] if is_number => self.number(self.underlying(only)),
            [only] => {
                let cast = format!("payload.asInstanceOf[{}]", self.scope.payload_type(only));
                let put = if let Type::Tuple(_) = self.underlying(only) {
                    let mut put = vec![format!("val value = {cast}")];
                    put.extend(self.put(only, lengths[0], "value", "out"));
                    put
                } else {
                    self.put(only, lengths[0], &cast, "out")
                };
                let is_primitive = number(whole, &[only]).is_some();
                let get = self.get(only, lengths[0], "in");
                let boxed = |code: &Document| {
                    Document::word(format!("{}.asInstanceOf[_root_.scala.AnyRef]", code.flat()))
                };
                (put, if is_primitive { boxed(&get) } else { get })
            }
            several => {
                let parts: Vec<_> = several
                    .iter()
                    .map(|ty| self.scope.payload_type(ty))
                    .collect();
                let tuple = nested(parts, &|parts| format!("({})", parts.join(", ")));
                let mut put = vec![format!("val values = payload.asInstanceOf[{tuple}]")];
                let paths = tuple_paths(several.len());
                for ((ty, lengths), path) in several.iter().zip(&lengths).zip(paths) {
                    put.extend(self.put(ty, lengths, &format!("values{path}"), "out"));
                }
                let parts = several.iter().zip(lengths);
                (put, self.get_tuple(parts, "in"))
            }
        };
        let pattern = format!("case {index} =>");
        if is_large && !types.is_empty() {
            let (writer, any) = ("_root_.duologue.PayloadWriter", "_root_.scala.Any");
            let (parameter, argument) = if is_number {
                ("number: _root_.scala.Long".to_owned(), "number")
            } else {
                (format!("payload: {any}"), "payload")
            };
            view.put
                .push(format!("{pattern} put${index}({argument}, out)"));
            view.get.push(format!("{pattern} get${index}(in)"));
            view.parts.push(format!(
                "private def put${index}({parameter}, out: {writer}): _root_.scala.Unit = {{"
            ));
            view.parts
                .extend(put.iter().map(|line| format!("  {line}")));
            view.parts.push("}".to_owned());
            view.parts.push(format!(
                "private def get${index}(in: _root_.duologue.PayloadReader): _root_.scala.AnyRef ="
            ));
            view.parts.push(format!("  {}", get.at(8)));
            return;
        }
        match put.as_slice() {
            [only] => view.put.push(format!("{pattern} {only}")),
            several => {
                view.put.push(pattern.clone());
                view.put
                    .extend(several.iter().map(|line| format!("  {line}")));
            }
        }
        view.get.push(format!("{pattern} {}", get.at(8)));
    }

    fn underlying<'t>(&'t self, ty: &'t Type) -> &'t Type {
        self.scope.whole.underlying(ty)
    }

    /// How a payload that is kept as a number is encoded.
    fn number(&self, ty: &Type) -> (Vec<String>, Document) {
        let (put, get) = match ty {
            Type::Builtin(Builtin::Bool) if self.scope.whole.is_for_three() => {
                ("out.bool(number != 0L)", "if in.bool() then 1L else 0L")
            }
            Type::Builtin(Builtin::Bool) => ("out.bool(number != 0L)", "if (in.bool()) 1L else 0L"),
            Type::Builtin(Builtin::U8) => ("out.u8(number.toInt)", "in.u8().toLong"),
            Type::Builtin(Builtin::U16) => ("out.u16(number.toInt)", "in.u16().toLong"),
            Type::Builtin(Builtin::U32) => ("out.u32(number)", "in.u32()"),
            Type::Builtin(Builtin::I8) => ("out.i8(number.toInt)", "in.i8().toLong"),
            Type::Builtin(Builtin::I16) => ("out.i16(number.toInt)", "in.i16().toLong"),
            // A floating point number is kept as its bits.
            Type::Builtin(Builtin::I32 | Builtin::F32) => {
                ("out.i32(number.toInt)", "in.i32().toLong")
            }
            Type::Builtin(
                Builtin::U64 | Builtin::I64 | Builtin::F64 | Builtin::Str | Builtin::Bytes,
            )
            | Type::List(_)
            | Type::Option(_)
            | Type::Tuple(_)
            | Type::Named(_)
            | Type::Parameter(_)
            | Type::Endpoint(_)
            | Type::Error => ("out.i64(number)", "in.i64()"),
        };
        (
            vec![put.to_owned()],
            Document::application("in.number".to_owned(), vec![Document::word(get)]),
        )
    }

    /// The statements that encode a value.
    pub fn put(&self, ty: &Type, lengths: &Lengths, value: &str, out: &str) -> Vec<String> {
        let one = |text: String| vec![text];
        let most = most(lengths);
        match ty {
            Type::Builtin(builtin) => one(match builtin {
                Builtin::Bytes => format!("{GENERATED}.putBytes({out}, {value}{most})"),
                Builtin::Str => format!("{out}.str({value}{most})"),
                Builtin::I8 | Builtin::I16 => format!("{out}.{}({value}.toInt)", word(*builtin)),
                Builtin::Bool
                | Builtin::U8
                | Builtin::U16
                | Builtin::U32
                | Builtin::U64
                | Builtin::I32
                | Builtin::I64
                | Builtin::F32
                | Builtin::F64 => format!("{out}.{}({value})", word(*builtin)),
            }),
            Type::List(item) => {
                let least = long(self.sizes.of_type(item).least);
                let each = self.put(item, lengths.part(0), "$item", "$out").join("; ");
                one(format!(
                    "{GENERATED}.putList({out}, {least}{most}, {value})(($out, $item) => {{ {each} }})"
                ))
            }
            Type::Option(item) => {
                let each = self.put(item, lengths.part(0), "$item", "$out").join("; ");
                one(format!(
                    "{GENERATED}.putOption({out}, {value})(($out, $item) => {{ {each} }})"
                ))
            }
            Type::Tuple(items) => {
                let parts = items.iter().zip(tuple_paths(items.len())).enumerate();
                let parts = parts.flat_map(|(at, (item, path))| {
                    self.put(item, lengths.part(at), &format!("{value}{path}"), out)
                });
                parts.collect()
            }
            Type::Named(id) => {
                if let Some((builtin, lengths)) = self.builtin(ty) {
                    self.put(builtin, lengths, value, out)
                } else {
                    one(format!("{}.put({out}, {value})", self.scope.wire(*id)))
                }
            }
            // An obstacle, which no encoded message carries.
            Type::Parameter(_) | Type::Endpoint(_) | Type::Error => Vec::new(),
        }
    }

    /// The built-in type that a type is another name for, and the bound with which it is declared.
    fn builtin<'t>(&'t self, ty: &'t Type) -> Option<(&'t Type, &'t Lengths)> {
        let is_builtin = matches!(self.underlying(ty), Type::Builtin(_));
        let program = self.scope.whole.program;
        is_builtin.then(|| program.unaliased(ty, Lengths::NONE))
    }

    /// The expression that decodes a value.
    pub fn get(&self, ty: &Type, lengths: &Lengths, from: &str) -> Document {
        let most = most(lengths);
        match ty {
            Type::Builtin(Builtin::Bytes) => {
                Document::word(format!("{GENERATED}.getBytes({from}{most})"))
            }
            Type::Builtin(Builtin::Str) => {
                let most = most.trim_start_matches(", ");
                Document::word(format!("{from}.str({most})"))
            }
            Type::Builtin(builtin) => Document::word(format!("{from}.{}()", word(*builtin))),
            Type::List(item) => {
                let least = long(self.sizes.of_type(item).least);
                let each = self.get(item, lengths.part(0), "$in").flat();
                Document::word(format!(
                    "{GENERATED}.getList({from}, {least}{most})($in => {each})"
                ))
            }
            Type::Option(item) => {
                let each = self.get(item, lengths.part(0), "$in").flat();
                Document::word(format!("{GENERATED}.getOption({from})($in => {each})"))
            }
            Type::Tuple(items) => {
                let parts = items.iter().enumerate();
                self.get_tuple(parts.map(|(at, item)| (item, lengths.part(at))), from)
            }
            Type::Named(id) => {
                if let Some((builtin, lengths)) = self.builtin(ty) {
                    let code = self.get(builtin, lengths, from).flat();
                    Document::word(three::converted(self.scope, ty, &code))
                } else {
                    Document::word(format!("{}.get({from})", self.scope.wire(*id)))
                }
            }
            // An obstacle, which no encoded message carries.
            Type::Parameter(_) | Type::Endpoint(_) | Type::Error => Document::word("null"),
        }
    }

    fn get_tuple<'t>(
        &self,
        items: impl Iterator<Item = (&'t Type, &'t Lengths)>,
        from: &str,
    ) -> Document {
        let parts = items.map(|(item, lengths)| self.get(item, lengths, from));
        nested(parts.collect(), &|parts| {
            Document::application(String::new(), parts)
        })
    }
}
