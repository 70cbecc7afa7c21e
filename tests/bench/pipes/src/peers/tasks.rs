//! Channels between tasks.

use std::future::Future;

/// A channel whose ends are awaited.
pub trait Channel<T>: 'static {
    /// Its name in tables.
    const NAME: &'static str;

    /// The end that sends.
    type Tx: Send + Sync + 'static;

    /// The end that receives.
    type Rx: Send + 'static;

    /// A channel for `capacity` messages.
    fn channel(capacity: usize) -> (Self::Tx, Self::Rx);

    /// Completes when the message is in the channel.
    fn send(tx: &Self::Tx, value: T) -> impl Future<Output = ()> + Send;

    /// Completes when there is a message, or `None` when all senders have ended.
    fn next(rx: &mut Self::Rx) -> impl Future<Output = Option<T>> + Send;

    /// The next message, where a sender has not ended.
    fn recv(rx: &mut Self::Rx) -> impl Future<Output = T> + Send {
        async { Self::next(rx).await.expect(GONE) }
    }
}

const GONE: &str = "both ends live as long as the slice";

macro_rules! channels {
    ($($(#[$doc:meta])* $peer:ident, $name:literal, $tx:ty, $rx:ty, $make:expr;)*) => {$(
        $(#[$doc])*
        pub struct $peer;

        impl<T: Send + 'static> Channel<T> for $peer {
            const NAME: &'static str = $name;
            type Tx = $tx;
            type Rx = $rx;

            fn channel(capacity: usize) -> (Self::Tx, Self::Rx) {
                $make(capacity)
            }

            async fn send(tx: &Self::Tx, value: T) {
                tx.send(value).await.expect(GONE);
            }

            async fn next(rx: &mut Self::Rx) -> Option<T> {
                // Some return an `Option`, others a `Result`.
                rx.recv().await.into_iter().next()
            }
        }
    )*};
}

channels! {
    /// `tokio::sync::mpsc`.
    Tokio, "tokio mpsc", tokio::sync::mpsc::Sender<T>, tokio::sync::mpsc::Receiver<T>, tokio::sync::mpsc::channel;
    /// `kanal::bounded_async`.
    Kanal, "kanal", kanal::AsyncSender<T>, kanal::AsyncReceiver<T>, kanal::bounded_async;
}

/// `flume::bounded`.
pub struct Flume;

impl<T: Send + 'static> Channel<T> for Flume {
    const NAME: &'static str = "flume";
    type Tx = flume::Sender<T>;
    type Rx = flume::Receiver<T>;

    fn channel(capacity: usize) -> (Self::Tx, Self::Rx) {
        flume::bounded(capacity)
    }

    async fn send(tx: &Self::Tx, value: T) {
        tx.send_async(value).await.expect(GONE);
    }

    async fn next(rx: &mut Self::Rx) -> Option<T> {
        rx.recv_async().await.ok()
    }
}
