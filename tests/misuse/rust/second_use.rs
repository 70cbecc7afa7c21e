// An endpoint is used once.
//~ error[E0382]: use of moved value: `client`
use protocols::bank;

fn main() -> Result<(), duologue::Closed> {
    let (server, client) = bank::init();
    let waiting = client.login("holk".to_owned(), "1234".to_owned())?;
    let again = client.login("holk".to_owned(), "1234".to_owned())?;
    Ok(())
}
