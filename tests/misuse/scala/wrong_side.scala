// error: protocols.bank.client.Login
package misuse.wrong_side

import protocols.bank

object Program {
  def run(): bank.client.Login = {
    val (server, client) = bank.init()
    duologue.abandon(server)
    val mine: bank.client.Login = server // wrong
    // right: val mine: bank.client.Login = client
    if (mine.toString == client.toString) mine else client
  }
}
