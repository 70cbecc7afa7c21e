// error: value deposit is not a member of protocols.bank.client.Login
package misuse.wrong_message

import protocols.bank

object Program {
  def run(client: bank.client.Login): Unit = {
    duologue.abandon(client.deposit(100.0)) // wrong
    // right: duologue.abandon(client.login("holk", "1234"))
  }
}
