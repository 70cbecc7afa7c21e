// warning: protocols.bank.client.Connected
package misuse.forgotten_continuation

import protocols.bank

object Program {
  def run(client: bank.client.Connected): Unit = {
    client.deposit(100.0) // wrong
    // right: duologue.abandon(client.deposit(100.0))
    println("deposited")
  }
}
