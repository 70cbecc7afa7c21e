//! One side of a conversation of `tests/run`, with the other in another process: `remote client|server CASE ADDRESS`.
//! Prints the transcript of its side. A server first prints `listening ADDRESS`, and serves one session. If the session closes
//! where the conversation does not expect it, the last line is `why REASON`, and the exit code is 3. The environment variable `DUOLOGUE_TLS` is a
//! folder that the program `certificates` has written, for addresses `tls://`. An address `shm:/NAME` is a region of shared memory.
//!
//! `remote serve CASE ADDRESS` serves one session after the other until it is stopped, and prints `why REASON` or `over` after each.
//!
//! Without arguments it has one session for each line of its input, `client|server CASE ADDRESS`, one after the other. After each it
//! prints `ended CODE`, also to standard error. A line may end in ` hold=N`: the program prints `held`
//! after N lines of its transcript, and waits until a line is written to its input.
#![forbid(unsafe_code)]

use conversations::{Transcript, case_module, protocols, remote_cases};
use duologue::Closed;
use duologue_net::{Connector, Listener};
use duologue_shm::{Attach, Region};
use std::error::Error;
use std::io;
use std::process::ExitCode;
use std::time::Duration;

/// The cases whose protocols can leave the process.
macro_rules! cases {
    ($($case:ident: $($protocol:ident)::+ $state:ident,)*) => {
        $(case_module!($case);)*

        fn client(case: &str, address: &str, lines: &Transcript) -> Result<(), Box<dyn Error>> {
            match case {
                $(stringify!($case) => {
                    let end: protocols::$($protocol)::+::client::$state = match region(address)? {
                        Some(region) => attach().attach(&region)?,
                        None => connector().connect(address)?,
                    };
                    lines.begin();
                    $case::client::run(end, lines)?;
                })*
                _ => return Err(format!("there is no case `{case}`").into()),
            }
            Ok(())
        }

        fn shared(case: &str, region: &Region, lines: &Transcript) -> Result<(), Box<dyn Error>> {
            match case {
                $(stringify!($case) => {
                    let end: protocols::$($protocol)::+::server::$state = attach().attach(region)?;
                    $case::server::run(end, lines)?;
                })*
                _ => return Err(format!("there is no case `{case}`").into()),
            }
            Ok(())
        }

        fn server(case: &str, listener: &mut Listener, lines: &Transcript) -> Result<(), Box<dyn Error>> {
            match case {
                $(stringify!($case) => {
                    let end: protocols::$($protocol)::+::server::$state = listener.accept()?;
                    lines.begin();
                    $case::server::run(end, lines)?;
                })*
                _ => return Err(format!("there is no case `{case}`").into()),
            }
            Ok(())
        }
    };
}

remote_cases!(cases);

/// The certificates of a party, if there are any.
fn tls(party: &str) -> Option<duologue_net::Tls> {
    let folder = std::env::var_os("DUOLOGUE_TLS")?;
    Some(conversations::certificates::tls(
        folder.as_ref(),
        "ca",
        party,
    ))
}

/// On a busy machine, a handshake can take long.
const PATIENCE: Duration = Duration::from_secs(300);

fn connector() -> Connector {
    let connector = Connector::new().timeout(PATIENCE);
    match tls("client") {
        Some(tls) => connector.tls(tls),
        None => connector,
    }
}

/// The region, if this is the address of one.
fn region(address: &str) -> Result<Option<Region>, Box<dyn Error>> {
    let name = address.strip_prefix("shm:");
    Ok(name.map(Region::open).transpose()?)
}

fn attach() -> Attach {
    Attach::new().timeout(PATIENCE)
}

fn run(arguments: &[String], lines: &Transcript) -> Result<(), Box<dyn Error>> {
    match arguments {
        [side, case, address] if side == "client" => client(case, address, lines),
        [side, case, address] if side == "server" => {
            if let Some(region) = region(address)? {
                println!("listening {address}");
                return shared(case, &region, lines);
            }
            let mut listener = match tls("server") {
                Some(tls) if address.starts_with("tls:") => Listener::bind_tls(address, tls)?,
                _ => Listener::bind(address)?,
            };
            listener.on_failure(|error| eprintln!("remote: {error}"));
            listener.hello_timeout(PATIENCE);
            println!("listening {}", listener.address());
            server(case, &mut listener, lines)
        }
        [serve, case, address] if serve == "serve" => {
            let mut listener = match tls("server") {
                Some(tls) if address.starts_with("tls:") => Listener::bind_tls(address, tls)?,
                _ => Listener::bind(address)?,
            };
            // A listener goes on after a handshake that fails.
            listener.on_failure(|_| ());
            println!("listening {}", listener.address());
            loop {
                match server(case, &mut listener, lines) {
                    Ok(()) => println!("over"),
                    Err(error) => println!("why {}", why(&*error.downcast::<Closed>()?)),
                }
            }
        }
        _ => Err("usage: remote [client|server|serve CASE ADDRESS]".into()),
    }
}

/// Why a session has closed.
fn why(closed: &Closed) -> String {
    format!("{:?}", closed.why()).to_lowercase()
}

/// Runs one session, prints its lines, and returns the exit code.
fn play(arguments: &[String], held: Option<&str>) -> u8 {
    let lines = Transcript::holding(held.and_then(|after| after.parse().ok()));
    let outcome = run(arguments, &lines);
    print!("{}", lines.text());
    match outcome {
        Ok(()) => 0,
        Err(error) => match error.downcast::<Closed>() {
            Ok(closed) => {
                println!("why {}", why(&closed));
                3
            }
            Err(error) => {
                eprintln!("remote: {error}");
                1
            }
        },
    }
}

/// Runs a session for each line of the input.
fn play_each() -> io::Result<()> {
    let mut line = String::new();
    // The input is not locked in between: a program that is held reads it, too.
    while io::stdin().read_line(&mut line)? > 0 {
        let words: Vec<String> = line.split_whitespace().map(str::to_owned).collect();
        let (words, options) = words.split_at(words.len().min(3));
        let held = options
            .iter()
            .find_map(|option| option.strip_prefix("hold="));
        let code = play(words, held);
        eprintln!("ended {code}");
        println!("ended {code}");
        line.clear();
    }
    Ok(())
}

fn main() -> ExitCode {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    if arguments.is_empty() {
        return match play_each() {
            Ok(()) => ExitCode::SUCCESS,
            Err(error) => {
                eprintln!("remote: {error}");
                ExitCode::FAILURE
            }
        };
    }
    ExitCode::from(play(&arguments, None))
}
