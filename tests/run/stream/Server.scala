package cases.stream

import cases.Transcript
import cases.Transcript.{unexpected, unsigned}
import protocols.numbers

object Server {
  def run(endpoint: numbers.server.Stream, transcript: Transcript): Unit = {
    var listening = endpoint
    for (_ <- 1 to 4) {
      val numbers.Stream.Send(value, next) = listening.recv()
      transcript.line("server <- send(" + unsigned(value) + ")")
      listening = next
    }
    listening.recvOrClosed() match {
      case Left(_)        => transcript.line("server <- closed")
      case Right(message) => unexpected(message)
    }
  }
}
