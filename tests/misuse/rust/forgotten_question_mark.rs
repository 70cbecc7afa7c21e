// What follows a message is inside a `Result`, which a `?` takes apart.
//~ error[E0599]: no method named `recv` found for enum `Result<T, E>` in the current scope
//~ use the `?` operator
use protocols::bank;

fn main() -> Result<(), duologue::Closed> {
    let (server, client) = bank::init();
    let answer = client.login("holk".to_owned(), "1234".to_owned()).recv()?;
    Ok(())
}
