//! The files for Vim, Neovim, Emacs and Kakoune, in these editors without a screen. The snapshots show, for each line of one file, the group or
//! face of each part.

use crate::support::program::Scratch;
use crate::support::rust::tool;
use crate::support::{repository, succeed};
use serde_json::{Value, json};
use std::fmt::Write as _;
use std::io::{BufRead, BufReader, Write as _};
use std::path::Path;
use std::process::{Command, Stdio};

/// A file in which everything occurs.
const EVERYTHING: &str = "tools/editors/vscode/test/everything.duo";

/// Files whose names do not say whose they are, or do. The editors decide.
const FILES: &[(&str, &str)] = &[
    ("protocol.proto", "//! Ours.\n#[allow(all)] proto! p {\n}\n"),
    (
        "theirs.proto",
        "// proto! is no word of theirs\nsyntax = \"proto3\";\nmessage a {\n}\n",
    ),
    (
        "commented.proto",
        "/*\nproto! a\n*/\npackage a;\nmessage b {\n}\n",
    ),
    ("empty.duo", ""),
];

fn scratch(name: &str) -> (Scratch, Vec<String>) {
    let scratch = Scratch::with(name, FILES);
    let path = |name: &str| scratch.path(name).to_str().expect("UTF-8").to_owned();
    let paths = FILES.iter().map(|(name, _)| path(name)).collect();
    (scratch, paths)
}

fn script(name: &str) -> String {
    let path = repository().join("tests/editors/scripts").join(name);
    path.to_str().expect("UTF-8").to_owned()
}

/// A variable of Vim that is a text.
fn variable(name: &str, value: &str) -> String {
    format!("let g:{name} = '{}'", value.replace('\'', "''"))
}

/// What `syntax.vim` reports in one of the two editors.
fn colored(editor: &str, arguments: &[&str], package: &str) -> String {
    let (scratch, files) = scratch(&format!("{editor}-syntax"));
    let report = scratch.path("report");
    let quoted: Vec<String> = files.iter().map(|path| format!("'{path}'")).collect();
    let folder = repository().to_str().expect("UTF-8");
    let mut command = tool(editor, &format!("apt-get install {package}"));
    command
        .args(arguments)
        .args(["-u", "NONE", "-i", "NONE", "-n"]);
    command.args(["--cmd", &variable("folder", folder)]);
    command.args([
        "--cmd",
        &variable("report", report.to_str().expect("UTF-8")),
    ]);
    command.args(["--cmd", &format!("let g:files = [{}]", quoted.join(","))]);
    command.args(["-S", &script("syntax.vim")]);
    succeed(&mut command).unwrap_or_else(|failure| panic!("{failure}"));
    scratch.read("report")
}

#[test]
#[ignore = "nightly: editors"]
fn vim_and_neovim_color_and_indent_a_protocol() {
    insta::assert_snapshot!("vim", colored("nvim", &["--headless"], "neovim"));
    insta::assert_snapshot!("vim", colored("vim", &["-e", "-s"], "vim"));
}

/// Neovim loads the committed parser, accepts the queries, and colors a buffer with them.
#[test]
#[ignore = "nightly: editors"]
fn neovim_colors_a_protocol_by_tree_sitter() {
    let scratch = Scratch::new("neovim-tree-sitter");
    std::fs::create_dir_all(scratch.path("parser")).expect("a folder can be created");
    let grammar = repository().join("tools/editors/tree-sitter-duologue/src");
    let mut compile = tool("gcc", "apt-get install gcc");
    compile
        .args(["-std=c11", "-shared", "-fPIC", "-I"])
        .arg(&grammar);
    compile.args(["parser.c", "scanner.c"].map(|name| grammar.join(name)));
    compile.arg("-o").arg(scratch.path("parser/duologue.so"));
    succeed(&mut compile).unwrap_or_else(|failure| panic!("{failure}"));
    let text = |path: &Path| path.to_str().expect("UTF-8").to_owned();
    let mut command = tool("nvim", "apt-get install neovim");
    command.args(["--headless", "-u", "NONE", "-i", "NONE", "-n"]);
    for (name, value) in [
        ("folder", text(repository())),
        ("runtime", text(&scratch.path("."))),
        ("report", text(&scratch.path("report"))),
    ] {
        command.args(["--cmd", &variable(name, &value)]);
    }
    command.args(["-S", &script("neovim.lua")]);
    succeed(&mut command).unwrap_or_else(|failure| panic!("{failure}"));
    let expected =
        "tree-sitter true\nerror false\nhighlights true\nfolds true\nlocals true\nindents true\n";
    assert_eq!(scratch.read("report"), expected);
}

#[test]
#[ignore = "nightly: editors"]
fn emacs_colors_and_indents_a_protocol() {
    let install = "apt-get install emacs-nox";
    let (scratch, files) = scratch("emacs-mode");
    let mut command = tool("emacs", install);
    command.args(["-Q", "--batch", "-l", &script("emacs.el")]);
    command.env("DUOLOGUE_FOLDER", repository());
    command.env("DUOLOGUE_FILES", files.join(":"));
    let printed = succeed(&mut command).unwrap_or_else(|failure| panic!("{failure}"));
    insta::assert_snapshot!("emacs", printed);
    // It compiles without warnings.
    let mode = std::fs::read(repository().join("tools/editors/emacs/duologue-mode.el"));
    scratch.write("duologue-mode.el", mode.expect("the mode is there"));
    let mut command = tool("emacs", install);
    command.args([
        "-Q",
        "--batch",
        "--eval",
        "(setq byte-compile-error-on-warn t)",
    ]);
    command
        .args(["-f", "batch-byte-compile"])
        .arg(scratch.path("duologue-mode.el"));
    succeed(&mut command).unwrap_or_else(|failure| panic!("{failure}"));
}

/// The faces that the highlighters use, each with the color that stands for it in the test.
const FACES: [&str; 11] = [
    "keyword",
    "type",
    "function",
    "module",
    "variable",
    "value",
    "operator",
    "string",
    "comment",
    "documentation",
    "meta",
];

/// What Kakoune draws, line by line, with the face of each part.
fn drawn(file: &str, scratch: &Scratch) -> String {
    let plugin = repository().join("tools/editors/kakoune/duologue.kak");
    let mut commands = format!("source {}\n", plugin.display());
    for (number, face) in FACES.iter().enumerate() {
        let _ = writeln!(commands, "set-face global {face} rgb:0000{number:02x}");
    }
    let _ = writeln!(commands, "edit {file}");
    let known = Command::new("kak").arg("-version").output();
    let is_installed = known.is_ok_and(|output| output.status.success());
    assert!(
        is_installed,
        "kak is not installed: apt-get install kakoune"
    );
    // The editor ends by itself when it is asked to; if it hangs, `timeout` stops it.
    let mut command = Command::new("timeout");
    command.args(["60", "kak", "-ui", "json", "-e", &commands]);
    command
        .env("XDG_CONFIG_HOME", scratch.path("none"))
        .env_remove("TMUX");
    command.env("XDG_RUNTIME_DIR", scratch.path("."));
    command
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::null());
    let mut editor = command.spawn().expect("timeout is part of the system");
    let mut keyboard = editor.stdin.take().expect("its input is a pipe");
    let mut call = |method: &str, parameters: Value| {
        let call = json!({ "jsonrpc": "2.0", "method": method, "params": parameters });
        // At once, because the editor does not wait for the rest of a call. If it has ended, its output says so.
        let _ = keyboard.write_all(format!("{call}\n").as_bytes());
    };
    let output = BufReader::new(editor.stdout.take().expect("its output is a pipe"));
    let lines = std::fs::read_to_string(file).expect("the file is there");
    let lines = lines.lines().count().max(1);
    let mut found = None;
    for line in output.lines() {
        let line = line.expect("it prints UTF-8");
        let drawn: Value = serde_json::from_str(&line).expect("it prints JSON");
        // A size that is sent before the first picture is lost.
        if drawn["method"] == "refresh" && found.is_none() {
            call("resize", json!([60, 160]));
        }
        let is_whole = drawn["params"][0]
            .as_array()
            .is_some_and(|drawn| drawn.len() >= lines);
        if drawn["method"] == "draw" && is_whole && found.is_none() {
            found = Some(drawn["params"][0].clone());
            call("keys", json!([":quit!<ret>"]));
        }
    }
    editor.wait().expect("it has ended");
    let found = found.unwrap_or_else(|| panic!("kak draws no {lines} lines of {file}"));
    let mut text = String::new();
    for (number, line) in found.as_array().expect("lines").iter().enumerate() {
        let _ = write!(text, "{}", number + 1);
        for part in line.as_array().expect("parts") {
            let words = part["contents"].as_str().expect("text").trim();
            let color = part["face"]["fg"].as_str().expect("a color");
            let face = color
                .strip_prefix("rgb:0000")
                .and_then(|color| FACES.get(usize::from_str_radix(color, 16).ok()?));
            if !words.is_empty() {
                let _ = write!(text, " {}={words}", face.unwrap_or(&""));
            }
        }
        text.push('\n');
    }
    text
}

#[test]
#[ignore = "nightly: editors"]
fn kakoune_colors_a_protocol() {
    let (scratch, files) = scratch("kakoune");
    let everything = repository().join(EVERYTHING);
    insta::assert_snapshot!(
        "kakoune",
        drawn(everything.to_str().expect("UTF-8"), &scratch)
    );
    // Only a file that is ours is colored as one.
    let ours = |path: &str| drawn(path, &scratch).contains("keyword=proto!");
    assert!(ours(&files[0]));
    assert!(!ours(&files[1]));
}
