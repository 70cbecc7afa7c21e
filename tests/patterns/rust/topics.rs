//! A hub that passes on what is published under a topic.

use crate::protocols::{lines, topics};
use duologue::{Closed, Held};
use std::collections::HashMap;

fn hub(mut inbox: topics::server::Open) {
    let mut topics: HashMap<String, Vec<Held<lines::client::Open>>> = HashMap::new();
    while let Ok(message) = inbox.recv() {
        inbox = match message {
            topics::Open::Subscribe { topic, to, next } => {
                topics.entry(topic).or_default().push(to.into());
                next
            }
            topics::Open::Publish { topic, text, next } => {
                let subscribers = topics.entry(topic).or_default();
                subscribers
                    .retain_mut(|to| to.send(text.clone(), lines::client::Open::line).is_ok());
                next
            }
        };
    }
}

pub fn main() -> Result<(), Closed> {
    let (server, client) = topics::init();
    let thread = std::thread::spawn(move || hub(server));
    let publisher = topics::client::SharedOpen::from(client);
    let subscriber = publisher.clone();

    let (news, to) = lines::init();
    subscriber.subscribe("news".into(), to)?;
    subscriber.publish("weather".into(), "rain".into())?;
    publisher.publish("news".into(), "a bridge opens".into())?;
    let lines::Open::Line(line, news) = news.recv()?;
    assert_eq!(line, "a bridge opens");

    // Closing the session ends the subscription.
    drop(news);
    publisher.publish("news".into(), "nobody hears this".into())?;
    drop((publisher, subscriber));
    thread.join().expect("the hub does not panic");
    Ok(())
}
