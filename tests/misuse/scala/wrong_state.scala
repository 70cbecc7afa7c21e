// error: value login is not a member of protocols.bank.client.LoginResponse
package misuse.wrong_state

import protocols.bank

object Program {
  def run(client: bank.client.Login): Unit = {
    val waiting = client.login("holk", "1234")
    duologue.abandon(waiting.login("holk", "1234")) // wrong
    // right: duologue.abandon(waiting)
  }
}
