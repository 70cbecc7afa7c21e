package cases.pingpong

import cases.Transcript
import duologue.abandon
import protocols.pingpong

object Client {
  def run(endpoint: pingpong.client.Ping, transcript: Transcript): Unit = {
    var ping = endpoint
    for (_ <- 1 to 3) {
      val pingpong.Pong.Pong(next) = ping.ping().recv()
      transcript.line("client <- pong")
      ping = next
    }
    abandon(ping)
  }
}
