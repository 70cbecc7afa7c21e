//! Runs SPIN.

use super::program::Scratch;
use std::process::Command;

/// Generates the verifier of a model, compiles and runs it; returns what it prints.
pub fn spin(scratch: &Scratch, name: &str, model: &str) -> String {
    let folder = format!("{name}/model.pml");
    scratch.write(&folder, model);
    let run = |program: &str, arguments: &[&str]| {
        let mut command = Command::new(program);
        command.current_dir(scratch.path(name)).args(arguments);
        let output = command.output();
        let hint = "install it with `apt-get install spin gcc`";
        let output = output.unwrap_or_else(|error| panic!("cannot run {program}: {error}; {hint}"));
        let said = String::from_utf8_lossy(&output.stdout).into_owned();
        said + &String::from_utf8_lossy(&output.stderr)
    };
    let made = run("spin", &["-a", "model.pml"]);
    assert!(!made.contains("rror"), "{name}: {made}\n{model}");
    let compiled = run("gcc", &["-O1", "-w", "-DSAFETY", "-o", "pan", "pan.c"]);
    assert!(compiled.is_empty(), "{name}: {compiled}");
    let pan = scratch.path(name).join("pan");
    run(pan.to_str().expect("a UTF-8 path"), &["-m100000", "-q"])
}
