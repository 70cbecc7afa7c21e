//! Two versions of arbitrary texts: comparing them terminates, gives the same result from both sides, and equal versions do not
//! break.
#![no_main]

use duologue_compiler::relation::{Outcome, Require, Rollout, Travel, Verdict, versions};
use duologue_fuzz::{Memory, NEW_VERSION, find};
use libfuzzer_sys::fuzz_target;

fuzz_target!(|input: &[u8]| {
    let at = find(input, NEW_VERSION);
    let (old, new) = match at {
        Some(at) => (&input[..at], &input[at + NEW_VERSION.len()..]),
        None => (input, input),
    };
    let (old, new) = (
        Memory::new(old).compile(true),
        Memory::new(new).compile(true),
    );
    let (Some(before), Some(after)) = (&old.checked, &new.checked) else {
        return;
    };
    let (before, after) = (before.program(), after.program());
    let mut sources = new.sources;
    let moved = sources.absorb(old.sources, |name| format!("old/{name}"));
    for travel in [Travel::Names, Travel::Positions] {
        let forth = versions(before, after, travel);
        let back = versions(after, before, travel);
        for version in &forth {
            let verdict = Verdict::on(version);
            let findings = version.findings(Require::AnyOrder, moved);
            for found in &findings {
                assert!(!duologue_compiler::report::short(found, &sources).is_empty());
            }
            let Outcome::Kept {
                rollout,
                old_client,
                new_client,
            } = verdict.outcome
            else {
                continue;
            };
            if at.is_none() {
                assert_eq!(rollout, Rollout::Same, "{}", verdict.name);
            }
            let returned = back.iter().find(|other| other.name == version.name);
            let returned = returned.expect("the protocol is in both versions");
            if let Outcome::Kept {
                old_client: new_back,
                new_client: old_back,
                ..
            } = Verdict::on(returned).outcome
            {
                assert_eq!(
                    (old_client, new_client),
                    (old_back, new_back),
                    "{}",
                    verdict.name
                );
            }
        }
    }
});
