package cases.relay

import cases.Transcript
import cases.Transcript.quoted
import protocols.relay_text
import scala.annotation.tailrec

object Server {
  @tailrec
  def run(endpoint: relay_text.server.Board, transcript: Transcript): Unit = endpoint.recv() match {
    case relay_text.Board.Post(text, next) =>
      transcript.line("server <- post(" + quoted(text) + ")")
      run(next, transcript)
    case relay_text.Board.Close() => transcript.line("server <- close")
  }
}
