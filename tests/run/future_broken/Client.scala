package cases.future_broken

import cases.Transcript
import cases.Transcript.unexpected
import protocols.future_text

object Client {
  def run(endpoint: future_text.client.Waiting, transcript: Transcript): Unit = endpoint.recvOrClosed() match {
    case Left(_)        => transcript.line("client <- closed")
    case Right(message) => unexpected(message)
  }
}
