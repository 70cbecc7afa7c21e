use conversations::protocols;
use duologue::Closed;
use duologue_net::{Error, Listener};
use protocols::bank::{Connected, Login, LoginResponse, client, server};
use tokio::runtime::Handle;
use tokio::task::spawn_blocking;

async fn teller(mut login: server::Login) -> Result<(), Closed> {
    let mut account = loop {
        let Login::Login {
            password,
            next: answer,
            ..
        } = login.recv_async().await?;
        if password == "1234" {
            break answer.ok()?;
        }
        login = answer.invalid()?;
    };
    loop {
        account = match account.recv_async().await? {
            Connected::Deposit(_, next) => next,
            Connected::Withdrawal {
                amount,
                next: answer,
            } => answer.money(amount)?,
            Connected::Quit => return Ok(()),
        };
    }
}

/// Starts a task for each session. Waits for connections, so it needs a thread.
fn accept(mut listener: Listener, runtime: &Handle) -> Result<(), Error> {
    loop {
        match listener.accept::<server::Login>() {
            Ok(login) => runtime.spawn(async {
                if let Err(closed) = teller(login).await {
                    eprintln!("a customer is gone: {closed}");
                }
            }),
            Err(Error::Drained) => return Ok(()),
            Err(error) => return Err(error),
        };
    }
}

async fn shop(login: client::Login) -> Result<(), Closed> {
    let waiting = login.login("holk".to_owned(), "1234".to_owned())?;
    match waiting.recv_async().await? {
        LoginResponse::Ok(connected) => Ok(connected.deposit_async(100.0).await?.quit()?),
        LoginResponse::Invalid(_) => Ok(()),
    }
}

#[tokio::main]
async fn main() -> Result<(), Box<dyn std::error::Error>> {
    let listener = Listener::bind("tcp://127.0.0.1:0")?;
    let address = listener.address().to_string();
    let drain = listener.drain();
    let runtime = Handle::current();
    let accepting = spawn_blocking(move || accept(listener, &runtime));

    let login: client::Login = spawn_blocking(move || duologue_net::connect(&address)).await??;
    shop(login).await?;

    drain.begin();
    Ok(accepting.await??)
}
