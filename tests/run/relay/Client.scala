package cases.relay

import cases.Transcript
import protocols.relay_text
import scala.annotation.unused

object Client {
  def run(endpoint: relay_text.client.Board, @unused transcript: Transcript): Unit = {
    endpoint.post("line one\nline two").post("").close()
  }
}
