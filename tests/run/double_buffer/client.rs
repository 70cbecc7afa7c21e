use conversations::protocols::double_buffer::{WaitBuffer, client};
use conversations::{Transcript, hex};
use duologue::Closed;

pub fn run(mut endpoint: client::Acquire, transcript: &Transcript) -> Result<(), Closed> {
    for number in [1, 2, 3] {
        let WaitBuffer::GiveBuffer(mut buffer, release) = endpoint.request()?.recv()?;
        transcript.line(format_args!("client <- give_buffer({})", hex(&buffer)));
        buffer.fill(number);
        endpoint = release.release(buffer)?;
    }
    endpoint.finish()?;
    Ok(())
}
