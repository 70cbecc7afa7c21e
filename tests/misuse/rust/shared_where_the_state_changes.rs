// Only a state that every message leads back to can have many senders.
//~ error[E0425]: cannot find type `SharedLogin` in module `bank::client`
use protocols::bank;

fn share(login: bank::client::Login) {
    let shared: bank::client::SharedLogin = login.into();
}

fn main() {}
