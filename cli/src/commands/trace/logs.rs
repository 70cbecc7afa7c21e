//! Reads logs line by line, however long lines and logs are.

use crate::interrupt;
use clap::ValueEnum;
use duologue::name::nearest;
use duologue::protocol::Side;
use duologue_project::Failure;
use duologue_project::inputs::unreadable;
use duologue_traces::{
    Checker, Event, Finding, KeptLine, Line, Mapping, Place, Problem, Stop, Transcript, otlp_events,
};
use std::fs::{File, Metadata};
use std::io::{self, BufRead, BufReader, Read, Seek, SeekFrom};
use std::path::{Path, PathBuf};

/// The most bytes in a line. One of OpenTelemetry is a document.
const LINE_LIMIT: usize = 1 << 20;
const DOCUMENT_LIMIT: usize = 64 << 20;

/// How the lines of a log look.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum Format {
    /// What the first line looks like
    Auto,
    /// One JSON object for each event
    Json,
    /// One line for each message that a side has received: `server <- login("holk")`
    Transcript,
    /// JSON documents of OpenTelemetry
    Otlp,
}

/// A log that is read.
pub struct Log {
    /// The name that reports show.
    pub name: String,
    /// The side that wrote it, where events do not say.
    side: Option<Side>,
    number: u32,
    input: Box<dyn BufRead>,
    format: Format,
    transcript: Transcript,
    /// The number of the last line that was read, and the first byte after it.
    line: u64,
    pub byte: u64,
    /// How long it was at first, if it is a file.
    pub length: Option<u64>,
    buffer: Vec<u8>,
    /// Whether the rest of a line that is too long is skipped.
    is_skipping: bool,
    /// The file that is read and its path, if more can be appended after its end.
    followed: Option<(File, PathBuf)>,
    /// Whether another file has replaced the one that is read.
    is_replaced: bool,
    pub is_over: bool,
}

/// What reading a line led to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Taken {
    /// A line.
    Line,
    /// There is no whole line yet.
    Nothing,
    /// The log is over.
    End,
}

/// Reads the lines again whose texts findings lack, where the logs are files.
pub fn complete(found: &mut [Finding], logs: &[PathBuf]) {
    let lines = found.iter_mut().map(|found| &mut found.line);
    for kept in lines.filter(|line| line.text.is_empty()) {
        let (_, path) = named(&logs[kept.place.log as usize]);
        // To open a pipe is to wait for somebody who writes to it.
        if !path.is_file() {
            continue;
        }
        let Ok(mut file) = File::open(&path) else {
            continue;
        };
        if file.seek(SeekFrom::Start(kept.byte)).is_err() {
            continue;
        }
        let mut text = Vec::new();
        let limit = u64::try_from(LINE_LIMIT).unwrap_or(u64::MAX);
        let read = BufReader::new(&mut file)
            .take(limit)
            .read_until(b'\n', &mut text);
        if let Ok(1..) = read {
            let Place { log, line: number } = kept.place;
            *kept = KeptLine::whole(&line(log, number, kept.byte, without_end(&text)));
        }
    }
}

/// A log that the command line names: `FILE`, `client=FILE`, `server=FILE`, or `-`.
pub fn named(text: &Path) -> (Option<Side>, PathBuf) {
    if !text.exists()
        && let Some((side, file)) = text.to_str().and_then(|text| text.split_once('='))
        && let Some(side) = Side::named(side)
    {
        return (Some(side), file.into());
    }
    (None, text.to_path_buf())
}

/// Standard input. What the library has for it keeps a part of what was read, without which nothing says whether there is more.
fn standard() -> io::Result<impl Read> {
    #[cfg(unix)]
    {
        use std::os::fd::AsFd as _;
        let input = io::stdin().as_fd().try_clone_to_owned()?;
        Ok(UntilEnd(File::from(input)))
    }
    #[cfg(not(unix))]
    Ok(io::stdin())
}

/// A file, pipe or terminal that is over if an end is asked for while it has nothing to read.
struct UntilEnd(File);

impl Read for UntilEnd {
    fn read(&mut self, bytes: &mut [u8]) -> io::Result<usize> {
        #[cfg(unix)]
        loop {
            use rustix::event::{PollFd, PollFlags, Timespec, poll};
            let mut waits = [PollFd::new(&self.0, PollFlags::IN)];
            let tick = Timespec {
                tv_sec: 0,
                tv_nsec: 100_000_000,
            };
            match poll(&mut waits, Some(&tick)) {
                Ok(0) | Err(rustix::io::Errno::INTR) if interrupt::has_come() => return Ok(0),
                Ok(0) | Err(rustix::io::Errno::INTR) => {}
                Ok(_) => break,
                Err(error) => return Err(error.into()),
            }
        }
        self.0.read(bytes)
    }
}

impl Log {
    /// Opens a log.
    pub fn open(
        number: u32,
        text: &Path,
        format: Format,
        is_followed: bool,
    ) -> Result<Log, Failure> {
        let (side, path) = named(text);
        let is_stdin = path.as_os_str() == "-";
        let failed = |error| Failure::Environment(unreadable(&path, &error));
        let mut followed = None;
        let mut length = None;
        let input: Box<dyn BufRead> = if is_stdin {
            Box::new(BufReader::with_capacity(
                1 << 16,
                standard().map_err(failed)?,
            ))
        } else {
            let opened = match path.is_dir() {
                true => Err(io::Error::new(
                    io::ErrorKind::IsADirectory,
                    "this is a directory",
                )),
                false => File::open(&path),
            };
            let side = text.to_str().and_then(|text| text.split_once('='));
            let side = side.and_then(|(side, _)| nearest(side, ["client", "server"]));
            let near = side.map(|side| format!("; did you mean `{side}=FILE`?"));
            let near = near.unwrap_or_default();
            let failed = |error| Failure::Environment(unreadable(&path, &error) + near.as_str());
            let file = opened.map_err(failed)?;
            let metadata = file.metadata().map_err(failed)?;
            length = metadata.is_file().then_some(metadata.len());
            if is_followed {
                followed = Some((file.try_clone().map_err(failed)?, path.clone()));
            }
            Box::new(BufReader::with_capacity(1 << 16, UntilEnd(file)))
        };
        let name = match is_stdin {
            true => "<stdin>".to_owned(),
            false => path.display().to_string(),
        };
        Ok(Log {
            side,
            number,
            input,
            format,
            transcript: Transcript::new(name.clone()),
            name,
            line: 0,
            byte: 0,
            length,
            buffer: Vec::new(),
            is_skipping: false,
            followed,
            is_replaced: false,
            is_over: false,
        })
    }

    /// Whether the path of a followed log has another file by now, with something in it, or the file has become shorter.
    fn has_another(&self) -> bool {
        let Some((file, path)) = &self.followed else {
            return false;
        };
        let (Ok(own), Ok(there)) = (file.metadata(), path.metadata()) else {
            return false;
        };
        own.is_file() && (own.len() < self.byte || !is_same(&own, &there) && there.len() > 0)
    }

    /// Goes on with the file that is at the path of a followed log.
    fn reopen(&mut self) -> Result<(), Failure> {
        let Some((_, path)) = self.followed.take() else {
            return Ok(());
        };
        let file = File::open(&path).map_err(|error| self.failed(&error))?;
        let other = file.try_clone().map_err(|error| self.failed(&error))?;
        self.followed = Some((other, path));
        self.input = Box::new(BufReader::with_capacity(1 << 16, UntilEnd(file)));
        (self.line, self.byte) = (0, 0);
        self.buffer.clear();
        self.is_skipping = false;
        self.is_replaced = false;
        Ok(())
    }

    fn failed(&self, error: &io::Error) -> Failure {
        environment!("cannot read {}: {error}", self.name)
    }

    fn limit(&self) -> usize {
        match self.format {
            Format::Otlp | Format::Auto => DOCUMENT_LIMIT,
            Format::Json | Format::Transcript => LINE_LIMIT,
        }
    }

    /// Takes the next line into the checker.
    pub fn take(
        &mut self,
        mapping: &Mapping,
        checker: &mut Checker<'_, '_>,
    ) -> Result<Taken, Failure> {
        // With its line break.
        let limit = self.limit() + 2;
        loop {
            let free = limit.saturating_sub(self.buffer.len()).max(1);
            let more = u64::try_from(free).unwrap_or(u64::MAX);
            let read = (&mut self.input)
                .take(more)
                .read_until(b'\n', &mut self.buffer);
            let read = read.map_err(|error| self.failed(&error))?;
            let is_whole = self.buffer.last() == Some(&b'\n');
            if read == 0 {
                if interrupt::has_come() {
                    return Ok(Taken::Nothing);
                }
                if self.followed.is_some() && !self.is_replaced {
                    self.is_replaced = self.has_another();
                    match self.is_replaced {
                        // What was appended in the meantime is read first.
                        true => continue,
                        false => return Ok(Taken::Nothing),
                    }
                }
                if !self.buffer.is_empty() && !self.is_skipping {
                    break;
                }
                if self.followed.is_none() {
                    self.is_over = true;
                    return Ok(Taken::End);
                }
                self.reopen()?;
                continue;
            }
            if is_whole && self.is_skipping {
                self.byte += length(&self.buffer);
                self.buffer.clear();
                self.is_skipping = false;
                return Ok(Taken::Line);
            }
            if is_whole {
                break;
            }
            if self.buffer.len() >= limit {
                if !self.is_skipping {
                    self.line += 1;
                    let line = line(self.number, self.line, self.byte, &self.buffer);
                    let words = format!("the line has more than {} bytes", self.limit());
                    checker.unreadable(&line, words, None);
                }
                self.is_skipping = true;
                self.byte += length(&self.buffer);
                self.buffer.clear();
            }
        }
        self.line += 1;
        let taken = std::mem::take(&mut self.buffer);
        let first = self.byte;
        self.byte += length(&taken);
        self.buffer = self.whole(taken, first, mapping, checker)?;
        self.buffer.clear();
        Ok(Taken::Line)
    }

    /// Takes a whole line, and returns its buffer.
    fn whole(
        &mut self,
        mut taken: Vec<u8>,
        first: u64,
        mapping: &Mapping,
        checker: &mut Checker<'_, '_>,
    ) -> Result<Vec<u8>, Failure> {
        let text = without_end(&taken);
        if text.iter().all(u8::is_ascii_whitespace) {
            return Ok(taken);
        }
        if self.format == Format::Auto {
            self.format = recognized(text);
        }
        if text.len() > self.limit() {
            let line = line(self.number, self.line, first, text);
            let words = format!("the line has more than {} bytes", self.limit());
            checker.unreadable(&line, words, None);
            return Ok(taken);
        }
        let read = match self.format {
            Format::Auto | Format::Json => mapping.read(text, self.side),
            Format::Transcript => self.transcript.read(text),
            Format::Otlp => {
                let events = otlp_events(text, self.side);
                let is_cut = matches!(&events, Err(problem) if problem.is_cut);
                match events {
                    // A document over several lines: the rest of the log belongs to it, unless the next line begins one.
                    Err(_) if is_cut && self.followed.is_none() && !self.begins_document()? => {
                        let limit = u64::try_from(DOCUMENT_LIMIT - text.len()).unwrap_or(0);
                        let read = (&mut self.input).take(limit).read_to_end(&mut taken);
                        let read = read.map_err(|error| self.failed(&error))?;
                        self.byte += u64::try_from(read).unwrap_or(0);
                        let events = otlp_events(&taken, self.side);
                        self.documented(&taken, first, events, checker)?;
                        let lines = taken.split(|byte| *byte == b'\n').count();
                        self.line += u64::try_from(lines).unwrap_or(0).saturating_sub(2);
                    }
                    events => self.documented(text, first, events, checker)?,
                }
                return Ok(taken);
            }
        };
        let line = line(self.number, self.line, first, text);
        match read {
            Ok(None) => {}
            Ok(Some(event)) => {
                let taken = checker.take(&event, &line);
                taken.map_err(|stop| self.stopped(stop, &event))?;
            }
            Err(Problem { message, byte, .. }) => checker.unreadable(&line, message, byte),
        }
        Ok(taken)
    }

    /// Whether the next line begins a document.
    fn begins_document(&mut self) -> Result<bool, Failure> {
        let name = &self.name;
        let next = self.input.fill_buf();
        let next = next
            .map_err(|error| environment!("cannot read {name}: {error}"))?
            .trim_ascii_start();
        let beginnings = ["{\"resourceSpans\"", "{\"resourceLogs\""];
        let mut beginnings = beginnings.iter();
        Ok(beginnings.any(|text| next.starts_with(text.as_bytes())))
    }

    /// Takes the events of a document that begins with the current line.
    fn documented(
        &self,
        text: &[u8],
        first: u64,
        events: Result<Vec<Event<'_>>, Problem>,
        checker: &mut Checker<'_, '_>,
    ) -> Result<(), Failure> {
        let breaks = text.iter().enumerate().filter(|(_, byte)| **byte == b'\n');
        let breaks: Vec<usize> = breaks.map(|(at, _)| at).collect();
        let line_at = |byte: usize| {
            let index = breaks.partition_point(|end| *end < byte);
            let start = index.checked_sub(1).map_or(0, |before| breaks[before] + 1);
            let end = breaks.get(index).copied().unwrap_or(text.len());
            let number = self.line + u64::try_from(index).unwrap_or(0);
            let byte = first + u64::try_from(start).unwrap_or(0);
            line(self.number, number, byte, &text[start..end])
        };
        match events {
            Ok(events) => {
                for event in events {
                    let place = event.place(text);
                    let is_whole = place.len() == text.len();
                    let line = line_at(if is_whole { 0 } else { place.start });
                    let taken = checker.take(&event, &line);
                    taken.map_err(|stop| self.stopped(stop, &event))?;
                }
            }
            Err(Problem { message, byte, .. }) => checker.unreadable(&line_at(0), message, byte),
        }
        Ok(())
    }

    fn stopped(&self, stop: Stop, event: &Event<'_>) -> Failure {
        let at = format!("{}, line {}", self.name, self.line);
        Failure::Environment(match stop {
            Stop::Sessions => format!(
                "{at}: too many sessions are open or wrong to begin `{}`: `--max-sessions` sets how many may be",
                event.session.escape_debug()
            ),
            Stop::Apart => format!(
                "{at}: the logs of the two sides of `{}` are too far apart: the events of a session must be at similar places in both",
                event.session.escape_debug()
            ),
        })
    }
}

/// Whether two files are the same; where the system does not tell, they count as that.
fn is_same(one: &Metadata, other: &Metadata) -> bool {
    #[cfg(unix)]
    {
        use std::os::unix::fs::MetadataExt;
        (one.dev(), one.ino()) == (other.dev(), other.ino())
    }
    #[cfg(not(unix))]
    {
        let _ = (one, other);
        true
    }
}

fn line(log: u32, line: u64, byte: u64, text: &[u8]) -> Line<'_> {
    Line {
        place: Place { log, line },
        byte,
        text,
    }
}

fn length(bytes: &[u8]) -> u64 {
    u64::try_from(bytes.len()).unwrap_or(u64::MAX)
}

fn without_end(line: &[u8]) -> &[u8] {
    let line = line.strip_suffix(b"\n").unwrap_or(line);
    line.strip_suffix(b"\r").unwrap_or(line)
}

/// What the first line of a log looks like.
fn recognized(line: &[u8]) -> Format {
    let has = |word: &str| line.windows(word.len()).any(|part| part == word.as_bytes());
    let line = line.trim_ascii();
    if line == b"{"
        || line.starts_with(b"{") && (has("\"resourceSpans\"") || has("\"resourceLogs\""))
    {
        Format::Otlp
    } else if !line.starts_with(b"{") && has(" <- ") {
        Format::Transcript
    } else {
        Format::Json
    }
}
