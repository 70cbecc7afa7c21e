//! Clients find servers.

use std::io;
use std::time::{Duration, Instant};

use async_nats::connection::State;
use async_nats::StatusCode;
use duologue_net::Error::{NoCertificates, Refused};
use duologue_net::{Connector, Open, Verdict};
use futures_util::StreamExt;
use tokio::time::sleep_until;

use crate::{subjects, wait, Directory, Error, Inner};

/// How long servers have to answer before a client asks those of the next protocol, or again.
const PATIENCE: Duration = Duration::from_millis(250);

/// No address is longer.
const LONGEST_ADDRESS: usize = 300;

impl Directory {
    /// Begins a session with one of the servers of this name, as the side whose first endpoint is `E`. The certificate of a server is checked
    /// for the name.
    ///
    /// # Errors
    /// If no server understands this side or has space, or NATS cannot be reached.
    pub fn connect<E: Open>(&self, name: &str, connector: &Connector) -> Result<E, Error> {
        let deadline = Instant::now() + connector.connect_timeout();
        let connector = connector.clone().service(name);
        let subjects = subjects(name, &connector.fingerprints::<E>())?;
        let (mut failed, mut failure) = (Vec::new(), None);
        loop {
            let (inner, asked, excluded) = (self.0.clone(), subjects.clone(), failed.clone());
            let found = wait(async move { inner.find(asked, &excluded, deadline).await });
            let address = match found.map_err(|error| self.0.unreachable(error))? {
                Err(Error::AllBusy) => return Err(failure.map_or(Error::AllBusy, Error::Session)),
                found => found?,
            };
            // One that does not answer leaves time for others.
            let left = deadline.saturating_duration_since(Instant::now()) / 2;
            let error = match connector.clone().timeout(left).connect(&address) {
                Ok(first) => return Ok(first),
                Err(error) => error,
            };
            // One that is full or drains will not answer while that lasts.
            let busy = [Verdict::Full, Verdict::Draining];
            let is_busy = matches!(&error, Refused { verdict, .. } if busy.contains(verdict));
            if !is_busy && matches!(error, Refused { .. } | NoCertificates { .. }) {
                return Err(error.into());
            }
            if !is_busy {
                failed.push(address);
            }
            failure = Some(error);
        }
    }
}

impl Inner {
    /// Asks the servers of each subject in turn, until one answers with an address that is not excluded.
    async fn find(
        &self,
        subjects: Vec<String>,
        excluded: &[String],
        deadline: Instant,
    ) -> Result<String, Error> {
        let mut denials = self.denials.subscribe();
        let inbox = self.client.new_inbox();
        let subscribed = self.client.subscribe(inbox.clone()).await;
        let mut answers = subscribed.map_err(|error| self.unreachable(error))?;
        let used = [&subjects[..], std::slice::from_ref(&inbox)].concat();
        loop {
            let mut is_nothing = true;
            for subject in &subjects {
                let (subject, inbox) = (subject.clone(), inbox.clone());
                let asked = self.client.publish_with_reply(subject, inbox, "".into());
                asked.await.map_err(|error| self.unreachable(error))?;
                let until = (Instant::now() + PATIENCE).min(deadline);
                loop {
                    let answer = tokio::select! {
                        biased;
                        Ok(report) = denials.recv() => {
                            self.check(&report, &used)?;
                            continue;
                        }
                        Some(answer) = answers.next() => answer,
                        () = sleep_until(until.into()) => {
                            is_nothing = false;
                            break;
                        }
                    };
                    if answer.status == Some(StatusCode::NO_RESPONDERS) {
                        break;
                    }
                    let text = String::from_utf8_lossy(&answer.payload).into_owned();
                    let is_address = text.starts_with("tcp://") || text.starts_with("tls://");
                    if is_address && text.len() <= LONGEST_ADDRESS && !excluded.contains(&text) {
                        return Ok(text);
                    }
                }
            }
            if is_nothing {
                return Err(Error::NoServers { subjects });
            }
            if Instant::now() >= deadline {
                if self.client.connection_state() == State::Connected {
                    return Err(Error::AllBusy);
                }
                return Err(self.unreachable(io::Error::from(io::ErrorKind::NotConnected)));
            }
        }
    }
}
