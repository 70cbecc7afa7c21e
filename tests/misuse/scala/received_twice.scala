// throws: duologue.EndpointUsed: this endpoint of `pingpong.ping` was already used; continue with the endpoint that the first use returned
package misuse.received_twice

import protocols.pingpong

object Program {
  def run(): Unit = {
    val (server, client) = pingpong.init()
    val waiting = client.ping()
    val pingpong.Ping.Ping(next) = server.recv()
    duologue.abandon(server.recv().next) // wrong
    // right: duologue.abandon(next)
    duologue.abandon(next)
    duologue.abandon(waiting)
  }
}
