//! Sessions in real editors, each a script in `tests/lsp/`.

use super::client::folder;
use crate::support::{repository, succeed, tool_of};
use std::process::Command;

/// A folder with the protocol of the bank, in git, whose working copy has another message.
pub fn workspace(name: &str) -> std::path::PathBuf {
    let folder = folder(name);
    let bank = repository().join("protocols/bank.proto");
    let text = std::fs::read_to_string(bank).expect("the example is there");
    std::fs::write(folder.join("bank.proto"), text).expect("it can be written");
    commit(&folder);
    folder
}

/// Makes a folder a repository whose only commit has its files.
pub fn commit(folder: &std::path::Path) {
    for arguments in [
        &["init", "--quiet"][..],
        &["add", "."],
        &[
            "-c",
            "user.name=a",
            "-c",
            "user.email=a@b",
            "commit",
            "--quiet",
            "-m",
            "First",
        ],
    ] {
        let mut git = Command::new("git");
        git.arg("-C").arg(folder).args(arguments);
        succeed(&mut git).expect("git works");
    }
}

const STEPS: &str = "\
finding: there is no state `Nonnected` in `bank`
repaired: did you mean `connected`?
hover: Shortest way here: client `login(username: str, password: str)`, server `ok`
renamed
completed:         invalid
defined in line 19
formatted:         invalid -> online,
lenses: 1
import `money` from `types.proto`
link to types.proto
type in types.proto
symbol bank/withdrawal_response/insufficient_funds
into online: login_response online online withdrawal_response withdrawal_response
formatted a range
";

#[test]
#[ignore = "nightly: editors"]
fn neovim_repairs_renames_completes_and_formats() {
    let folder = workspace("neovim");
    let script = repository().join("tests/lsp/neovim.lua");
    let mut nvim = tool_of("nvim", "neovim");
    nvim.args(["--headless", "--clean", "-c"])
        .arg(format!("luafile {}", script.display()))
        .env("DUOLOGUE", env!("CARGO_BIN_EXE_duologue"))
        .env("DUOLOGUE_FOLDER", &folder)
        .env("XDG_STATE_HOME", folder.join("state"))
        .env("XDG_CACHE_HOME", folder.join("cache"));
    let printed = succeed(&mut nvim).unwrap_or_else(|words| panic!("{words}"));
    let lines = printed
        .lines()
        .map(|line| line.trim_end().to_owned() + "\n");
    assert_eq!(lines.collect::<String>(), STEPS);
}

const EMACS_STEPS: &str = "\
finding: duologue [unknown-state]: there is no state `Nonnected` in `bank`
repaired: did you mean `connected`?
renamed
completed: invalid
";

#[test]
#[ignore = "nightly: editors"]
fn emacs_repairs_renames_and_completes() {
    let folder = workspace("emacs");
    let mut emacs = tool_of("emacs", "emacs-nox elpa-eglot");
    // Without the user's settings, but with the packages of the system.
    emacs
        .args(["--batch", "-q", "-l"])
        .arg(repository().join("tests/lsp/emacs.el"))
        .env("HOME", &folder)
        .env("DUOLOGUE", env!("CARGO_BIN_EXE_duologue"))
        .env("DUOLOGUE_FOLDER", &folder);
    let printed = succeed(&mut emacs).unwrap_or_else(|words| panic!("{words}"));
    assert_eq!(printed, EMACS_STEPS);
}

const VS_CODE_STEPS: &str = "\
asked for: there is no state `conected` in `bank`
repairs: did you mean `connected`?, create state `conected`
completed with: import \"types.proto\";
import `money` from `types.proto`
findings follow another text
organized: import \"types.proto\";
link to types.proto
type in types.proto
into connected: login_response connected withdrawal_response
out of it: connected withdrawal_response
symbol bank/withdrawal_response/insufficient_funds
formatted: \"  login:send{\" \"    connected:send {\"
";

#[test]
#[ignore = "nightly: editors"]
fn the_library_of_vs_code_repairs_imports_and_follows_states() {
    let extension = crate::editors::vscode::extension();
    let folder = folder("vscode");
    let mut node = Command::new("node");
    node.arg(repository().join("tests/lsp/vscode.js"))
        .arg(extension)
        .env("DUOLOGUE", env!("CARGO_BIN_EXE_duologue"))
        .env("DUOLOGUE_FOLDER", &folder)
        .env("DUOLOGUE_TEXT", repository().join("protocols/bank.proto"));
    let printed = succeed(&mut node).unwrap_or_else(|words| panic!("{words}"));
    assert_eq!(printed, VS_CODE_STEPS);
}
