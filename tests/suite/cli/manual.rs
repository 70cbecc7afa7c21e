//! What the program prints about itself: help, completions, manual pages, explanations.

use crate::support::program::{Scratch, run};

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
