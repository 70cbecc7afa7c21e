// The part of the program in tests/suite/robots/mutants.rs that is the same for all examples.

use conversations::Transcript;
use conversations::protocols;
use duologue::Closed;
use duologue::robots::{Choices, Coverage, Ending, Play, Table, Values};
use std::cell::RefCell;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;
use std::time::Duration;

/// A server, as in `tests/run`.
type Serve<S> = fn(S, &Transcript) -> Result<(), Closed>;

thread_local! {
    /// Whether the robot that plays with the server on this thread has ended.
    static IS_OVER: RefCell<Arc<AtomicBool>> = RefCell::default();
}

/// The name of a thread on which mutants of one example are compared.
const COMPARES: &str = "compares";

/// Reports panics of the test, and not those of servers.
fn quiet() {
    std::panic::set_hook(Box::new(|info| {
        if thread::current().name() == Some(COMPARES) {
            eprintln!("{info}");
        }
    }));
}

/// Compares the mutants of an example.
fn on<'s>(scope: &'s thread::Scope<'s, '_>, hunt: fn()) {
    let thread = thread::Builder::new().name(COMPARES.to_owned());
    thread.spawn_scoped(scope, hunt).expect("there are threads");
}

/// A state that hangs: the server neither answers nor disconnects while there is a client.
fn hang() {
    let is_over = IS_OVER.with_borrow(Arc::clone);
    while !is_over.load(Ordering::Acquire) {
        thread::sleep(Duration::from_millis(2));
    }
}

/// The error of a session whose other side has closed, so that a server with `close()?` ends here.
fn close() -> Result<(), Closed> {
    let (server, client) = protocols::pingpong::init();
    drop(client);
    server.recv()?;
    Ok(())
}

/// Another value of a type.
trait Wrong {
    fn wrong(self) -> Self;
}

fn wrong<T: Wrong>(value: T) -> T {
    value.wrong()
}

macro_rules! integers {
    ($($ty:ty)*) => {
        $(impl Wrong for $ty {
            fn wrong(self) -> $ty {
                self.wrapping_add(1)
            }
        })*
    };
}

integers!(u8 u16 u32 u64 i8 i16 i32 i64);

impl Wrong for f64 {
    fn wrong(self) -> f64 {
        if self == 1.0 { 2.0 } else { 1.0 }
    }
}

impl Wrong for String {
    fn wrong(self) -> String {
        self + "x"
    }
}

impl<T: Default> Wrong for Vec<T> {
    fn wrong(mut self) -> Vec<T> {
        self.push(T::default());
        self
    }
}

impl<T: Default> Wrong for Option<T> {
    fn wrong(self) -> Option<T> {
        match self {
            Some(_) => None,
            None => Some(T::default()),
        }
    }
}

impl Wrong for conversations::Ticket {
    fn wrong(self) -> conversations::Ticket {
        conversations::Ticket { id: self.id.wrong() }
    }
}

/// What the robots of clients need to know about types of the program.
struct Hooks;

impl protocols::double_buffer::robots::Client for Hooks {
    fn make_buffer(&mut self, values: &mut Values<'_>) -> Vec<u8> {
        values.bytes(4)
    }

    fn show_buffer(&mut self, value: &Vec<u8>) -> String {
        conversations::hex(value)
    }
}

impl protocols::work_queue::robots::Client for Hooks {
    fn make_ticket(&mut self, values: &mut Values<'_>) -> conversations::Ticket {
        conversations::Ticket { id: values.u32() }
    }

    fn show_ticket(&mut self, value: &conversations::Ticket) -> String {
        format!("ticket {}", value.id)
    }
}

/// How long a session may take, if nothing in it hangs.
const LONG: Duration = Duration::from_secs(60);

/// How long a session with a state that hangs may take.
const SHORT: Duration = Duration::from_millis(400);

/// A session as the client's robot has seen it.
#[derive(Debug, PartialEq)]
struct Seen {
    ending: &'static str,
    transcript: String,
}

/// An example, whose server is compared with its mutants.
struct Hunt<S, C> {
    case: &'static str,
    table: &'static Table,
    /// The bytes with which the robot sends what the client of the example sends.
    script: Vec<u8>,
    init: fn() -> (S, C),
    client: fn(C, &mut Play) -> Ending,
    original: Serve<S>,
}

/// What the robot of one server has seen so far.
struct Robot<S> {
    serve: Serve<S>,
    coverage: Coverage,
    patience: Duration,
}

impl<S: Send, C> Hunt<S, C> {
    fn robot(&self, serve: Serve<S>, patience: Duration) -> Robot<S> {
        let coverage = Coverage::new(self.table);
        Robot { serve, coverage, patience }
    }

    /// The bytes of a session: first the whole script, then a part of it and random bytes.
    fn bytes(&self, number: u64) -> Vec<u8> {
        if number == 0 {
            return self.script.clone();
        }
        let mut state = number;
        let mut next = || {
            state = state.wrapping_add(0x9e37_79b9_7f4a_7c15);
            let mixed = (state ^ state >> 30).wrapping_mul(0xbf58_476d_1ce4_e5b9);
            let mixed = (mixed ^ mixed >> 27).wrapping_mul(0x94d0_49bb_1331_11eb);
            (mixed ^ mixed >> 31) as usize
        };
        let kept = next() % (self.script.len() + 1);
        let more = next() % 40;
        let mut bytes = self.script[..kept].to_vec();
        bytes.extend((0..more).map(|_| next() as u8));
        bytes
    }

    fn play(&self, robot: &Robot<S>, number: u64) -> Seen {
        let (server, client) = (self.init)();
        let is_over = Arc::new(AtomicBool::new(false));
        thread::scope(|scope| {
            let (serve, own) = (robot.serve, Arc::clone(&is_over));
            let serving = scope.spawn(move || {
                IS_OVER.set(own);
                serve(server, &Transcript::default())
            });
            let mut play = Play::new(Choices::bytes(self.bytes(number)))
                .coverage(&robot.coverage)
                .limit(30)
                .pause(Duration::ZERO)
                .leaving(false)
                .within(robot.patience);
            let ending = match (self.client)(client, &mut play) {
                Ending::Finished => "finished",
                Ending::Left => "left",
                Ending::Stuck(_) => "stuck",
                Ending::Closed(_) => "closed",
                Ending::Late(_) => "late",
                Ending::Failed(_) => "failed",
            };
            is_over.store(true, Ordering::Release);
            // A server that panics has disconnected, which the robot has seen.
            let _ = serving.join();
            let transcript = play.transcript().to_owned();
            Seen { ending, transcript }
        })
    }

    /// Plays with each mutant until a session differs from the one that the same bytes make with the original.
    fn all(&self, mutants: &[(&str, Serve<S>)]) {
        let original = self.robot(self.original, LONG);
        let mut expected = Vec::new();
        let again = self.robot(self.original, LONG);
        for number in 0..200 {
            let seen = self.play(&original, number);
            assert_ne!(seen.ending, "late", "{}: {}", self.case, seen.transcript);
            assert_eq!(seen, self.play(&again, number), "{}", self.case);
            expected.push(seen);
        }
        for (name, serve) in mutants {
            let patience = if name.contains("hangs") { SHORT } else { LONG };
            let robot = self.robot(*serve, patience);
            let mut found = None;
            for number in 0..30_000 {
                if number == expected.len() as u64 {
                    expected.push(self.play(&original, number));
                }
                let seen = self.play(&robot, number);
                let expected = &expected[number as usize];
                if seen != *expected {
                    let is_same = seen.ending == expected.ending;
                    found = Some((number, if is_same { "transcript" } else { seen.ending }));
                    break;
                }
            }
            match found {
                Some((number, how)) => println!("found {} {name}: {how} in session {number}", self.case),
                None => println!("missed {} {name}", self.case),
            }
        }
    }
}
