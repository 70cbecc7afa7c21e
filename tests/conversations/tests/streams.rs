//! Endpoints as streams and sinks of the crate `futures`.

use conversations::protocols::numbers::{self, Stream};
use conversations::protocols::{relay_text, tally, word_count};
use duologue::{Closed, Outgoing, Why};
use futures_util::stream::FusedStream;
use futures_util::{FutureExt, SinkExt, StreamExt, stream};

const MANY: u64 = 20_000;

/// Both sides are on one thread, so neither may block it. The numbers are more than the ring has slots for.
async fn through(
    (server, client): (numbers::server::Stream, numbers::client::Stream),
) -> Result<(), Closed> {
    let sending = async {
        let mut sink = Outgoing::new(client);
        sink.send_all(&mut stream::iter(0..MANY).map(Ok)).await?;
        sink.close().await
    };
    let mut incoming = server.into_stream();
    let receiving = async {
        let mut count = 0;
        while let Some(number) = incoming.next().await {
            assert_eq!(number, count);
            count += 1;
        }
        count
    };
    let (sent, count) = tokio::join!(sending, receiving);
    sent?;
    assert_eq!(count, MANY);
    let closed = incoming.closed().expect("the state has no last message");
    assert_eq!(
        (closed.state(), closed.why(), incoming.is_terminated()),
        ("Stream", Why::Left, true)
    );
    assert!(incoming.next().await.is_none());
    assert!(incoming.into_inner().is_none());
    Ok(())
}

#[tokio::test]
async fn a_sink_and_a_stream() -> Result<(), Closed> {
    through(numbers::init()).await
}

#[cfg(feature = "sockets")]
#[tokio::test]
async fn a_sink_and_a_stream_over_sockets() -> Result<(), Closed> {
    through(conversations::sockets::pair("streams")).await
}

/// The last message is not the end of a session that was closed.
#[tokio::test]
async fn the_last_message_ends_a_stream() -> Result<(), Closed> {
    let (server, client) = relay_text::init();
    let mut sink = Outgoing::new(client);
    sink.send("one".to_owned()).await?;
    sink.close().await?;
    assert!(sink.into_inner().is_none());
    let mut incoming = server.into_stream();
    assert_eq!(incoming.next().await.as_deref(), Some("one"));
    assert!(!incoming.is_terminated());
    assert_eq!(incoming.next().await, None);
    assert!(incoming.is_terminated() && incoming.closed().is_none());
    Ok(())
}

/// A payload of two values is a pair.
#[tokio::test]
async fn a_series_that_follows_other_states() -> Result<(), Closed> {
    let (server, client) = word_count::init();
    let totals = client.done()?;
    let tally::Counting::Done(answer) = server.recv()? else {
        panic!("nothing was counted")
    };
    answer.total("word".to_owned(), 3)?.end()?;
    let totals: Vec<(String, u64)> = totals.into_stream().collect().await;
    assert_eq!(totals, [("word".to_owned(), 3)]);
    Ok(())
}

/// Whether or not a message says that it is the end.
#[tokio::test]
async fn a_sink_that_was_closed_can_be_closed_again_and_accepts_nothing() -> Result<(), Closed> {
    let (server, client) = relay_text::init();
    let mut sink = Outgoing::new(client);
    let texts = stream::iter(["one".to_owned()]).map(Ok);
    texts.forward(&mut sink).await?;
    sink.flush().await?;
    sink.close().await?;
    let closed = sink.send("two".to_owned()).await;
    assert_eq!(closed.map_err(|closed| closed.why()), Err(Why::Left));
    sink.close().await?;
    assert_eq!(server.into_stream().collect::<Vec<_>>().await, ["one"]);

    let (server, client) = numbers::init();
    let mut sink = Outgoing::new(client);
    sink.close().await?;
    assert_eq!(
        sink.send(1).await.map_err(|closed| closed.state()),
        Err("Stream")
    );
    sink.flush().await?;
    sink.close().await?;
    assert_eq!(server.into_stream().count().await, 0);
    Ok(())
}

#[tokio::test]
async fn a_sink_reports_each_time_that_its_peer_is_gone() {
    let (server, client) = numbers::init();
    let mut sink = Outgoing::new(client);
    drop(server);
    let closed = sink.send(1).await.expect_err("nobody is there");
    assert_eq!(closed.why(), Why::Left);
    assert_eq!(sink.send(2).await, Err(closed));
    assert_eq!(sink.close().await, Err(closed));
}

#[tokio::test]
async fn what_is_given_up_loses_nothing() -> Result<(), Closed> {
    let (server, client) = numbers::init();
    let mut incoming = server.into_stream();
    assert!(incoming.next().now_or_never().is_none());
    let client = client.send(1)?.send(2)?;
    assert_eq!(incoming.next().now_or_never(), Some(Some(1)));
    let server = incoming.into_inner().expect("the stream has not ended");
    let Stream::Send(number, _server) = server.recv()?;
    assert_eq!(number, 2);

    let mut sink = Outgoing::new(client);
    let mut sent = 2;
    while sink.send(sent).now_or_never().is_some() {
        sent += 1;
        assert!(sent < MANY, "the ring is full some time");
    }
    let client = sink.into_inner().expect("the session is open");
    assert!(client.try_send(0).is_err());
    Ok(())
}
