// error: value login is not a member of protocols.bank.server.Login
package misuse.swapped_sides

import protocols.bank

object Program {
  def run(): Unit = {
    val (client, server) = bank.init()
    duologue.abandon(server)
    duologue.abandon(client.login("holk", "1234")) // wrong
    // right: duologue.abandon(client)
  }
}
