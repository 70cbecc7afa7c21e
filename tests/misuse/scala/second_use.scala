// throws: duologue.EndpointUsed: this endpoint of `bank.connected` was already used; continue with the endpoint that the first use returned
package misuse.second_use

import protocols.bank

object Program {
  def run(): Unit = {
    val (server, client) = bank.init()
    val waiting = client.login("holk", "1234")
    val bank.Login.Login(_, _, answering) = server.recv()
    val serving = answering.ok()
    waiting.recv() match {
      case bank.LoginResponse.Ok(connected) =>
        val richer = connected.deposit(100.0)
        duologue.abandon(connected.deposit(100.0)) // wrong
        // right: duologue.abandon(richer.deposit(100.0))
        duologue.abandon(richer)
      case bank.LoginResponse.Invalid(login) => duologue.abandon(login)
    }
    duologue.abandon(serving)
  }
}
