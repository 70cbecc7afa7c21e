// error: it is the turn of protocols.bank.client.Login to send, not to receive: its methods are the messages of its state
package misuse.not_my_turn

import protocols.bank

object Program {
  def run(client: bank.client.Login): String = {
    client.recv().toString // wrong
    // right: client.login("holk", "1234").recv().toString
  }
}
