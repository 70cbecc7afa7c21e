package cases.oneshot

import cases.Transcript
import cases.Transcript.hex
import duologue.abandon
import protocols.oneshot_bytes

object Server {
  def run(endpoint: oneshot_bytes.server.Oneshot, transcript: Transcript): Unit = {
    val oneshot_bytes.Oneshot.Send(value, done) = endpoint.recv()
    transcript.line("server <- send(" + hex(value) + ")")
    abandon(done)
  }
}
