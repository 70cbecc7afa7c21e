use conversations::protocols::bank::{Connected, Login, server};
use conversations::{Transcript, quoted};
use duologue::Closed;

pub fn run(mut endpoint: server::Login, transcript: &Transcript) -> Result<(), Closed> {
    let mut connected = loop {
        let Login::Login {
            username,
            password,
            next: answer,
        } = endpoint.recv()?;
        let (username, quoted_password) = (quoted(&username), quoted(&password));
        transcript.line(format_args!(
            "server <- login({username}, {quoted_password})"
        ));
        if password == "1234" {
            break answer.ok()?;
        }
        endpoint = answer.invalid()?;
    };
    let mut balance = 0.0;
    loop {
        connected = match connected.recv()? {
            Connected::Deposit(money, next) => {
                transcript.line(format_args!("server <- deposit({money:.2})"));
                balance += money;
                next
            }
            Connected::Withdrawal {
                amount,
                next: answer,
            } => {
                transcript.line(format_args!("server <- withdrawal({amount:.2})"));
                if amount <= balance {
                    balance -= amount;
                    answer.money(amount)?
                } else {
                    answer.insufficient_funds()?
                }
            }
            Connected::Quit => {
                transcript.line("server <- quit");
                return Ok(());
            }
        }
    }
}
