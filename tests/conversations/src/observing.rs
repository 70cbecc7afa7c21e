//! What the tests of observers of sessions share.

use crate::LONG;
use crate::protocols::bank::{Connected, Login, LoginResponse, WithdrawalResponse};
use crate::protocols::bank::{client, server};
use duologue::Closed;
use duologue_net::observe::{End, Observer, Refusal, Run, Session};
use duologue_net::{Address, Connector, Listener, Open};
use std::sync::mpsc::{Receiver, Sender, channel};
use std::sync::{Arc, Mutex};
use std::thread;
use std::time::Duration;

/// Longer than an event takes that must not come.
const SHORT: Duration = Duration::from_millis(50);

/// What was reported to an observer. Sessions are given by their numbers.
#[derive(Debug)]
pub enum Event {
    /// A session has begun.
    Began(Session),
    /// A run is over.
    Turned(u64, Run),
    /// A session has ended.
    Ended(u64, End),
    /// A session did not begin: whether it was to be accepted, the protocol, the peer and the cause.
    Refused(bool, Option<String>, Option<Address>, String),
}

/// Passes on what is reported.
struct Telling(Mutex<Sender<Event>>);

impl Telling {
    fn tell(&self, event: Event) {
        let sender = self.0.lock().expect("nobody panics here");
        // A test may have seen enough.
        let _gone = sender.send(event);
    }
}

impl Observer for Telling {
    fn began(&self, session: &Session) {
        self.tell(Event::Began(session.clone()));
    }

    fn turned(&self, session: &Session, run: &Run) {
        self.tell(Event::Turned(session.id, run.clone()));
    }

    fn ended(&self, session: &Session, end: &End) {
        self.tell(Event::Ended(session.id, end.clone()));
    }

    fn refused(&self, refusal: &Refusal<'_>) {
        self.tell(Event::Refused(
            refusal.accepted,
            refusal.protocol.map(str::to_owned),
            refusal.peer.cloned(),
            format!("{:?}", refusal.cause),
        ));
    }
}

/// What is reported to an observer.
#[derive(Debug)]
pub struct Told(Receiver<Event>);

/// An observer, and what is reported to it.
pub fn observer() -> (Arc<dyn Observer>, Told) {
    let (sender, receiver) = channel();
    (Arc::new(Telling(Mutex::new(sender))), Told(receiver))
}

impl Told {
    /// The next event.
    pub fn next(&self) -> Event {
        self.0.recv_timeout(LONG).expect("something is reported")
    }

    /// The next session.
    pub fn began(&self) -> Session {
        let next = self.next();
        let Event::Began(session) = next else {
            panic!("no session begins: {next:?}")
        };
        session
    }

    /// The next run of this session.
    pub fn turned(&self, id: u64) -> Run {
        let next = self.next();
        let Event::Turned(of, run) = next else {
            panic!("session {id} does not turn: {next:?}")
        };
        assert_eq!(of, id);
        run
    }

    /// The end of this session, after which nothing is reported.
    pub fn ended(&self, id: u64) -> End {
        let next = self.next();
        let Event::Ended(of, end) = next else {
            panic!("session {id} does not end: {next:?}")
        };
        assert_eq!(of, id);
        self.nothing();
        end
    }

    /// The next refusal, as in [`Event::Refused`].
    pub fn refused(&self) -> (bool, Option<String>, Option<Address>, String) {
        let next = self.next();
        let Event::Refused(accepted, protocol, peer, cause) = next else {
            panic!("nothing is refused: {next:?}")
        };
        (accepted, protocol, peer, cause)
    }

    /// Checks that nothing is reported for a moment.
    pub fn nothing(&self) {
        let next = self.0.recv_timeout(SHORT);
        assert!(next.is_err(), "{next:?}");
    }
}

/// Both endpoints of a session that this listener accepts. The observer is the client's.
pub fn accepted<S: Open, C: Open>(
    listener: &mut Listener,
    address: &str,
    observing: &Arc<dyn Observer>,
) -> (S, C) {
    thread::scope(|scope| {
        let connector = Connector::new().observer(Arc::clone(observing));
        let client = scope.spawn(move || connector.connect(address).expect("it is accepted"));
        let server = listener.accept().expect("it connects");
        (server, client.join().expect("it does not panic"))
    })
}

/// A bank that has money.
pub fn serve(login: server::Login) -> Result<(), Closed> {
    let Login::Login { next: answer, .. } = login.recv()?;
    let mut account = answer.ok()?;
    loop {
        account = match account.recv()? {
            Connected::Deposit(_, next) => next,
            Connected::Withdrawal {
                amount,
                next: answer,
            } => answer.money(amount)?,
            Connected::Quit => return Ok(()),
        };
    }
}

/// A customer: a login, three deposits, a withdrawal, and the end.
pub fn shop(login: client::Login) -> Result<(), Closed> {
    let LoginResponse::Ok(mut account) = login.login("holk".into(), "1234".into())?.recv()? else {
        panic!("it is ok")
    };
    for _ in 0..3 {
        account = account.deposit(1.5)?;
    }
    let WithdrawalResponse::Money(_, account) = account.withdrawal(4.5)?.recv()? else {
        panic!("there is money")
    };
    Ok(account.quit()?)
}
