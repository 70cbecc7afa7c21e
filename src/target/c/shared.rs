//! Shared endpoints: the functions of a header for states to which every message leads back.

use super::functions::FunctionView;
use super::names::OfState;
use super::spelling;
use super::view::UnitView;
use crate::protocol::Side;

impl UnitView<'_> {
    /// Adds the functions of a sending endpoint that can be shared.
    pub fn shared_functions(&self, index: usize, side: Side, functions: &mut Vec<FunctionView>) {
        let endpoint = self.endpoint_type(index, side);
        let shared = self.unit.of_state(index, OfState::Shared(side));
        let name = |function| self.unit.of_state(index, OfState::Function(side, function));
        let this = [format!("{shared} self")];
        functions.push(FunctionView {
            comment: "/** Makes a shared endpoint with one holder. */\n".to_owned(),
            head: spelling::head(
                &format!("DUO_MUST_CHECK static inline duo_status {}", name("share")),
                &[format!("{endpoint} self"), format!("{shared} *shared")],
            ),
            body: vec![
                spelling::head(
                    "    return duo_share",
                    &[
                        "self.sends".to_owned(),
                        self.table(index),
                        "&shared->shared".to_owned(),
                    ],
                ) + ";",
            ],
        });
        functions.push(FunctionView {
            comment: "/** Adds a holder. */\n".to_owned(),
            head: spelling::head(
                &format!("static inline {shared} {}", name("shared_retain")),
                &this,
            ),
            body: vec![
                "    self.shared = duo_shared_retain(self.shared);".to_owned(),
                "    return self;".to_owned(),
            ],
        });
        functions.push(FunctionView {
            comment: "/** Removes a holder; the last one closes the session. */\n".to_owned(),
            head: spelling::head(
                &format!("static inline void {}", name("shared_release")),
                &this,
            ),
            body: vec!["    duo_shared_release(self.shared);".to_owned()],
        });
        for position in 0..self.state(index).messages.len() {
            for (verb, wait) in [
                ("shared_send", "DUO_FOREVER"),
                ("shared_try_send", "DUO_AT_ONCE"),
            ] {
                functions.push(self.shared_send(index, position, side, verb, wait));
            }
        }
    }

    fn shared_send(
        &self,
        index: usize,
        position: usize,
        side: Side,
        verb: &'static str,
        wait: &str,
    ) -> FunctionView {
        let message = &self.state(index).messages[position];
        let payload = self.payload(index, message);
        let shared = self.unit.of_state(index, OfState::Shared(side));
        let mut parameters = vec![format!("{shared} self")];
        parameters.extend(payload.parameters);
        let arguments = [
            "self.shared".to_owned(),
            self.message_table(index, position),
            payload.entries,
            wait.to_owned(),
        ];
        let mut body = payload.body;
        body.push(spelling::head("    return duo_shared_send", &arguments) + ";");
        let sends = OfState::Send(side, verb, message);
        let name = self.unit.of_state(index, sends);
        let start = format!("DUO_MUST_CHECK static inline duo_status {name}");
        FunctionView {
            comment: spelling::comment(&message.docs, ""),
            head: spelling::head(&start, &parameters),
            body,
        }
    }
}
