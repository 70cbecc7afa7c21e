package cases.future

import cases.Transcript
import protocols.future_text
import scala.annotation.unused

object Server {
  def run(endpoint: future_text.server.Waiting, @unused transcript: Transcript): Unit = {
    endpoint.completed("a \"quoted\" word,\na back\\slash")
  }
}
