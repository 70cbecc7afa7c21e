package cases.future

import cases.Transcript
import cases.Transcript.quoted
import protocols.future_text

object Client {
  def run(endpoint: future_text.client.Waiting, transcript: Transcript): Unit = {
    val future_text.Waiting.Completed(text) = endpoint.recv()
    transcript.line("client <- completed(" + quoted(text) + ")")
  }
}
