//! A rolling upgrade at a cluster of three NATS servers, as `docs/scaling.md` describes it: the commands and files are those of the page, with
//! free ports. With `DUOLOGUE_DESK_C` and `DUOLOGUE_DESK_SCALA`, the servers and clients are in three languages.
#![forbid(unsafe_code)]

use brokers::memory::until;
use brokers::versions::first;
use duologue::{Closed, Why};
use duologue_net::{Connector, Error};
use std::collections::VecDeque;
use std::fs;
use std::io::{BufRead, BufReader};
use std::net::{TcpListener, TcpStream};
use std::path::{Path, PathBuf};
use std::process::{Child, ChildStdin, Command, Stdio};
use std::sync::atomic::Ordering::SeqCst;
use std::sync::atomic::{AtomicBool, AtomicUsize};
use std::sync::mpsc::{Receiver, channel};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::thread;
use std::time::{Duration, Instant};

/// Longer than anything takes on a busy machine.
const LONG: Duration = Duration::from_secs(60);

/// One cluster at a time: the tests use the same processor and folder.
fn alone() -> MutexGuard<'static, ()> {
    static ALONE: Mutex<()> = Mutex::new(());
    ALONE.lock().unwrap_or_else(PoisonError::into_inner)
}

/// The ports on the page: those of clients, and those between the servers.
const PORTS: [&str; 6] = ["4222", "4223", "4224", "6222", "6223", "6224"];

/// What the page says.
struct Page {
    /// Names and texts.
    files: Vec<(String, String)>,
    /// The commands that have not run yet, in order.
    commands: VecDeque<String>,
    ports: Vec<String>,
}

impl Page {
    fn read() -> Page {
        let page = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs/scaling.md");
        let page = fs::read_to_string(page).expect("the page is there");
        let section = page.split("\n## A cluster and an upgrade, step by step\n");
        let section = section.last().expect("there is a last one");
        let section = section.split("\n## ").next().expect("there is a first one");
        let mut blocks = section.split("\n```");
        let mut files = Vec::new();
        let mut commands = VecDeque::new();
        while let (Some(_), Some(block)) = (blocks.next(), blocks.next()) {
            let (head, text) = block.split_once('\n').expect("a block has lines");
            if let Some(name) = head.strip_prefix("text ") {
                files.push((name.to_owned(), format!("{text}\n")));
            } else if head == "sh" {
                let lines = text.lines().filter(|line| is_run(line));
                commands.extend(lines.map(str::to_owned));
            }
        }
        // Nothing else gets them between this and the start of the servers, if the system gives others first.
        let free: Vec<_> = PORTS
            .iter()
            .map(|_| TcpListener::bind("127.0.0.1:0").expect("a port is free"))
            .collect();
        let ports = free.iter().map(|it| {
            let address = it.local_addr().expect("it is bound");
            address.port().to_string()
        });
        let ports = ports.collect();
        Page {
            files,
            commands,
            ports,
        }
    }

    /// With free ports.
    fn with_ports(&self, text: &str) -> String {
        let mut text = text.to_owned();
        for (port, free) in PORTS.iter().zip(&self.ports) {
            text = text.replace(&format!(":{port}"), &format!(":{free}"));
        }
        text
    }

    /// The next command, which begins with this.
    fn next(&mut self, start: &str) -> Vec<String> {
        let command = self.commands.pop_front().unwrap_or_default();
        assert!(
            command.starts_with(start),
            "`{command}` instead of `{start}`"
        );
        let command = self.with_ports(&command);
        command.split(' ').map(str::to_owned).collect()
    }

    fn address(&self, place: usize) -> String {
        format!("nats://127.0.0.1:{}/desk", self.ports[place])
    }
}

/// Whether the test runs this line of the page.
fn is_run(line: &str) -> bool {
    line.starts_with("nats-server ") || line.starts_with("desk ")
}

/// A process that ends with the test.
struct Process {
    child: Child,
    input: Option<ChildStdin>,
    sessions: Arc<AtomicUsize>,
    refusals: Arc<AtomicUsize>,
    last: Receiver<String>,
}

impl Process {
    fn start(mut command: Command) -> Process {
        command.stdin(Stdio::piped()).stdout(Stdio::piped());
        let child = command.spawn();
        let mut child = child.unwrap_or_else(|error| panic!("{command:?}: {error}"));
        let output = child.stdout.take().expect("it is piped");
        let (sessions, refusals) = (Arc::<AtomicUsize>::default(), Arc::<AtomicUsize>::default());
        let (say, last) = channel();
        let counted = (Arc::clone(&sessions), Arc::clone(&refusals));
        thread::spawn(move || {
            for line in BufReader::new(output).lines().map_while(Result::ok) {
                match &line[..] {
                    "session" => drop(counted.0.fetch_add(1, SeqCst)),
                    "refused" => drop(counted.1.fetch_add(1, SeqCst)),
                    _ => drop(say.send(line)),
                }
            }
        });
        let input = child.stdin.take();
        Process {
            child,
            input,
            sessions,
            refusals,
            last,
        }
    }

    fn sessions(&self) -> usize {
        self.sessions.load(SeqCst)
    }

    /// Ends its input. Returns what it has counted: sessions that have begun, have finished, and were refused.
    fn end(mut self) -> [usize; 3] {
        drop(self.input.take());
        let line = self.last.recv_timeout(LONG).expect("it ends");
        assert!(self.child.wait().expect("it was started").success());
        let mut words = line.split(' ');
        let mut counted = [0; 3];
        for (count, name) in counted.iter_mut().zip(["begun", "finished", "refused"]) {
            if let Some(found) = words.next() {
                assert_eq!(found, name, "{line}");
                let number = words.next().unwrap_or_default();
                *count = number.parse().unwrap_or_else(|_| panic!("{line}"));
            }
        }
        counted
    }
}

impl Drop for Process {
    fn drop(&mut self) {
        let _ended = self.child.kill();
        let _status = self.child.wait();
    }
}

/// The languages of `desk`.
fn programs() -> Vec<(&'static str, Vec<String>)> {
    let rust = vec![env!("CARGO_BIN_EXE_desk").to_owned()];
    let mut all = vec![("Rust", rust)];
    for (language, variable) in [("C", "DUOLOGUE_DESK_C"), ("Scala", "DUOLOGUE_DESK_SCALA")] {
        if let Ok(command) = std::env::var(variable) {
            all.push((language, command.lines().map(str::to_owned).collect()));
        }
    }
    all
}

/// The NATS servers, and their folder.
struct Cluster {
    folder: PathBuf,
    commands: Vec<Vec<String>>,
    servers: Vec<Option<Process>>,
}

impl Drop for Cluster {
    fn drop(&mut self) {
        let _gone = fs::remove_dir_all(&self.folder);
    }
}

impl Cluster {
    fn start(page: &mut Page) -> Cluster {
        let folder = format!("duologue-cluster-{}", std::process::id());
        let folder = std::env::temp_dir().join(folder);
        fs::create_dir_all(&folder).expect("the folder can be written");
        assert_eq!(page.files.len(), 3, "the page has a file for each server");
        for (name, text) in &page.files {
            let text = page.with_ports(text);
            fs::write(folder.join(name), text).expect("the folder can be written");
        }
        let found = Command::new("nats-server").arg("--version").output();
        assert!(
            found.is_ok(),
            "nats-server is missing: apt-get install nats-server"
        );
        let places = 0..page.files.len();
        let mut cluster = Cluster {
            folder,
            commands: places.map(|_| page.next("nats-server -c ")).collect(),
            servers: (0..3).map(|_| None).collect(),
        };
        for place in 0..3 {
            cluster.start_one(place);
        }
        for port in &page.ports {
            until("the NATS servers", || {
                TcpStream::connect(format!("127.0.0.1:{port}")).is_ok()
            });
        }
        cluster
    }

    fn start_one(&mut self, place: usize) {
        let words = &self.commands[place];
        let mut command = Command::new(&words[0]);
        command.args(&words[1..]).current_dir(&self.folder);
        command.stderr(Stdio::null());
        self.servers[place] = Some(Process::start(command));
    }

    fn kill(&mut self, place: usize) {
        self.servers[place] = None;
    }
}

/// The whole: who takes part, and what was counted.
struct Desks {
    page: Page,
    programs: Vec<(&'static str, Vec<String>)>,
    begin: Instant,
}

impl Desks {
    /// Runs the next command of the page, in this language.
    fn run(&mut self, start: &str, language: usize) -> Process {
        let words = self.page.next(start);
        self.run_words(&words, language)
    }

    fn run_words(&self, words: &[String], language: usize) -> Process {
        let (_, program) = &self.programs[language % self.programs.len()];
        let mut command = Command::new(&program[0]);
        command.args(&program[1..]).args(&words[1..]);
        Process::start(command)
    }

    fn language(&self, place: usize) -> &'static str {
        self.programs[place % self.programs.len()].0
    }

    fn note(&self, text: &str) {
        let seconds = self.begin.elapsed().as_secs_f64();
        println!("{seconds:6.1} s  {text}");
    }
}

fn connect(address: &str) -> Result<first::client::Asking, Error> {
    Connector::new().timeout(LONG).connect(address)
}

/// One session that finishes.
fn probe(address: &str) -> Result<(), Error> {
    let asking = connect(address)?;
    let first::Answering::Answer { next, .. } = asking
        .ask("probe".to_owned())
        .expect("it is open")
        .recv()
        .expect("nothing is lost");
    next.leave().expect("nothing is lost");
    Ok(())
}

/// Has a session with many turns, until there have been enough.
fn turns(address: &str, count: &AtomicUsize, is_enough: &AtomicBool) -> Result<(), Closed> {
    let mut asking = connect(address).expect("there are servers");
    loop {
        let first::Answering::Answer { next, .. } = asking.ask("next".to_owned())?.recv()?;
        if is_enough.load(SeqCst) {
            return Ok(next.leave()?);
        }
        asking = next;
        count.fetch_add(1, SeqCst);
        thread::sleep(Duration::from_millis(1));
    }
}

/// The servers are all at the first NATS server. The second one is killed, and started again.
#[test]
fn a_nats_server_that_is_killed_ends_no_session_of_the_others() {
    let _alone = alone();
    let mut page = Page::read();
    let mut cluster = Cluster::start(&mut page);
    let mut desks = Desks {
        page,
        programs: programs(),
        begin: Instant::now(),
    };
    let words = desks.page.next("desk serve first ");
    let languages = 0..desks.programs.len();
    let servers: Vec<_> = languages.map(|it| desks.run_words(&words, it)).collect();
    let addresses = [0, 1, 2].map(|place| desks.page.address(place));
    let mut finished = 0;
    until("the servers to serve", || {
        finished += usize::from(probe(&addresses[0]).is_ok());
        servers.iter().all(|server| server.sessions() > 0)
    });
    let is_enough = Arc::new(AtomicBool::new(false));
    let start = |place: usize| {
        let (address, is_enough) = (addresses[place].clone(), Arc::clone(&is_enough));
        let count = Arc::<AtomicUsize>::default();
        let counted = Arc::clone(&count);
        let thread = thread::spawn(move || turns(&address, &counted, &is_enough));
        (place, count, thread)
    };
    let sessions: Vec<_> = (0..12).map(|number| start(number % 3)).collect();
    let go_on = |text: &str, is_at: fn(usize) -> bool| {
        let at = sessions.iter().filter(|(place, ..)| is_at(*place));
        for (_, count, thread) in at {
            let before = count.load(SeqCst);
            until(text, || {
                count.load(SeqCst) > before + 10 || thread.is_finished()
            });
        }
    };
    go_on("all sessions", |_| true);
    cluster.kill(1);
    go_on("the sessions that do not pass it", |place| place != 1);
    for address in [&addresses[0], &addresses[2]] {
        probe(address).expect("the others go on");
        finished += 1;
    }
    cluster.start_one(1);
    // None is silent: each goes on, or has ended.
    go_on("its own sessions", |place| place == 1);
    until("a session at the server that was killed", || {
        let is_served = probe(&addresses[1]).is_ok();
        finished += usize::from(is_served);
        is_served
    });
    is_enough.store(true, SeqCst);
    let mut lost = 0;
    for (place, _, thread) in sessions {
        match thread.join().expect("it does not panic") {
            Ok(()) => finished += 1,
            Err(closed) => {
                assert_eq!((place, closed.why()), (1, Why::Lost));
                lost += 1;
            }
        }
    }
    let counts: Vec<_> = servers.into_iter().map(Process::end).collect();
    desks.note(&format!(
        "a NATS server was killed: 4 sessions passed it, and {lost} of them were lost"
    ));
    let served: usize = counts.iter().map(|[_, finished, _]| finished).sum();
    assert_eq!(served, finished, "both sides know which sessions were lost");
}

#[test]
fn a_rolling_upgrade_loses_no_session() {
    let _alone = alone();
    let mut page = Page::read();
    let cluster = Cluster::start(&mut page);
    let mut desks = Desks {
        page,
        programs: programs(),
        begin: Instant::now(),
    };

    // Servers of the first version, one at each NATS server.
    let old: Vec<_> = (0..3)
        .map(|place| desks.run("desk serve first ", place))
        .collect();
    let mut others = 0;
    for (place, server) in old.iter().enumerate() {
        let address = desks.page.address(place);
        until("the servers to serve", || {
            others += usize::from(probe(&address).is_ok());
            server.sessions() > 0
        });
    }
    desks.note("servers of the first version serve at three NATS servers");

    // A client of a newer version that accepts servers of the first one, in C.
    if let Some(c) = desks.programs.iter().position(|(name, _)| *name == "C") {
        let address = desks.page.address(0);
        let words = ["desk", "accept", "first", &address[..]].map(str::to_owned);
        assert_eq!(desks.run_words(&words, c).end(), [1, 1, 0]);
        others += 1;
    }

    // Clients, each at another NATS server than the server in its language.
    let clients: Vec<_> = (0..3)
        .map(|place| desks.run("desk ask first ", place + 2))
        .collect();
    until("all clients to have sessions", || {
        clients.iter().all(|client| client.sessions() > 3)
    });

    // The wrong order: the new version of a client is refused, in each language.
    let words = desks.page.next("desk ask second ");
    for language in 0..3 {
        let early = desks.run_words(&words, language);
        until("the new client to be refused", || {
            early.refusals.load(SeqCst) > 0
        });
        let [begun, _, refused] = early.end();
        assert_eq!(begun, 0, "no server understands it");
        let name = desks.language(language);
        desks.note(&format!(
            "wrong order: a new client in {name} was refused {refused} times"
        ));
    }

    // A session that does not end by itself: the server that has it ends it when it drains.
    let held = connect(&desks.page.address(0)).expect("there are servers");
    let first::Answering::Answer { next: held, .. } = held
        .ask("how long?".to_owned())
        .expect("it is open")
        .recv()
        .expect("nothing is lost");

    // The right order: servers first, one after the other.
    let mut served = [0; 2];
    let mut new = Vec::new();
    for (place, old) in old.into_iter().enumerate() {
        let server = desks.run("desk serve second ", place);
        until("the new server to have a session", || server.sessions() > 0);
        let [begun, finished, _] = old.end();
        served[0] += begun;
        served[1] += finished;
        desks.note(&format!(
            "a server in {} was replaced: it had {begun} sessions, and {finished} finished",
            desks.language(place)
        ));
        new.push(server);
    }
    let ask =
        || -> Result<first::Answering, Closed> { held.ask("still there?".to_owned())?.recv() };
    let ended = ask().map(drop).expect_err("its server has ended it");
    assert_eq!(ended.why(), Why::Left);

    // Then the clients.
    let newer: Vec<_> = (0..3)
        .map(|place| desks.run("desk ask second ", place + 2))
        .collect();
    until("the new clients to have sessions", || {
        newer.iter().all(|client| client.sessions() > 3)
    });
    let mut asked = [others, others];
    for client in clients.into_iter().chain(newer) {
        let [begun, finished, refused] = client.end();
        assert_eq!((finished, refused), (begun, 0), "none is lost or refused");
        asked[0] += begun;
        asked[1] += finished;
    }
    for (place, server) in new.into_iter().enumerate() {
        let [begun, finished, _] = server.end();
        desks.note(&format!(
            "the new server in {} had {begun} sessions, and {finished} finished",
            desks.language(place)
        ));
        served[0] += begun;
        served[1] += finished;
    }
    desks.note(&format!(
        "clients had {} sessions, all of which finished, and one that a server has ended",
        asked[0]
    ));
    assert_eq!(served[0], asked[0] + 1, "each session has two sides");
    assert_eq!(served[1], asked[1], "all but one have finished");
    assert!(
        desks.page.commands.is_empty(),
        "not run: {:?}",
        desks.page.commands
    );
    drop(cluster);
}
