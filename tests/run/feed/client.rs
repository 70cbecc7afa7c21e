use conversations::Transcript;
use conversations::protocols::feed::{Answer, client};
use conversations::protocols::stream::{self, Stream};
use duologue::Closed;

pub fn run(endpoint: client::Idle, transcript: &Transcript) -> Result<(), Closed> {
    let (mut primes, theirs) = stream::init::<u64>();
    let answer = endpoint.subscribe("primes".to_owned(), theirs)?.recv()?;
    let Answer::Subscribed(idle) = answer else {
        panic!("unexpected: {answer:?}")
    };
    transcript.line("client <- subscribed");
    for _ in 0..3 {
        let Stream::Send(number, next) = primes.recv()?;
        transcript.line(format_args!("client <- send({number})"));
        primes = next;
    }
    assert!(primes.recv().is_err());
    transcript.line("client <- closed");
    let (rumours, theirs) = stream::init::<u64>();
    let answer = idle.subscribe("rumours".to_owned(), theirs)?.recv()?;
    let Answer::UnknownTopic { back, next: idle } = answer else {
        panic!("unexpected: {answer:?}")
    };
    transcript.line("client <- unknown_topic(<stream.client.Stream>)");
    let back = back.send(7)?;
    let Stream::Send(number, rumours) = rumours.recv()?;
    transcript.line(format_args!("client <- send({number})"));
    drop(back);
    assert!(rumours.recv().is_err());
    transcript.line("client <- closed");
    idle.leave()?;
    Ok(())
}
