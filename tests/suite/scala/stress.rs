//! The races of the runtime under jcstress, which runs each many times and lists the observed results.

use crate::support::scala::{Scala, folder, maven, sources_in, tool};
use crate::support::{repository, succeed};
use std::fs;

/// Waits sleep at once, so that the races involve sleeping.
#[test]
#[ignore = "nightly: jcstress"]
fn every_race_of_the_runtime_has_an_allowed_outcome() {
    let scala = Scala::Three;
    let out = folder("jcstress");
    let path = format!(
        "{}:{}",
        scala.runtime().display(),
        maven::class_path("runtime/scala/jcstress/pom.xml", scala)
    );
    let runtime = repository().join("runtime/scala");
    let folders = ["jcstress/src", "src/test/scala/duologue/protocols"];
    let sources = folders
        .map(|folder| sources_in(&runtime.join(folder)))
        .concat();
    scala
        .compile_with(&path, &sources, &out)
        .unwrap_or_else(|failure| panic!("{failure}"));
    let mut java = tool("java");
    java.current_dir(&out)
        .args(["-cp", &format!("{}:{path}", out.display())])
        .arg("org.openjdk.jcstress.Main")
        .args(["-m", "sanity", "-time", "300", "-iters", "5"])
        .args(["-c", "2", "-sc", "false"])
        .args(["-jvmArgs", "-Dduologue.spins=0"]);
    let printed = succeed(&mut java).unwrap_or_else(|failure| panic!("{failure}"));
    let tests: usize = sources
        .iter()
        .map(|source| fs::read_to_string(source).expect("it was compiled"))
        .map(|text| text.matches("@JCStressTest").count())
        .sum();
    for line in [
        "Failed tests: No matches.".to_owned(),
        "Error tests: No matches.".to_owned(),
        format!("All remaining tests: {tests} matching test results."),
    ] {
        assert!(printed.contains(&line), "no line `{line}` in:\n{printed}");
    }
}
