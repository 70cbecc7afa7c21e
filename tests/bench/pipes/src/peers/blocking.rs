//! Channels between threads.

/// How many messages the channels of streams and fan-ins hold.
pub const SLOTS: usize = 1024;

/// A channel whose ends wait as they do in practice: those that can block do so, the others spin and say so in their name.
pub trait Channel<T>: 'static {
    /// Its name in tables.
    const NAME: &'static str;

    /// The end that sends.
    type Tx: Send + 'static;

    /// The end that receives.
    type Rx: Send + 'static;

    /// A channel for `capacity` messages; those without a bound ignore it.
    fn channel(capacity: usize) -> (Self::Tx, Self::Rx);

    /// Waits while the channel is full.
    fn send(tx: &mut Self::Tx, value: T);

    /// Waits while the channel is empty. `None` if all senders have ended, where the channel can tell.
    fn next(rx: &mut Self::Rx) -> Option<T>;

    /// The next message, where a sender has not ended.
    #[inline]
    fn recv(rx: &mut Self::Rx) -> T {
        Self::next(rx).expect(GONE)
    }
}

const GONE: &str = "both ends live as long as the slice";

macro_rules! channels {
    ($($(#[$doc:meta])* $peer:ident, $name:literal, $tx:ty, $rx:ty,
        $make:expr, $send:expr, $next:expr;)*) => {$(
        $(#[$doc])*
        pub struct $peer;

        impl<T: Send + 'static> Channel<T> for $peer {
            const NAME: &'static str = $name;
            type Tx = $tx;
            type Rx = $rx;

            #[inline]
            fn channel(capacity: usize) -> (Self::Tx, Self::Rx) {
                let make: fn(usize) -> (Self::Tx, Self::Rx) = $make;
                make(capacity)
            }

            #[inline]
            fn send(tx: &mut Self::Tx, value: T) {
                let send: fn(&mut Self::Tx, T) = $send;
                send(tx, value);
            }

            #[inline]
            fn next(rx: &mut Self::Rx) -> Option<T> {
                let next: fn(&mut Self::Rx) -> Option<T> = $next;
                next(rx)
            }
        }
    )*};
}

channels! {
    /// `std::sync::mpsc::sync_channel`.
    StdSync, "std sync_channel",
        std::sync::mpsc::SyncSender<T>, std::sync::mpsc::Receiver<T>,
        std::sync::mpsc::sync_channel,
        |tx, value| tx.send(value).expect(GONE),
        |rx| rx.recv().ok();
    /// `std::sync::mpsc::channel`.
    Std, "std channel (unbounded)",
        std::sync::mpsc::Sender<T>, std::sync::mpsc::Receiver<T>,
        |_| std::sync::mpsc::channel(),
        |tx, value| tx.send(value).expect(GONE),
        |rx| rx.recv().ok();
    /// `crossbeam_channel::bounded`.
    Crossbeam, "crossbeam",
        crossbeam_channel::Sender<T>, crossbeam_channel::Receiver<T>,
        crossbeam_channel::bounded,
        |tx, value| tx.send(value).expect(GONE),
        |rx| rx.recv().ok();
    /// `flume::bounded`.
    Flume, "flume",
        flume::Sender<T>, flume::Receiver<T>,
        flume::bounded,
        |tx, value| tx.send(value).expect(GONE),
        |rx| rx.recv().ok();
    /// `kanal::bounded`.
    Kanal, "kanal",
        kanal::Sender<T>, kanal::Receiver<T>,
        kanal::bounded,
        |tx, value| tx.send(value).expect(GONE),
        |rx| rx.recv().ok();
    /// `tokio::sync::mpsc::channel`, used by threads.
    Tokio, "tokio mpsc (blocking)",
        tokio::sync::mpsc::Sender<T>, tokio::sync::mpsc::Receiver<T>,
        tokio::sync::mpsc::channel,
        |tx, value| tx.blocking_send(value).expect(GONE),
        |rx| rx.blocking_recv();
    /// `rtrb::RingBuffer`, which has no way to wait.
    Rtrb, "rtrb (busy spin)",
        rtrb::Producer<T>, rtrb::Consumer<T>,
        rtrb::RingBuffer::new,
        |tx, value| {
            let mut value = value;
            while let Err(rtrb::PushError::Full(back)) = tx.push(value) {
                value = back;
                std::hint::spin_loop();
            }
        },
        |rx| loop {
            if let Ok(value) = rx.pop() {
                return Some(value);
            }
            std::hint::spin_loop();
        };
}
