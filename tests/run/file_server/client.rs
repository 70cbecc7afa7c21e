use conversations::protocols::acme::files::Mode;
use conversations::protocols::acme::files::file_server::{Listing, Opening, Piece, client};
use conversations::protocols::acme::{File, Folder, Person, Problem};
use conversations::{Transcript, hex, list, option, quoted};
use duologue::Closed;

pub fn run(endpoint: client::Idle, transcript: &Transcript) -> Result<(), Closed> {
    let idle = look(endpoint, "/", transcript)?;
    let idle = match idle
        .open("/secret".to_owned(), Mode::Append { create: false })?
        .recv()?
    {
        Opening::Failed(why, idle) => {
            transcript.line(format_args!("client <- failed({})", problem(&why)));
            idle
        }
        other => panic!("unexpected: {other:?}"),
    };
    let mut reading = match idle.open("/hello".to_owned(), Mode::Read)?.recv()? {
        Opening::Opened(opened, reading) => {
            transcript.line(format_args!("client <- opened({})", file(&opened)));
            reading
        }
        other => panic!("unexpected: {other:?}"),
    };
    for (at, limit) in [(0, Some(4)), (4, None), (5, Some(4))] {
        reading = match reading.read(at, limit)?.recv()? {
            Piece::Data(data, next) => {
                transcript.line(format_args!("client <- data({})", hex(&data)));
                next
            }
            Piece::EndOfFile(next) => {
                transcript.line("client <- end_of_file");
                next
            }
        };
    }
    look(reading.close()?, "/tmp", transcript)?.leave()?;
    Ok(())
}

fn look(idle: client::Idle, path: &str, transcript: &Transcript) -> Result<client::Idle, Closed> {
    Ok(match idle.list(path.to_owned())?.recv()? {
        Listing::Listing(found, idle) => {
            transcript.line(format_args!("client <- listing({})", folder(&found)));
            idle
        }
        Listing::Failed(why, idle) => {
            transcript.line(format_args!("client <- failed({})", problem(&why)));
            idle
        }
    })
}

fn folder(folder: &Folder) -> String {
    let name = quoted(&folder.name);
    let files = list(folder.files.iter().map(file));
    let folders = list(folder.folders.iter().map(self::folder));
    let changed = folder.changed;
    format!("{{name: {name}, changed: {changed}, files: {files}, folders: {folders}}}")
}

fn file(file: &File) -> String {
    let (name, size) = (quoted(&file.name), file.size);
    let owner = option(file.owner.as_ref().map(person));
    let checksum = hex(&file.checksum);
    format!("{{name: {name}, size: {size}, owner: {owner}, checksum: {checksum}}}")
}

fn person(person: &Person) -> String {
    format!("{{id: {}, name: {}}}", person.id, quoted(&person.name))
}

fn problem(problem: &Problem) -> String {
    match problem {
        Problem::NotFound => "not_found".to_owned(),
        Problem::Denied { to } => format!("denied({})", person(to)),
        Problem::Busy {
            until,
            readers: (now, soon),
        } => format!("busy({until}, ({now}, {soon}))"),
    }
}
