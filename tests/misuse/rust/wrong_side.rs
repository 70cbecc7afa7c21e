// The server's endpoint is not the client's.
//~ error[E0308]: mismatched types
//~ expected `Login`, found `Receiver<Login>`
use protocols::bank;

fn ask(client: bank::client::Login) {}

fn main() {
    let (server, client) = bank::init();
    ask(server);
}
