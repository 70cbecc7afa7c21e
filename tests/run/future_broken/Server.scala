package cases.future_broken

import cases.Transcript
import duologue.abandon
import protocols.future_text
import scala.annotation.unused

object Server {
  def run(endpoint: future_text.server.Waiting, @unused transcript: Transcript): Unit = {
    abandon(endpoint)
  }
}
