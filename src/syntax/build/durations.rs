//! `#[within(...)]`.

use super::Builder;
use super::attributes::{Sorted, Target};
use crate::diagnostic::Diagnostic;
use crate::name::Name;
use crate::protocol::Limit;
use crate::source::Span;
use crate::syntax::ast::{Attribute, Quantity};

/// The units of durations, with the number of milliseconds of each.
const UNITS: [(&str, u64); 4] = [("ms", 1), ("s", 1000), ("min", 60_000), ("h", 3_600_000)];

/// The longest duration: 24 hours. Every runtime can represent it.
const LONGEST: u64 = 24 * 3_600_000;

/// What an attribute with a duration looks like.
const WRITE: &str = "write a whole number and a unit, such as `#[within(5s)]`";

const UNITS_NOTE: &str = "the units of durations are `ms`, `s`, `min` and `h`";

impl Builder<'_> {
    /// `#[within(5s)]`
    pub(super) fn within(&mut self, attribute: &Attribute, target: Target, sorted: &mut Sorted) {
        let Some(duration) = self.only_quantity(attribute, "duration", WRITE) else {
            return;
        };
        if target != Target::State {
            let error = Diagnostic::error("syntax", attribute.span, "`within` is for states");
            let error = error.note("it limits how long a session may stay in one state");
            return self.report(error.help("put it before the states that it applies to"));
        }
        let Some(most) = self.milliseconds(duration) else {
            return;
        };
        let span = duration.span;
        self.set_limit(&mut sorted.within, attribute, Limit { most, span });
    }

    /// A duration in milliseconds; what is wrong with it is reported.
    fn milliseconds(&mut self, duration: &Quantity) -> Option<u64> {
        let Some(unit) = &duration.unit else {
            if matches!(duration.number, None | Some(0)) {
                return self.lasts(duration, 1);
            }
            let error = Diagnostic::error("syntax", duration.span, "this duration has no unit");
            let end = Span {
                start: duration.span.end,
                ..duration.span
            };
            let error = error.note(UNITS_NOTE);
            let error = error.fix("if it is a number of seconds", end, "s", false);
            self.report(error.fix("if it is a number of milliseconds", end, "ms", false));
            return None;
        };
        if unit.text().starts_with('_') {
            let text = "a number is written without `_`";
            let error = Diagnostic::error("syntax", duration.span, text);
            let written = self.text[duration.span.range()].replace('_', "");
            let is_number = written.bytes().all(|byte| byte.is_ascii_digit());
            let repaired = match is_number {
                true => format!("{written}ms"),
                false => written,
            };
            let help = match is_number {
                true => "if it is a number of milliseconds",
                false => "write it like this",
            };
            self.report(error.fix(help, duration.span, repaired, false));
            return None;
        }
        let known = UNITS.iter().find(|(word, _)| *word == unit.text());
        let Some((_, milliseconds)) = known else {
            self.unknown_unit(duration, unit);
            return None;
        };
        self.lasts(duration, *milliseconds)
    }

    fn unknown_unit(&mut self, duration: &Quantity, unit: &Name) {
        let text = format!("there is no unit `{unit}`");
        let error = Diagnostic::error("syntax", unit.span, text);
        let near = match unit.text().to_ascii_lowercase().as_str() {
            "ms" | "msec" | "msecs" | "millis" | "millisecond" | "milliseconds" => Some("ms"),
            "s" | "sec" | "secs" | "second" | "seconds" => Some("s"),
            "m" | "min" | "mins" | "minute" | "minutes" => Some("min"),
            "h" | "hr" | "hrs" | "hour" | "hours" => Some("h"),
            _ => None,
        };
        let is_day = matches!(
            unit.text().to_ascii_lowercase().as_str(),
            "d" | "day" | "days"
        );
        let error = match near {
            Some(near) => {
                let help = format!("did you mean `{near}`?");
                error.fix(help, unit.span, near, false)
            }
            None if is_day && duration.number == Some(1) => {
                error.fix("write it like this", duration.span, "24h", false)
            }
            None => error,
        };
        self.report(error.note(UNITS_NOTE));
    }

    /// The number of milliseconds, if it is neither 0 nor too large; otherwise that is reported.
    fn lasts(&mut self, duration: &Quantity, milliseconds: u64) -> Option<u64> {
        match duration
            .number
            .and_then(|number| number.checked_mul(milliseconds))
        {
            Some(0) => {
                let text = "nothing can be sent within a duration of 0";
                let error = Diagnostic::error("syntax", duration.span, text);
                self.report(error.help("write a longer duration, or remove the attribute"));
                None
            }
            Some(found) if found <= LONGEST => Some(found),
            Some(_) | None => {
                let text = "this duration is longer than 24 hours";
                let error = Diagnostic::error("syntax", duration.span, text);
                let error = error.note("without the attribute, a side waits indefinitely");
                self.report(error.help("write at most `24h`, or remove the attribute"));
                None
            }
        }
    }
}
