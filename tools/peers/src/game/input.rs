//! Where the lines of a session come from: a terminal, a script, or nowhere.

use crate::talk::Talk;
use duologue::protocol::Side;
use duologue_project::Failure;
use rustyline::completion::Completer;
use rustyline::error::ReadlineError;
use rustyline::highlight::Highlighter;
use rustyline::hint::Hinter;
use rustyline::history::MemHistory;
use rustyline::validate::Validator;
use rustyline::{Config, Context, Editor, Helper};
use std::fs::File;
use std::io::{self, BufRead, BufReader, Read};
use std::path::Path;

/// How long a line of a script may be, in bytes.
const LINE: u64 = 8 << 20;

/// A line, and where it is written.
#[derive(Debug)]
pub struct Text {
    /// The line without its end.
    pub text: String,
    /// Where it is, as in `script.txt:3`. Empty in a terminal.
    pub place: String,
}

/// Where lines come from.
pub enum Input<'p> {
    /// A terminal, in which lines can be edited.
    Editor(Box<Editor<Guide<'p>, MemHistory>>),
    /// A transcript.
    Script(Script),
    /// Nobody writes any.
    Nothing,
}

/// A text with one line for each message.
pub struct Script {
    name: String,
    reader: Box<dyn BufRead>,
    number: usize,
    /// A line that was looked at.
    next: Option<Text>,
}

impl<'p> Input<'p> {
    /// The terminal.
    ///
    /// # Errors
    /// It cannot be used.
    pub fn editor() -> Result<Input<'p>, Failure> {
        let config = Config::builder()
            .completion_type(rustyline::CompletionType::List)
            .auto_add_history(true)
            .build();
        let editor = Editor::with_history(config, MemHistory::new());
        Ok(Input::Editor(Box::new(editor.map_err(cannot_read)?)))
    }

    /// Whether lines are edited in a terminal.
    #[must_use]
    pub fn is_editor(&self) -> bool {
        matches!(self, Input::Editor(_))
    }

    /// The next line, without those that say nothing; `None` at the end.
    pub fn line(&mut self, talk: &Talk<'p>) -> Result<Option<Text>, Failure> {
        match self {
            Input::Nothing => Ok(None),
            Input::Script(script) => script.take(),
            Input::Editor(editor) => {
                editor.set_helper(Some(Guide(talk.fork())));
                let (side, state) = (talk.active(), talk.state());
                let side = side.map_or("", Side::word);
                let state = state.map_or("!", |state| state.name.text());
                loop {
                    match editor.readline(&format!("{side} in {state}> ")) {
                        Ok(text) if text.trim().is_empty() => {}
                        Ok(text) => {
                            let (text, place) = (text.trim().to_owned(), String::new());
                            return Ok(Some(Text { text, place }));
                        }
                        // The line is given up, as in a shell.
                        Err(ReadlineError::Interrupted) => {}
                        Err(ReadlineError::Eof) => return Ok(None),
                        Err(error) => return Err(cannot_read(error)),
                    }
                }
            }
        }
    }

    /// Whether the next line of a script says what this side sends, so that no robot has to choose.
    pub fn is_scripted_for(&mut self, side: Side) -> Result<bool, Failure> {
        let Input::Script(script) = self else {
            return Ok(false);
        };
        let next = script.peek()?;
        let receiver = next.and_then(|line| line.text.split_once("<-"));
        Ok(receiver.is_some_and(|(receiver, _)| receiver.trim() == side.dual().word()))
    }

    /// A line that is left in a script.
    pub fn rest(&mut self) -> Result<Option<Text>, Failure> {
        match self {
            Input::Script(script) => script.take(),
            Input::Editor(_) | Input::Nothing => Ok(None),
        }
    }
}

impl Script {
    /// A file, or standard input for `-`.
    ///
    /// # Errors
    /// It cannot be read.
    pub fn open(path: &Path) -> Result<Script, Failure> {
        if path == Path::new("-") {
            return Ok(Script::standard());
        }
        let name = path.display().to_string();
        match File::open(path) {
            Ok(file) => Ok(Script::new(name, Box::new(BufReader::new(file)))),
            Err(error) => Err(environment!("cannot read {name}: {error}")),
        }
    }

    /// Standard input.
    #[must_use]
    pub fn standard() -> Script {
        let reader = Box::new(BufReader::new(io::stdin()));
        Script::new("standard input".to_owned(), reader)
    }

    fn new(name: String, reader: Box<dyn BufRead>) -> Script {
        Script {
            name,
            reader,
            number: 0,
            next: None,
        }
    }

    fn peek(&mut self) -> Result<Option<&Text>, Failure> {
        if self.next.is_none() {
            self.next = self.read()?;
        }
        Ok(self.next.as_ref())
    }

    /// The next line that is neither empty nor a comment; `None` at the end.
    pub fn take(&mut self) -> Result<Option<Text>, Failure> {
        match self.next.take() {
            Some(line) => Ok(Some(line)),
            None => self.read(),
        }
    }

    /// Reads on to the next line that is neither empty nor a comment.
    fn read(&mut self) -> Result<Option<Text>, Failure> {
        loop {
            let mut bytes = Vec::new();
            let mut limited = (&mut self.reader).take(LINE + 1);
            let read = limited.read_until(b'\n', &mut bytes);
            self.number += 1;
            let place = format!("{}:{}", self.name, self.number);
            read.map_err(|error| environment!("cannot read {}: {error}", self.name))?;
            if bytes.is_empty() {
                return Ok(None);
            }
            if bytes.len() as u64 > LINE {
                bail_environment!("{place}: the line has more than {LINE} bytes");
            }
            let text = String::from_utf8(bytes)
                .map_err(|_| environment!("{place}: the line is not UTF-8"))?;
            let text = text.trim().to_owned();
            if !text.is_empty() && !text.starts_with('#') {
                return Ok(Some(Text { text, place }));
            }
        }
    }
}

fn cannot_read(error: impl std::fmt::Display) -> Failure {
    environment!("cannot read from the terminal: {error}")
}

/// Completes messages and values.
pub struct Guide<'p>(Talk<'p>);

/// The commands, for completion.
const COMMANDS: [&str; 6] = [
    ":allowed",
    ":help",
    ":leave",
    ":quit",
    ":transcript",
    ":undo",
];

impl Completer for Guide<'_> {
    type Candidate = String;

    fn complete(
        &self,
        line: &str,
        position: usize,
        _: &Context<'_>,
    ) -> rustyline::Result<(usize, Vec<String>)> {
        let typed = &line[..position];
        if typed.starts_with(':') {
            let fitting = COMMANDS.iter().filter(|command| command.starts_with(typed));
            return Ok((0, fitting.map(|command| (*command).to_owned()).collect()));
        }
        let start = typed.len() - typed.trim_start().len();
        let (at, words) = self.0.complete(&typed[start..]);
        Ok((start + at, words))
    }
}

impl Hinter for Guide<'_> {
    type Hint = String;
}
impl Highlighter for Guide<'_> {}
impl Validator for Guide<'_> {}
impl Helper for Guide<'_> {}
