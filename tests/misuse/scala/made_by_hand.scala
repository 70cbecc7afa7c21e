// error: cannot be accessed
package misuse.made_by_hand

import protocols.bank

object Program {
  def run(client: bank.client.Login): bank.client.Login = {
    new bank.client.Login(client) // wrong
    // right: client
  }
}
