//! A chat room on one thread: each user may speak at any time, and hears what all say.

use crate::protocols::{chat, lines};
use duologue::{Closed, Held, PortSet};
use std::collections::HashMap;

duologue::ports! {
    /// A user, before and after joining, and what it says.
    enum User / Said {
        Joining(chat::server::Joining),
        Open(chat::server::Open),
    }
}

fn room(mut users: PortSet<User, String>) {
    let mut hearing: HashMap<String, Held<lines::client::Open>> = HashMap::new();
    while let Some((name, said)) = users.recv() {
        match said {
            Ok(Said::Joining(chat::Joining::Join { name, hears, next })) => {
                hearing.insert(name.clone(), hears.into());
                users.insert(next.into(), name);
            }
            Ok(Said::Open(chat::Open::Say(text, next))) => {
                let line = format!("{name}: {text}");
                hearing
                    .retain(|_, user| user.send(line.clone(), lines::client::Open::line).is_ok());
                users.insert(next.into(), name);
            }
            Ok(Said::Open(chat::Open::Leave)) | Err(_) => drop(hearing.remove(&name)),
        }
    }
}

/// A user: what it says, and what it hears.
struct Joined {
    says: chat::client::Open,
    hears: lines::server::Open,
}

fn join(room: chat::client::Joining, name: &str) -> Result<Joined, Closed> {
    let (hears, speaks) = lines::init();
    let says = room.join(name.to_owned(), speaks)?;
    Ok(Joined { says, hears })
}

pub fn main() -> Result<(), Closed> {
    let mut users = PortSet::new();
    let mut enter = |name: &str| {
        let (server, client) = chat::init();
        users.insert(server.into(), String::new());
        join(client, name)
    };
    let (ann, ben) = (enter("ann")?, enter("ben")?);
    let thread = std::thread::spawn(move || room(users));

    // Both speak, and neither waits for the other.
    let (ann_says, ben_says) = (ann.says.say("hello".into())?, ben.says.say("hi".into())?);
    let mut heard = Vec::new();
    let mut hears = ann.hears;
    while heard.len() < 2 {
        let lines::Open::Line(line, next) = hears.recv()?;
        heard.push(line);
        hears = next;
    }
    heard.sort();
    assert_eq!(heard, ["ann: hello", "ben: hi"]);

    ann_says.leave()?;
    drop((ben_says, ben.hears));
    assert!(hears.recv().is_err());
    thread.join().expect("the room does not panic");
    Ok(())
}
