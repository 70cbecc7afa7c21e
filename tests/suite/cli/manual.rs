//! What the program prints about itself: help, completions, manual pages, explanations.

use crate::support::program::{Scratch, run};

/// `help` prints what `--help` prints, for the program and for each command.
#[test]
fn help_is_a_command_too() {
    let scratch = Scratch::new("help-command");
    for command in ["", "check", "breaking", "man"] {
        let asked = run(scratch.duologue(&format!("help {command}")), b"");
        let usual = run(scratch.duologue(&format!("{command} --help")), b"");
        assert!(asked.status.success(), "{asked:?}");
        assert_eq!(
            String::from_utf8_lossy(&asked.stdout),
            String::from_utf8_lossy(&usual.stdout)
        );
    }
}

/// Commands list the options that they use, and accept the others for the convenience of scripts.
#[test]
fn options_without_an_effect_are_not_listed() {
    let scratch = Scratch::new("unused-options");
    let help = |command: &str| {
        let output = run(scratch.duologue(&format!("{command} --help")), b"");
        String::from_utf8(output.stdout).expect("help is UTF-8")
    };
    for command in [
        "explain",
        "dual",
        "graph",
        "fingerprint",
        "completions",
        "man",
    ] {
        assert!(!help(command).contains("--verbose"), "{command}");
    }
    for command in ["check", "gen", "fmt", "breaking"] {
        assert!(help(command).contains("--verbose"), "{command}");
    }
    for command in ["explain", "graph", "completions", "man"] {
        assert!(!help(command).contains("--quiet"), "{command}");
    }
}

#[test]
fn completions() {
    let scratch = Scratch::new("completions");
    for shell in ["bash", "elvish", "fish", "powershell", "zsh"] {
        let output = run(scratch.duologue(&format!("completions {shell}")), b"");
        assert!(output.status.success(), "{output:?}");
        let script = String::from_utf8(output.stdout).expect("it is UTF-8");
        for word in ["duologue", "breaking", "fingerprint", "require"] {
            assert!(script.contains(word), "{shell} does not complete {word}");
        }
    }
    let bash = run(scratch.duologue("completions bash"), b"").stdout;
    scratch.write("duologue.bash", bash);
    let line = "source ./duologue.bash; COMP_WORDS=(duologue bre); COMP_CWORD=1; \
                _duologue duologue bre duologue; echo \"${COMPREPLY[@]}\"";
    let output = std::process::Command::new("bash")
        .args(["-c", line])
        .current_dir(scratch.path("."))
        .output()
        .expect("bash runs; install it with `apt-get install bash`");
    assert_eq!(
        String::from_utf8_lossy(&output.stdout),
        "breaking\n",
        "{output:?}"
    );
}

#[test]
fn manual_pages() {
    let scratch = Scratch::new("manual");
    let page = run(scratch.duologue("man"), b"");
    let page = String::from_utf8(page.stdout).expect("it is UTF-8");
    for section in [
        ".TH DUOLOGUE 1",
        ".SH NAME",
        ".SH EXAMPLES",
        ".SH \"EXIT STATUS\"",
    ] {
        assert!(page.contains(section), "{section}: {page}");
    }
    assert!(!page.contains('\u{1b}'), "{page}");
    scratch.said("man --dir man1", 0, &[]);
    let pages = scratch.files("man1");
    assert!(pages.contains(&"man1/duologue.1".to_owned()), "{pages:?}");
    let check = run(scratch.duologue("man check"), b"");
    assert_eq!(
        scratch.read("man1/duologue-check.1").into_bytes(),
        check.stdout
    );
    let listed = page.matches("duologue\\-").count();
    assert_eq!(pages.len() - 1, 21, "{listed}");
}

/// Every name in brackets can be explained.
#[test]
fn the_configuration_is_explained_too() {
    let scratch = Scratch::new("explain-configuration");
    scratch.said("explain configuration", 0, &["# configuration"]);
}
