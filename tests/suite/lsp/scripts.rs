//! What editors ask about texts: scripts in `tests/lsp/`, each with a snapshot of all answers. The lines of a script are
//!
//! - `== PATH`: a file on disk, whose lines follow;
//! - `=> PATH`: a text in the editor, which is asked about from now on, at its mark `$0`. With `crlf` its lines end as on Windows, with
//!   `unended` its last line does not end;
//! - `@ ...`: a step, see `step`;
//! - `? ...`: a question, see `ask`.

use super::client::{Client, edited, folder, marked, uri, write};
use super::editors::commit;
use crate::support::repository;
use crate::support::script::{read, scripts};
use serde_json::{Value, json};
use std::collections::BTreeMap;
use std::fs;
use std::path::PathBuf;

scripts! { "lsp", play:
    completion
    formats
    hovers
    lenses
    places
    renames
    repairs
    workspaces
}

fn play(name: &str) -> String {
    let mut session = Session::new(name);
    let mut answers = String::new();
    for line in read(&format!("lsp/{name}.txt"), &["==", "=>"], &["@", "?"]) {
        let words = line.words.as_str();
        let (first, rest) = words.split_once(' ').unwrap_or((words, ""));
        match line.mark.as_str() {
            "==" => session.write(words, &line.text),
            "=>" => session.edit(
                first,
                &match rest {
                    "crlf" => line.text.replace('\n', "\r\n"),
                    "unended" => line.text.trim_end().to_owned(),
                    _ => line.text,
                },
            ),
            "@" if first == "new" => {
                session.end();
                session = Session::new(name);
                answers += &format!("## {rest}\n\n");
            }
            "@" => session.step(first, rest),
            _ => {
                let answer = session.ask(first, rest).unwrap_or_else(|refused| refused);
                let answer = answer.replace('\r', "\\r");
                answers += &format!("? {words}\n{}\n\n", answer.trim_end_matches('\n'));
            }
        }
    }
    session.end();
    answers
}

/// A server, which starts at the first text in the editor or the first question, and what it is asked about.
struct Session {
    folder: PathBuf,
    client: Option<Client>,
    /// The texts, on disk or in the editor, by path.
    texts: BTreeMap<String, String>,
    /// The version of each text that is in the editor.
    versions: BTreeMap<String, i64>,
    path: String,
    place: Value,
}

impl Session {
    fn new(name: &str) -> Session {
        Session {
            folder: folder(&format!("script-{name}")),
            client: None,
            texts: BTreeMap::new(),
            versions: BTreeMap::new(),
            path: String::new(),
            place: json!({ "line": 0, "character": 0 }),
        }
    }

    fn end(self) {
        if let Some(client) = self.client {
            assert_eq!(client.end(), Some(0));
        }
    }

    fn client(&mut self) -> &mut Client {
        let folder = &self.folder;
        self.client.get_or_insert_with(|| Client::open(folder))
    }

    fn uri(&self, path: &str) -> String {
        uri(&self.folder.join(path))
    }

    /// Asks about this text from now on, and returns it without its mark.
    fn look(&mut self, path: &str, text: &str) -> String {
        path.clone_into(&mut self.path);
        let (text, place) = match text.contains("$0") {
            true => marked(text),
            false => (text.to_owned(), json!({ "line": 0, "character": 0 })),
        };
        self.place = place;
        self.texts.insert(path.to_owned(), text.clone());
        text
    }

    fn write(&mut self, path: &str, text: &str) {
        let text = self.look(path, text);
        write(&self.folder.join(path), &text);
    }

    fn edit(&mut self, path: &str, text: &str) {
        let text = self.look(path, text);
        let uri = self.uri(path);
        let version = self.versions.entry(path.to_owned()).or_insert(0);
        *version += 1;
        match *version {
            1 => self.client().did_open(&uri, &text),
            version => self.client().did_change(&uri, version, &text),
        }
    }

    fn step(&mut self, step: &str, words: &str) {
        match step {
            // An example in the editor.
            "example" => {
                let path = repository().join("protocols").join(words);
                self.edit(words, &fs::read_to_string(path).expect("it is there"));
            }
            // The place that is asked about: where these words are for the first time.
            "at" => {
                let text = &self.texts[&self.path];
                assert!(text.contains(words), "there is no `{words}` in:\n{text}");
                self.place = marked(&text.replacen(words, &format!("$0{words}"), 1)).1;
            }
            // Another text of those that are known.
            "in" => {
                let text = self.texts[words].clone();
                self.look(words, &text);
            }
            "commit" => commit(&self.folder),
            "against" => {
                let settings = json!({ "settings": { "duologue": { "against": words } } });
                let changed = "workspace/didChangeConfiguration";
                self.client().notify(changed, settings);
            }
            _ => panic!("there is no step `{step}`"),
        }
    }

    /// The answer to a request, or why it is refused.
    fn request(&mut self, method: &str, asked: &Value) -> Result<Value, String> {
        let mut found = self.client().response(method, asked.clone());
        match found.get("error") {
            Some(error) => {
                let folder = format!("{}/", self.folder.display());
                let reason = error["message"].to_string().replace(&folder, "");
                Err(format!("refused: {reason}"))
            }
            None => Ok(found["result"].take()),
        }
    }

    /// What is said about the text and the place. Texts after edits are shown; only `act` and `complete` bring them to the editor.
    fn ask(&mut self, question: &str, words: &str) -> Result<String, String> {
        let uri = self.uri(&self.path);
        let mut asked = json!({
            "textDocument": { "uri": uri },
            "position": self.place,
            "positions": [self.place],
            "range": range("0:0-9999:0"),
            "context": { "diagnostics": [], "includeDeclaration": words != "others", "triggerKind": 1 },
            "options": { "tabSize": 4, "insertSpaces": true },
        });
        Ok(match question {
            // The first findings of the text, or the first with this rule.
            "findings" => {
                let version = self.versions[&self.path];
                let found = self.client().findings(&uri, version);
                self.lines(&json!(found))
            }
            "finding" => {
                let found = self.client().wait(words, |message| {
                    let found = message["params"]["diagnostics"].as_array();
                    let mut found = found.into_iter().flatten();
                    message["params"]["uri"] == uri && found.any(|found| found["code"] == words)
                });
                self.lines(&found["params"]["diagnostics"])
            }
            "symbols" => {
                let query = json!({ "query": words.replace("\\n", "\n") });
                let found = self.request("workspace/symbol", &query)?;
                self.lines(&found)
            }
            "hover" => {
                let found = self.request("textDocument/hover", &asked)?;
                let text = found["contents"]["value"].as_str();
                text.unwrap_or("nothing").to_owned()
            }
            "dual" => {
                let found = self.request("duologue/dual", &asked)?;
                found["text"].as_str().expect("a text").to_owned()
            }
            // The first tag of the picture.
            "picture" => {
                let found = self.request("duologue/picture", &asked)?;
                let tag = found["svg"].as_str().and_then(|svg| svg.split('>').next());
                tag.expect("a picture").to_owned()
            }
            // The labels of the proposals, and what they import.
            "completion" => {
                let found = self.request("textDocument/completion", &asked)?;
                let items = found["items"].as_array().expect("a list").iter();
                let labels = items.map(|item| {
                    let label = item["label"].as_str().expect("a text");
                    match item["additionalTextEdits"][0]["newText"].as_str() {
                        Some(import) => format!("{label} ({})", import.trim()),
                        None => label.to_owned(),
                    }
                });
                labels.collect::<Vec<_>>().join(", ")
            }
            "complete" => {
                let found = self.request("textDocument/completion", &asked)?;
                let item = with(&found["items"], "label", words);
                let more = item["additionalTextEdits"].as_array().into_iter();
                let edits: Vec<&Value> = more.flatten().chain([&item["textEdit"]]).collect();
                self.apply(&json!(edits))
            }
            "actions" => {
                let found = self.request("textDocument/codeAction", &asked)?;
                let actions = found.as_array().expect("a list").iter();
                let titles = actions.map(|action| match action["isPreferred"] == true {
                    true => format!("{} {}, preferred\n", action["kind"], action["title"]),
                    false => format!("{} {}\n", action["kind"], action["title"]),
                });
                titles.collect()
            }
            // The action of this title, or of this kind.
            "act" => {
                let is_kind = words.starts_with("source.");
                if is_kind {
                    asked["context"]["only"] = json!([words]);
                }
                let found = self.request("textDocument/codeAction", &asked)?;
                match is_kind {
                    true if found == json!([]) => "nothing".to_owned(),
                    true => self.apply(&found[0]["edit"]["changes"][&uri]),
                    false => self.apply(&with(&found, "title", words)["edit"]["changes"][&uri]),
                }
            }
            "rename" => {
                asked["newName"] = json!(words);
                let found = self.request("textDocument/rename", &asked)?;
                let changes = found["changes"].as_object().expect("changes");
                let texts = self.texts.iter().filter_map(|(path, text)| {
                    let edits = changes.get(&self.uri(path))?;
                    Some(format!("== {path}\n{}", edited(text, edits)))
                });
                let texts: Vec<String> = texts.collect();
                assert_eq!(texts.len(), changes.len(), "{changes:?}");
                texts.concat()
            }
            "format" => {
                let method = match words {
                    "" => "textDocument/formatting",
                    _ => "textDocument/rangeFormatting",
                };
                if !words.is_empty() {
                    asked["range"] = range(words);
                }
                let edits = self.request(method, &asked)?;
                match edits == json!([]) {
                    true => "nothing".to_owned(),
                    false => edited(&self.texts[&self.path], &edits),
                }
            }
            // The states that lead to the one at the place, and those to which it leads.
            "calls" => {
                let items = self.request("textDocument/prepareCallHierarchy", &asked)?;
                let item = json!({ "item": items[0] });
                let incoming = self.request("callHierarchy/incomingCalls", &item)?;
                let outgoing = self.request("callHierarchy/outgoingCalls", &item)?;
                [items, incoming, outgoing]
                    .map(|list| self.lines(&list))
                    .join("--\n")
            }
            _ => {
                let found = self.request(&format!("textDocument/{question}"), &asked)?;
                self.lines(&found)
            }
        })
    }

    /// Brings the edits to the text in the editor.
    fn apply(&mut self, edits: &Value) -> String {
        let text = edited(&self.texts[&self.path], edits);
        let path = self.path.clone();
        self.edit(&path, &text);
        text
    }

    /// An answer, one line for each part of a list.
    fn lines(&self, answer: &Value) -> String {
        match answer.as_array() {
            Some(list) if list.is_empty() => "nothing\n".to_owned(),
            Some(list) => {
                let lines = list.iter().map(|one| format!("{}\n", self.short(one)));
                lines.collect()
            }
            None => self.short(answer).to_string(),
        }
    }

    /// A value with places as `LINE:CHARACTER`, and paths from the folder.
    fn short(&self, value: &Value) -> Value {
        let place = |place: &Value| format!("{}:{}", place["line"], place["character"]);
        match value {
            Value::Object(fields) => match (fields.get("start"), fields.get("end")) {
                (Some(start), Some(end)) => json!(format!("{}-{}", place(start), place(end))),
                _ if fields.contains_key("line") => json!(place(value)),
                _ => {
                    let fields = fields.iter();
                    fields
                        .map(|(name, value)| (name.clone(), self.short(value)))
                        .collect()
                }
            },
            Value::Array(list) => list.iter().map(|value| self.short(value)).collect(),
            Value::String(text) => json!(text.replace(&self.uri(""), "")),
            Value::Null | Value::Bool(_) | Value::Number(_) => value.clone(),
        }
    }
}

/// The part of a list that has this text.
fn with<'a>(list: &'a Value, name: &str, text: &str) -> &'a Value {
    let mut all = list.as_array().expect("a list").iter();
    let found = all.find(|one| one[name] == text);
    found.unwrap_or_else(|| panic!("there is no `{text}` in {list}"))
}

/// The range `LINE:CHARACTER-LINE:CHARACTER`.
fn range(words: &str) -> Value {
    let (start, end) = words.split_once('-').expect("two places");
    let [start, end] = [start, end].map(|place| {
        let (line, character) = place.split_once(':').expect("a line and a character");
        let number = |text: &str| text.parse::<u64>().expect("a number");
        json!({ "line": number(line), "character": number(character) })
    });
    json!({ "start": start, "end": end })
}
