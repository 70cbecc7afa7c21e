//! Servers announce themselves.

use std::hash::{BuildHasher, RandomState};
use std::net::IpAddr;
use std::pin::pin;
use std::sync::Arc;
use std::time::Duration;

use async_nats::{Client, Subscriber};
use duologue::transport::{Open, Start};
use duologue_net::{Address, Drain, Fingerprint, Listener, Load};
use futures_util::stream::{select_all, SelectAll, StreamExt};
use tokio::sync::oneshot;
use tokio::task::JoinSet;
use tokio::time::sleep;

use crate::{runtime, subjects, wait, Directory, Error, Inner};

/// A server with this many sessions or more answers as late as one with this many.
const MOST_COUNTED: usize = 50;

/// Up to this many microseconds of each delay are random, so that servers with equally many sessions share the clients.
const RANDOM: u64 = 4_000;

/// How many requests may wait for their answers. Further ones are not answered, and their clients ask again.
const MOST_WAITING: usize = 1_024;

/// A listener that is announced, until this is dropped.
#[derive(Debug)]
pub struct Announcement(#[allow(dead_code, reason = "dropping it withdraws")] oneshot::Sender<()>);

impl Directory {
    /// Announces a listener that serves or accepts the side whose first endpoint is `E`, under this name: letters, digits, `-`, `_`,
    /// and dots between them. A listener that serves several protocols needs an announcement for each. While it is full or drains, clients
    /// get other servers. If the connection to NATS is interrupted, the announcement comes back with it.
    ///
    /// `older` are protocols that the listener accepts in addition to those that the protocol file names with `#[accepts(...)]`. `advertise`
    /// is the address at which clients reach the listener, if it is not that of the listener. One at `0.0.0.0` or `[::]` needs it.
    ///
    /// # Errors
    /// If the name or the address cannot be announced, or NATS does not permit it.
    pub fn announce<E: Open>(
        &self,
        name: &str,
        listener: &Listener,
        older: &[Fingerprint],
        advertise: Option<&str>,
    ) -> Result<Announcement, Error> {
        let own = [Fingerprint(E::State::FINGERPRINT)];
        let subjects = subjects(name, &[&own, older, E::ACCEPTS].concat())?;
        let address = address(listener, advertise)?;
        let (drain, inner) = (listener.drain(), Arc::clone(&self.0));
        let requests = wait(async move { inner.subscribe(&subjects).await });
        let requests = requests.map_err(|error| self.0.unreachable(error))??;
        let (withdraws, withdrawn) = oneshot::channel();
        let answering = answer(self.0.client.clone(), requests, withdrawn, address, drain);
        drop(runtime().map(|runtime| runtime.spawn(answering)));
        Ok(Announcement(withdraws))
    }
}

/// What clients get.
fn address(listener: &Listener, advertise: Option<&str>) -> Result<String, Error> {
    let own = listener.address();
    let address = advertise.map_or_else(|| Ok(own.clone()), str::parse)?;
    let problem = match (&address, own) {
        (Address::Tcp(host), Address::Tcp(_)) | (Address::Tls(host), Address::Tls(_)) => {
            let host = host.rsplit_once(':').map_or("", |(host, _)| host);
            let ip = host.trim_matches(['[', ']']).parse::<IpAddr>();
            if !ip.is_ok_and(|ip| ip.is_unspecified()) {
                return Ok(address.to_string());
            }
            "clients on other machines cannot connect to it: pass the address that they reach as `advertise`"
        }
        _ => "only a listener over TCP or TLS can be announced, at an address of its kind",
    };
    let address = address.to_string();
    Err(Error::Advertise { address, problem })
}

impl Inner {
    /// Subscribes to requests on these subjects, and waits until the NATS server has handled that. The client library has no call for it, so
    /// this sends a request to nobody: that nobody answers, or that it or its reply subject is not permitted, is reported after all that came
    /// before.
    async fn subscribe(&self, subjects: &[String]) -> Result<SelectAll<Subscriber>, Error> {
        let mut denials = self.denials.subscribe();
        let mut all = Vec::new();
        for subject in subjects {
            let subscribed = self.client.subscribe(subject.clone()).await;
            all.push(subscribed.map_err(|error| self.unreachable(error))?);
        }
        let probe = self.client.new_inbox();
        let inboxes = probe.rsplit_once('.').unwrap_or_default().0.to_owned() + ".";
        let mut unanswered = pin!(self.client.request(probe.clone(), "".into()));
        loop {
            tokio::select! {
                biased;
                Ok(report) = denials.recv() => {
                    self.check(&report, subjects)?;
                    if report.contains(&inboxes) {
                        return Ok(select_all(all));
                    }
                }
                _nobody = &mut unanswered => return Ok(select_all(all)),
            }
        }
    }
}

/// Whether the listener may take a client.
fn takes(load: Load) -> bool {
    !load.is_full && !load.is_draining
}

/// The more sessions a server has, the later it answers.
fn delay(sessions: usize) -> Duration {
    let random = RandomState::new().hash_one(sessions) % RANDOM;
    Duration::from_micros(1_000 * sessions.min(MOST_COUNTED) as u64 + random)
}

/// Answers requests until the announcement is withdrawn.
async fn answer(
    client: Client,
    mut requests: SelectAll<Subscriber>,
    mut withdrawn: oneshot::Receiver<()>,
    address: String,
    drain: Drain,
) {
    let mut answers = JoinSet::new();
    loop {
        let request = tokio::select! {
            _ = &mut withdrawn => return,
            Some(_) = answers.join_next() => continue,
            Some(request) = requests.next() => request,
        };
        // What begins with a `$` is for NATS itself.
        let reply = request.reply.filter(|reply| !reply.starts_with('$'));
        let Some(reply) = reply.filter(|_| answers.len() < MOST_WAITING) else {
            continue;
        };
        let (client, address, drain) = (client.clone(), address.clone(), drain.clone());
        answers.spawn(async move {
            let load = drain.load();
            if takes(load) {
                sleep(delay(load.sessions)).await;
            }
            if takes(load) && takes(drain.load()) {
                // Fails only after the connection was closed for good.
                let _closed = client.publish(reply, address.into()).await;
            }
        });
    }
}
