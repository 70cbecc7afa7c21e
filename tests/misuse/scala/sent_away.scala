// throws: duologue.EndpointUsed: this endpoint of `calculator.ready` was already used; continue with the endpoint that the first use returned
package misuse.sent_away

import protocols.{calculator, switchboard}

object Program {
  def run(): Unit = {
    val (server, client) = switchboard.init()
    val (serving, asking) = calculator.init()
    val open = client.connect(serving)
    duologue.abandon(serving.tryRecv().fold[duologue.Endpoint](open)(_ => open)) // wrong
    // right: duologue.abandon(open)
    duologue.abandon(asking)
    duologue.abandon(server)
  }
}
