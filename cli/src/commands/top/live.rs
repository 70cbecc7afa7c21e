//! The sessions on a terminal, again and again, and the keys that the user presses.

use super::screen::{Screen, keys};
use super::{again, next};
use crate::interrupt;
use anstream::{AutoStream, ColorChoice};
use duologue_peers::top::{Deadlock, Document};
use duologue_project::{Failure, Outcome};
use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::stdio::{stdin, stdout};
use rustix::termios::{LocalModes, OptionalActions, Termios, tcgetattr, tcgetwinsize, tcsetattr};
use std::io::{self, IsTerminal as _, Write as _};
use std::sync::mpsc::{Receiver, TryRecvError, sync_channel};
use std::thread;
use std::time::Duration;

/// How often it is looked whether there are newer sessions, or the terminal has another size, in nanoseconds.
const TICK: i64 = 50_000_000;

/// Whether there is a terminal that shows sessions and sends keys.
pub fn can_be() -> bool {
    io::stdin().is_terminal() && io::stdout().is_terminal()
}

/// A terminal that shows a screen of its own and sends keys one by one, until this is dropped.
struct Raw(Termios);

impl Raw {
    fn new() -> io::Result<Raw> {
        let before = tcgetattr(stdin())?;
        let mut raw = before.clone();
        // Ctrl-C is a key like others, so that the terminal is always restored.
        let modes = LocalModes::ICANON | LocalModes::ECHO | LocalModes::ISIG;
        raw.local_modes.remove(modes);
        tcsetattr(stdin(), OptionalActions::Flush, &raw)?;
        let raw = Raw(before);
        // The other screen, without a cursor, on which long lines are cut.
        io::stdout().write_all(b"\x1b[?1049h\x1b[?25l\x1b[?7l")?;
        Ok(raw)
    }
}

impl Drop for Raw {
    fn drop(&mut self) {
        let mut out = io::stdout();
        let _ = out.write_all(b"\x1b[?7h\x1b[?25h\x1b[?1049l");
        let _ = out.flush();
        let _ = tcsetattr(stdin(), OptionalActions::Flush, &self.0);
    }
}

type Next = Result<(Document, Vec<Deadlock>), Failure>;

/// Reads the sessions again and again, on a thread that ends with the process: reading may take long, and keys do not wait for it.
fn reading(source: &str, every: Duration) -> Result<Receiver<Next>, Failure> {
    let (hand_over, read) = sync_channel(0);
    let source = source.to_owned();
    let work = move || {
        while hand_over.send(next(&source)).is_ok() {
            thread::sleep(every);
        }
    };
    let started = thread::Builder::new().spawn(work);
    started.map_err(|error| environment!("cannot start a thread: {error}"))?;
    Ok(read)
}

/// Shows the sessions of a source until the user ends that.
pub fn run(source: &str, every: Duration) -> Outcome {
    let read = reading(source, every)?;
    let ended = |_| Failure::Mistake("the thread that reads the sessions has ended".to_owned());
    let (document, found) = read.recv().map_err(ended)??;
    let mut screen = Screen::new(source, document, found);
    interrupt::expect();
    let _raw = Raw::new()?;
    let mut shown = None;
    let mut typed = Vec::new();
    loop {
        match read.try_recv() {
            Ok(Ok((document, found))) => screen.update(document, found),
            Ok(Err(Failure::Environment(why))) => screen.trouble(again(&why, every.as_secs())),
            Ok(Err(failure)) => return Err(failure),
            Err(TryRecvError::Empty) => {}
            Err(TryRecvError::Disconnected) => return Err(ended(std::sync::mpsc::RecvError)),
        }
        let size = tcgetwinsize(stdout()).map_err(io::Error::from)?;
        let (columns, rows) = (usize::from(size.ws_col), usize::from(size.ws_row));
        let frame = screen.frame(columns, rows);
        if shown.as_ref() != Some(&(columns, rows, frame.clone())) {
            draw(&frame)?;
            shown = Some((columns, rows, frame));
        }
        typed.extend(pressed()?);
        for key in keys(&mut typed) {
            if !screen.press(key, rows) {
                return Ok(());
            }
        }
        if interrupt::has_come() {
            return Ok(());
        }
    }
}

fn draw(frame: &[String]) -> io::Result<()> {
    let mut text = "\x1b[H".to_owned();
    for (at, line) in frame.iter().enumerate() {
        let end = if at + 1 < frame.len() { "\r\n" } else { "" };
        let line = match AutoStream::choice(&io::stdout()) {
            ColorChoice::Never => anstream::adapter::strip_str(line).to_string(),
            ColorChoice::Auto | ColorChoice::Always | ColorChoice::AlwaysAnsi => line.clone(),
        };
        text += &format!("{line}\x1b[K{end}");
    }
    let mut out = io::stdout();
    out.write_all((text + "\x1b[J").as_bytes())?;
    out.flush()
}

/// What the terminal has sent; waits for one tick.
fn pressed() -> io::Result<Vec<u8>> {
    let input = stdin();
    let mut waits = [PollFd::new(&input, PollFlags::IN)];
    let tick = Timespec {
        tv_sec: 0,
        tv_nsec: TICK,
    };
    match poll(&mut waits, Some(&tick)) {
        Ok(0) | Err(rustix::io::Errno::INTR) => Ok(Vec::new()),
        Ok(_) => {
            let mut bytes = [0; 64];
            let count = rustix::io::read(input, &mut bytes)?;
            // The terminal is gone.
            if count == 0 {
                return Ok(vec![b'q']);
            }
            Ok(bytes[..count].to_vec())
        }
        Err(error) => Err(error.into()),
    }
}
