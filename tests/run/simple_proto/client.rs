use conversations::Transcript;
use conversations::protocols::simple_proto::client;
use duologue::Closed;

pub fn run(endpoint: client::SayHello, _: &Transcript) -> Result<(), Closed> {
    endpoint.say_hello()?.say_hello()?.say_hello()?.good_bye()?;
    Ok(())
}
