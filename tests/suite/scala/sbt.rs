//! The sbt plugin and its example: Maven fetches the launcher, which fetches sbt.

use crate::support::scala::{folder, maven, tool};
use crate::support::{copy, edit, repository, succeed};
use std::fs;
use std::path::Path;
use std::process::Command;

/// `sbt`, which runs tasks in a directory.
fn sbt_in(folder: &Path) -> Command {
    let mut java = tool("java");
    java.current_dir(folder).args([
        "-Xmx1g",
        "-Dsbt.log.noformat=true",
        "-Dsbt.server.autostart=false",
    ]);
    java
}

/// The launcher, and the tasks that it runs.
fn launch(java: &mut Command, tasks: &[&str]) -> Result<String, String> {
    java.arg("-jar")
        .arg(maven::jar("org.scala-sbt", "sbt-launch", "1.12.11"))
        .args(tasks);
    succeed(java)
}

/// Copies parts of `runtime/scala`, so that builds leave nothing there.
fn copy_parts(parts: &[&str], to: &Path) {
    for part in parts {
        let (from, to) = (repository().join("runtime/scala").join(part), to.join(part));
        fs::create_dir_all(to.parent().expect("it is in a folder"))
            .expect("the target folder can be written");
        copy(&from, &to);
    }
}

fn compiler() -> String {
    format!("-Dduologue.executable={}", env!("CARGO_BIN_EXE_duologue"))
}

fn sbt(example: &Path, root: &Path) -> Result<String, String> {
    let mut java = sbt_in(example);
    java.arg(format!("-Dduologue.root={}", root.display()))
        .arg(compiler());
    launch(&mut java, &["run"])
}

#[test]
#[ignore = "nightly: recipes"]
fn an_edit_of_a_protocol_triggers_a_build_and_errors_have_positions() {
    let folder = folder("sbt");
    let _ = fs::remove_dir_all(&folder);
    let (root, example) = (folder.join("root"), folder.join("example"));
    copy(&repository().join("tests/sbt"), &example);
    crate::recipes::write_scala(&example.join("src/main"));
    copy_parts(&["sbt", "src/main"], &root.join("runtime/scala"));
    let writes = |printed: &str| printed.contains("Generating endpoints for the protocols");
    let run = || sbt(&example, &root).unwrap_or_else(|failure| panic!("{failure}"));

    let first = run();
    assert!(
        writes(&first) && first.contains("21 degrees, as int\n"),
        "{first}"
    );
    let again = run();
    assert!(
        !writes(&again) && again.contains("21 degrees, as int\n"),
        "{again}"
    );

    let protocols = example.join("src/main/protocols");
    edit(&protocols.join("units.proto"), "i32", "i64");
    let edited = run();
    assert!(
        writes(&edited) && edited.contains("21 degrees, as long\n"),
        "{edited}"
    );

    edit(
        &protocols.join("thermostat.proto"),
        "-> reading",
        "-> redding",
    );
    let refused = sbt(&example, &root).expect_err("a protocol is wrong");
    assert!(
        refused.contains(
            "thermostat.proto:6:17: there is no state `redding` in `thermostat` [unknown-state]\n\
             [error]         read -> redding,\n\
             [error]                 ^\n\
             [error] help: did you mean `reading`?\n"
        ),
        "{refused}"
    );
    edit(
        &protocols.join("thermostat.proto"),
        "-> redding",
        "-> reading",
    );

    // An edit of generated code is undone; otherwise the build would continue without the protocol.
    let generated =
        example.join("target/scala-3.3.7/src_managed/main/duologue/protocols/thermostat.scala");
    edit(&generated, "object thermostat", "object thermometer");
    let repaired = run();
    assert!(
        writes(&repaired) && repaired.contains("21 degrees, as long\n"),
        "{repaired}"
    );

    let options = r#"duologueOptions := Seq("--scala-pakage", "x"), duologueSource := file("nowhere"), scalacOptions"#;
    edit(&example.join("build.sbt"), "scalacOptions", options);
    let refused = sbt(&example, &root).expect_err("nothing is generated");
    assert!(
        refused.contains("[warn] there is no protocol file in nowhere (set by duologueSource)"),
        "{refused}"
    );
    edit(
        &example.join("build.sbt"),
        r#" duologueSource := file("nowhere"),"#,
        "",
    );
    let refused = sbt(&example, &root).expect_err("there is no such option");
    assert!(
        refused.contains("(duologueGenerate) error: unexpected argument '--scala-pakage'")
            && !refused.contains("FutureTask"),
        "{refused}"
    );
}

/// The compiler runs in sbt itself: `PATH` has neither Rust nor a program `duologue`. Its artifact is the one that `tools/packaging/maven` built.
#[cfg(target_os = "linux")]
#[test]
#[ignore = "nightly: installs"]
fn a_project_compiles_without_a_native_compiler() {
    let folder = folder("sbt-installed");
    let _ = fs::remove_dir_all(&folder);
    let (root, example) = (folder.join("root"), folder.join("example"));
    copy(&repository().join("tests/sbt"), &example);
    crate::recipes::write_scala(&example.join("src/main"));
    copy_parts(&["sbt", "src/main"], &root.join("runtime/scala"));
    let packages = crate::installs::package("maven");
    let resolver = format!(
        "duologueRuntime := None,\n    resolvers += \"packages\" at \"file://{}\",",
        packages.display()
    );
    edit(
        &example.join("build.sbt"),
        "duologueRuntime := None,",
        &resolver,
    );
    let run = || {
        let mut java = sbt_in(&example);
        java.arg(format!("-Dduologue.root={}", root.display()));
        launch(java.env("PATH", folder.join("nothing")), &["run"])
    };
    let printed = run().unwrap_or_else(|failure| panic!("{failure}"));
    assert!(printed.contains("21 degrees, as int\n"), "{printed}");
    let protocol = example.join("src/main/protocols/thermostat.proto");
    edit(&protocol, "-> reading", "-> redding");
    let refused = run().expect_err("a protocol is wrong");
    assert!(
        refused.contains(
            "thermostat.proto:6:17: there is no state `redding` in `thermostat` [unknown-state]\n"
        ),
        "{refused}"
    );
}
