use conversations::Transcript;
use conversations::protocols::oneshot_bytes::client;
use duologue::Closed;

pub fn run(endpoint: client::Oneshot, _: &Transcript) -> Result<(), Closed> {
    let _done: client::Done = endpoint.send(vec![0x00, 0x01, 0xfe, 0xff])?;
    Ok(())
}
