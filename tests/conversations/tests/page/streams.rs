use conversations::protocols;
use duologue::{Closed, Outgoing};
use futures_util::{SinkExt, Stream, StreamExt, TryStreamExt, stream};
use protocols::numbers;
use protocols::pingpong::{self, Ping, Pong};

/// The numbers of the pings that a client sends. Each is answered.
fn pings(server: pingpong::server::Ping) -> impl Stream<Item = Result<u32, Closed>> {
    stream::try_unfold((server, 0), |(server, number)| async move {
        let Ping::Ping(answer) = server.recv_async().await?;
        Ok(Some((number, (answer.pong()?, number + 1))))
    })
}

#[tokio::main(flavor = "current_thread")]
async fn main() -> Result<(), Closed> {
    let (server, client) = numbers::init();
    let sending = async move {
        let mut sink = Outgoing::new(client);
        sink.send_all(&mut stream::iter(1..=1_000).map(Ok)).await?;
        sink.close().await
    };
    let doubled = server.into_stream().map(|number| 2 * number);
    let (sent, numbers) = tokio::join!(sending, doubled.collect::<Vec<u64>>());
    sent?;
    assert_eq!(numbers.iter().sum::<u64>(), 1_001_000);

    let (server, client) = pingpong::init();
    let asking = async move {
        let Pong::Pong(client) = client.ping()?.recv_async().await?;
        let Pong::Pong(_client) = client.ping()?.recv_async().await?;
        Ok::<(), Closed>(())
    };
    let (asked, numbers) = tokio::join!(asking, pings(server).take(2).try_collect::<Vec<u32>>());
    asked?;
    assert_eq!(numbers?, [0, 1]);
    Ok(())
}
