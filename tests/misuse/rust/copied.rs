// An endpoint cannot be duplicated.
//~ error[E0599]: no method named `clone` found for struct `bank::client::Login` in the current scope
use protocols::bank;

fn main() {
    let (server, client) = bank::init();
    let two = (client.clone(), client);
}
