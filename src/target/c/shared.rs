//! What many senders can do with one endpoint: the functions of a header for states that every message leads back to.

use super::functions::FunctionView;
use super::spelling;
use super::view::UnitView;
use crate::protocol::Side;

/// What the functions are called behind the name of the endpoint, but for those that send.
pub const FUNCTIONS: [&str; 3] = ["share", "shared_hold", "shared_release"];

impl UnitView<'_> {
    /// Adds the functions of a sending endpoint that can be shared.
    pub fn shared_functions(&self, index: usize, side: Side, functions: &mut Vec<FunctionView>) {
        let endpoint = self.endpoint_name(index, side);
        let shared = format!("{endpoint}_shared_t");
        let this = [format!("{shared} self")];
        functions.push(FunctionView {
            comment: "/** Shares the endpoint, with one holder. */\n".to_owned(),
            head: spelling::head(
                &format!("DUO_MUST_CHECK static inline duo_status {endpoint}_share"),
                &[format!("{endpoint}_t self"), format!("{shared} *shared")],
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
            comment: "/** One holder more. */\n".to_owned(),
            head: spelling::head(
                &format!("static inline {shared} {endpoint}_shared_hold"),
                &this,
            ),
            body: vec![
                "    self.shared = duo_shared_hold(self.shared);".to_owned(),
                "    return self;".to_owned(),
            ],
        });
        functions.push(FunctionView {
            comment: "/** One holder less; the last one leaves the session. */\n".to_owned(),
            head: spelling::head(
                &format!("static inline void {endpoint}_shared_release"),
                &this,
            ),
            body: vec!["    duo_shared_release(self.shared);".to_owned()],
        });
        for position in 0..self.state(index).messages.len() {
            for (verb, wait) in [("send", "DUO_FOREVER"), ("try_send", "DUO_AT_ONCE")] {
                functions.push(self.shared_send(index, position, side, verb, wait));
            }
        }
    }

    fn shared_send(
        &self,
        index: usize,
        position: usize,
        side: Side,
        verb: &str,
        wait: &str,
    ) -> FunctionView {
        let message = &self.state(index).messages[position];
        let endpoint = self.endpoint_name(index, side);
        let payload = self.payload(index, message);
        let mut parameters = vec![format!("{endpoint}_shared_t self")];
        parameters.extend(payload.parameters);
        let arguments = [
            "self.shared".to_owned(),
            self.message_table(index, position),
            payload.entries,
            wait.to_owned(),
        ];
        let mut body = payload.body;
        body.push(spelling::head("    return duo_shared_send", &arguments) + ";");
        let name = spelling::word(message.name.text());
        let start =
            format!("DUO_MUST_CHECK static inline duo_status {endpoint}_shared_{verb}_{name}");
        FunctionView {
            comment: spelling::comment(&message.docs, ""),
            head: spelling::head(&start, &parameters),
            body,
        }
    }
}
