use conversations::protocols::acme::files::Mode;
use conversations::protocols::acme::files::file_server::{Idle, Reading, server};
use conversations::protocols::acme::{File, Folder, Person, Problem};
use conversations::{Transcript, option, quoted};
use duologue::Closed;

pub fn run(mut endpoint: server::Idle, transcript: &Transcript) -> Result<(), Closed> {
    let holk = Person {
        id: 1,
        name: "holk".to_owned(),
    };
    let hello = File {
        name: "hello".to_owned(),
        size: 5,
        owner: Some(holk.clone()),
        checksum: vec![0xc0, 0xff, 0xee],
    };
    let notes = File {
        name: "notes".to_owned(),
        size: 0,
        owner: None,
        checksum: Vec::new(),
    };
    let old = Folder {
        name: "old".to_owned(),
        changed: -1,
        files: Vec::new(),
        folders: Vec::new(),
    };
    let root = Folder {
        name: "/".to_owned(),
        changed: 1_341_532_800,
        files: vec![hello.clone(), notes],
        folders: vec![old],
    };
    loop {
        endpoint = match endpoint.recv()? {
            Idle::List(path, answer) => {
                transcript.line(format_args!("server <- list({})", quoted(&path)));
                if path == "/" {
                    answer.listing(root.clone())?
                } else {
                    answer.failed(Problem::Busy {
                        until: 1_341_532_801,
                        readers: (2, 3),
                    })?
                }
            }
            Idle::Open(path, mode, answer) => {
                let mode = match mode {
                    Mode::Read => "read".to_owned(),
                    Mode::Append { create } => format!("append({create})"),
                };
                transcript.line(format_args!("server <- open({}, {mode})", quoted(&path)));
                if path == "/hello" {
                    read(answer.opened(hello.clone())?, transcript)?
                } else {
                    answer.failed(Problem::Denied { to: holk.clone() })?
                }
            }
            Idle::Leave => {
                transcript.line("server <- leave");
                return Ok(());
            }
        }
    }
}

fn read(mut reading: server::Reading, transcript: &Transcript) -> Result<server::Idle, Closed> {
    loop {
        match reading.recv()? {
            Reading::Read {
                at,
                limit,
                next: answer,
            } => {
                let shown = option(limit.map(|limit| limit.to_string()));
                transcript.line(format_args!("server <- read({at}, {shown})"));
                let rest = b"hello"
                    .iter()
                    .copied()
                    .skip(usize::try_from(at).unwrap_or(usize::MAX));
                let limit = limit.map_or(usize::MAX, |limit| limit as usize);
                let piece: Vec<u8> = rest.take(limit).collect();
                reading = match piece.is_empty() {
                    true => answer.end_of_file()?,
                    false => answer.data(piece)?,
                };
            }
            Reading::Close(idle) => {
                transcript.line("server <- close");
                return Ok(idle);
            }
        }
    }
}
