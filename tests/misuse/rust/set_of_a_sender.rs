// A set waits for messages, and this side sends first.
//~ error[E0277]: `bank::client::Login` does not receive
//~ not an endpoint that waits for a message
//~ that returns the endpoint that receives
use protocols::bank;

fn wait(port: impl duologue::Receive) {}

fn main() {
    let (server, client) = bank::init();
    wait(client);
}
