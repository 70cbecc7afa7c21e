// error: String
package misuse.wrong_payload

import protocols.bank

object Program {
  def run(client: bank.client.Connected): Unit = {
    client.deposit("a lot").quit() // wrong
    // right: client.deposit(100.0).quit()
  }
}
