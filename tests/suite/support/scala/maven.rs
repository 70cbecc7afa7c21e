//! Maven, which is used only for class paths and for single files.

use super::{Scala, folder, tool};
use crate::support::{repository, succeed};
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::sync::Mutex;

/// The class path of a pom. Maven is called once; its answer is kept as long as the pom is the same and the files exist.
pub fn class_path(pom: &'static str, scala: Scala) -> String {
    static FOUND: Mutex<BTreeMap<(&str, Scala), String>> = Mutex::new(BTreeMap::new());
    let mut found = FOUND
        .lock()
        .unwrap_or_else(|_| panic!("a class path was not found: see the other failure"));
    found
        .entry((pom, scala))
        .or_insert_with(|| find(pom, scala))
        .clone()
}

fn find(name: &str, scala: Scala) -> String {
    let pom = repository().join(name);
    let wanted = std::fs::read_to_string(&pom).expect("the pom is part of the repository");
    let folder = folder("class-path")
        .join(scala.name())
        .join(name.replace('/', "-"));
    std::fs::create_dir_all(&folder).expect("the target folder can be written");
    let (answer, asked) = (folder.join("cp.txt"), folder.join("pom.xml"));
    let known = std::fs::read_to_string(&asked).is_ok_and(|text| text == wanted);
    let kept = std::fs::read_to_string(&answer).ok();
    if let Some(kept) =
        kept.filter(|kept| known && kept.split(':').all(|jar| Path::new(jar).is_file()))
    {
        return kept;
    }
    let mut maven = tool("mvn");
    maven.args(["-B", "-q", "-f"]).arg(&pom);
    if scala == Scala::Two {
        maven.args(["-P", "scala-2.13"]);
    }
    maven.arg("org.apache.maven.plugins:maven-dependency-plugin:3.8.1:build-classpath");
    maven.arg(format!("-Dmdep.outputFile={}", answer.display()));
    succeed(&mut maven).unwrap_or_else(|failure| panic!("{failure}"));
    let found = std::fs::read_to_string(&answer).expect("Maven has written it");
    std::fs::write(asked, wanted).expect("the target folder can be written");
    found
}

/// One file of a repository, fetched if necessary.
pub fn jar(group: &str, name: &str, version: &str) -> PathBuf {
    file(group, name, version, "jar")
}

/// One file of a repository that need not be a jar, fetched if necessary.
pub fn file(group: &str, name: &str, version: &str, ending: &str) -> PathBuf {
    let out = folder("jars");
    let mut maven = tool("mvn");
    maven.args(["-B", "-q"]);
    maven.arg("org.apache.maven.plugins:maven-dependency-plugin:3.8.1:copy");
    maven.arg(format!("-Dartifact={group}:{name}:{version}:{ending}"));
    maven.arg(format!("-DoutputDirectory={}", out.display()));
    succeed(&mut maven).unwrap_or_else(|failure| panic!("{failure}"));
    out.join(format!("{name}-{version}.{ending}"))
}
