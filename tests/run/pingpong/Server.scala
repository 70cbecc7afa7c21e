package cases.pingpong

import cases.Transcript
import cases.Transcript.unexpected
import protocols.pingpong

object Server {
  def run(endpoint: pingpong.server.Ping, transcript: Transcript): Unit = {
    var ping = endpoint
    for (_ <- 1 to 3) {
      val pingpong.Ping.Ping(next) = ping.recv()
      transcript.line("server <- ping")
      ping = next.pong()
    }
    ping.recvOrClosed() match {
      case Left(_)        => transcript.line("server <- closed")
      case Right(message) => unexpected(message)
    }
  }
}
