// error: value recv is not a member of protocols.bank.client.Login
package misuse.not_my_turn

import protocols.bank

object Program {
  def run(client: bank.client.Login): String = {
    client.recv().toString // wrong
    // right: client.login("holk", "1234").recv().toString
  }
}
