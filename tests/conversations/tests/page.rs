//! The programs of the pages about Rust that use other crates. The build script takes them from the page.

#[allow(dead_code)]
mod cancelling {
    include!(concat!(env!("OUT_DIR"), "/page_cancelling.rs"));

    /// The numbers arrive, and the one that was not sent does not.
    #[tokio::test]
    async fn what_is_late_is_not_sent() -> Result<(), Closed> {
        let (mut server, client) = numbers::init();
        let (client, unsent) = send_until_late(client).await?;
        drop(client);
        let mut received = 0;
        while let Ok(numbers::Stream::Send(number, next)) = server.recv_async().await {
            assert_eq!(number, received);
            received += 1;
            server = next;
        }
        assert_eq!(received, unsent);
        Ok(())
    }
}

mod errors {
    include!(concat!(env!("OUT_DIR"), "/page_errors.rs"));

    #[test]
    fn the_causes_are_kept() {
        let (server, client) = bank::init();
        drop(server);
        let error = buy(client).expect_err("there is no bank");
        let texts: Vec<String> = error.chain().map(ToString::to_string).collect();
        let cause = "the peer closed the session in state `bank.login`";
        assert_eq!(texts, ["at the counter", "the bank is gone", cause]);
    }
}

#[cfg(feature = "sockets")]
#[allow(dead_code)]
mod observed {
    include!(concat!(env!("OUT_DIR"), "/page_observed.rs"));

    #[test]
    fn nobody_listens() {
        assert!(connect("tcp://127.0.0.1:1").is_err());
    }
}

#[cfg(feature = "sockets")]
mod over_tls {
    include!(concat!(env!("OUT_DIR"), "/page_over_tls.rs"));

    #[test]
    fn certificates_are_needed() {
        let folder = Path::new("nowhere");
        assert!(listen(folder).is_err());
        assert!(connect(folder, "tls://127.0.0.1:1").is_err());
    }
}

#[cfg(feature = "sockets")]
mod serving {
    include!(concat!(env!("OUT_DIR"), "/page_serving.rs"));

    #[tokio::test]
    async fn a_listener_that_drains_ends() -> Result<(), Box<dyn std::error::Error>> {
        let listener = Listener::bind("tcp://127.0.0.1:0")?;
        listener.drain().begin();
        serve(listener).await
    }
}

mod streams {
    include!(concat!(env!("OUT_DIR"), "/page_streams.rs"));

    #[tokio::test]
    async fn streams_and_sinks_fit_together() -> Result<(), Closed> {
        let (server, client) = numbers::init();
        let (sent, total) = tokio::join!(count(client), sum(server));
        sent?;
        assert_eq!(total, 500_500);

        let (server, client) = pingpong::init();
        let waiting = client.ping()?;
        let first = Box::pin(pings(server)).next().await;
        assert_eq!(first.transpose()?, Some(0));
        drop(waiting);
        Ok(())
    }
}

mod tasks {
    include!(concat!(env!("OUT_DIR"), "/page_tasks.rs"));

    #[test]
    fn runs() -> Result<(), Closed> {
        main()
    }
}
