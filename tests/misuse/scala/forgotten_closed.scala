// warning: match may not be exhaustive
package misuse.forgotten_closed

import protocols.pingpong

object Program {
  def run(client: pingpong.client.Pong): Unit = {
    client.recvOrClosed() match { // wrong
    // right: client.recvOrClosed() match { case Left(_) => ()
      case Right(pingpong.Pong.Pong(next)) => duologue.abandon(next)
    }
  }
}
