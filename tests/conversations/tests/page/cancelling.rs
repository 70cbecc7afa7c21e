use conversations::protocols;
use duologue::Closed;
use protocols::numbers::{self, Stream};
use std::time::Duration;
use tokio::time::timeout;

const LIMIT: Duration = Duration::from_millis(5);

/// Sends numbers until the peer has not made room for one within the limit. Returns the endpoint and that number.
async fn send_until_late(
    mut client: numbers::client::Stream,
) -> Result<(numbers::client::Stream, u64), Closed> {
    let mut number = 0;
    loop {
        let mut sending = client.send_async(number);
        match timeout(LIMIT, &mut sending).await {
            Ok(sent) => client = sent?,
            Err(_late) => return Ok(sending.into_inner().expect("it was not sent")),
        }
        number += 1;
    }
}

#[tokio::main(flavor = "current_thread")]
async fn main() -> Result<(), Closed> {
    let (server, client) = numbers::init();
    let mut receiving = server.recv_async();
    assert!(timeout(LIMIT, &mut receiving).await.is_err());
    // The session is still open.
    let server = receiving.into_inner().expect("no message has arrived");

    let (client, unsent) = send_until_late(client).await?;
    let Stream::Send(first, mut server) = server.recv_async().await?;
    assert_eq!(first, 0);
    for expected in 1..unsent {
        let Stream::Send(number, next) = server.recv_async().await?;
        assert_eq!(number, expected);
        server = next;
    }
    let _client = client.send_async(unsent).await?;
    let Stream::Send(number, _server) = server.recv_async().await?;
    assert_eq!(number, unsent);
    Ok(())
}
