// error: duologue.Shareable
package misuse.shared_where_the_state_changes

import duologue.SharedSender
import protocols.{bank, numbers}

object Program {
  def run(login: bank.client.Login, client: numbers.client.Stream): Unit = {
    duologue.abandon(login)
    SharedSender[bank.client.Login](login).close() // wrong
    // right: SharedSender[numbers.client.Stream](client).close()
    duologue.abandon(client)
  }
}
