//! `#[allow(...)]` and similar attributes with a name that is not the name of a rule.

use crate::check::findings::{Findings, Subject};
use crate::check::levels::{Location, attributes_in, attributes_outside};
use crate::diagnostic::Diagnostic;
use crate::protocol::LevelAttribute;

rule! {
    "unknown-rule", Warn,
    "an attribute sets the level of a rule that does not exist"
}

fn find(subject: &Subject<'_>, findings: &mut Findings) {
    let mut look = |attribute: &LevelAttribute, location: Location<'_>| {
        let name = &attribute.rule;
        match crate::check::rule(name.text()) {
            Some(rule) if rule.default.is_none() => findings.error(
                Diagnostic::syntax(
                    name.span,
                    format!("`{name}` is an error, and errors have no level"),
                )
                .label("not a rule")
                .note("no code can be generated from a protocol with an error")
                .help("remove it; `duologue explain` lists the rules that have a level"),
            ),
            Some(_) => {}
            None if name.text() == "all" => {}
            None => findings.report(&RULE, location, || {
                let message = format!("there is no rule `{name}`");
                let near = crate::check::nearest_rule(name.text()).and_then(crate::check::rule);
                let near = near.filter(|rule| rule.default.is_some());
                let near = near.map(|rule| rule.name);
                RULE.finding(name.span, message).did_you_mean(
                    name.span,
                    near,
                    "`duologue explain` lists all rules",
                )
            }),
        }
    };
    attributes_outside(subject.program, &mut look);
    for protocol in &subject.program.protocols {
        attributes_in(protocol, &mut look);
    }
}
