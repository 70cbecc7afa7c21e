//! What is generated from a protocol: the text and the generated files, side by side.

use duologue::compile::{Input, Request, compile};
use duologue::files::Disk;
use duologue::languages::{self, Options, ScalaVersion, Target};

fn side_by_side(name: &str, text: &str) -> String {
    written(name, text, &Options::default())
}

fn written(name: &str, text: &str, options: &Options) -> String {
    let input = Input::Text {
        path: format!("{name}.proto").into(),
        bytes: text.as_bytes().to_vec(),
    };
    let mut request = Request::default();
    request.inputs = vec![input];
    request.options = options.clone();
    let compilation = compile(&request, &Disk).unwrap_or_else(|failure| panic!("{failure:?}"));
    let found = compilation.diagnostics;
    let checked = compilation.checked.unwrap_or_else(|| panic!("{found:#?}"));
    let mut shown = format!("--- {name}.proto\n{text}");
    for file in languages::generate(&checked, Target::Scala, &request.options).files {
        shown += &format!("--- {}\n{}", file.path, file.text);
    }
    shown
}

#[test]
fn a_dialogue() {
    let text = "\
//! How to greet.

/// Hello, and what follows.
proto! greeting {
    /// The client's turn.
    hello:send {
        /// Names are not checked.
        hello(name: str) -> answer,
        leave -> !
    }
    answer:recv {
        welcome -> hello,
        go_away(until: u32?) -> !
    }
}
";
    insta::assert_snapshot!(side_by_side("greeting", text));
}

#[test]
fn a_generic_protocol_and_its_instance() {
    let text = "\
#[allow(verbose-terminal)]
proto! cell {
    empty:send<T> { put(T) -> full<T>, give_up -> done }
    full:recv<T> { get(value: T, again: bool) -> empty<T> }
    done { }
}

/// Cells of text.
proto! text_cell = cell<str>;
";
    insta::assert_snapshot!(side_by_side("cell", text));
}

#[test]
fn types_with_endpoints_and_names_that_mean_something_else() {
    let text = "\
package acme.jobs;

type string = [u8];
struct job { id: u16, reply: reply::client::open }
enum order { one(job), many([job], label: string), none }

proto! reply { open:send { done(code: i8) -> ! } }

#[allow(never-ends)]
proto! type {
    wait:send { wait(order, wait: bool) -> wait, match(next: (str, job?)) -> wait }
}
";
    insta::assert_snapshot!(side_by_side("jobs", text));
}

#[test]
fn what_sessions_with_other_processes_need() {
    let text = "\
struct point { x: i16, y: i16 }
enum shape { nothing, circle(radius: f64), box(from: point, to: point?) }
type shapes = [shape];

#[allow(never-ends)]
proto! drawing {
    ready:send<T> { draw(shapes, layer: u8) -> answer<T>, clear(T) -> ready<T>, zoom(f32) -> ready<T> }
    answer:recv<T> { done(area: (f64, [str])) -> ready<T> }
}

proto! names = drawing<str>;

proto! local { open:send { lend(drawing::client::ready<str>) -> ! } }
";
    let mut options = Options::default();
    options.remote = true;
    insta::assert_snapshot!(written("drawing", text, &options));
}

#[test]
fn scala_3_alone() {
    let text = "\
package acme.jobs;

/// Cents.
type money = i64;
type percent = u8;
type fee = percent;
type name = str<255>;
type names = [name];

struct job { price: money, fee: fee?, reply: reply::client::open }

/// What to do.
enum order {
    none,
    /// One job.
    one(job),
    many([job], share: percent, ordinal: u16, (u8, bool))
}

enum weekday { monday, tuesday(percent, names) }

proto! reply { open:send { done(money) -> again, more(flag: bool) -> again } again:recv { ok(fee) -> !, no(weekday, names) -> ! } }

proto! orders { open:send { order(order) -> ! } }
";
    let mut options = Options::default();
    options.remote = true;
    options.scala.version = ScalaVersion::Three;
    insta::assert_snapshot!(written("jobs", text, &options));
}
