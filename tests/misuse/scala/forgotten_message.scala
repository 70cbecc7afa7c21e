// warning: match may not be exhaustive
package misuse.forgotten_message

import protocols.bank

object Program {
  def run(client: bank.client.LoginResponse): Unit = {
    client.recv() match { // wrong
    // right: client.recv() match { case bank.LoginResponse.Invalid(login) => duologue.abandon(login)
      case bank.LoginResponse.Ok(connected) => connected.quit()
    }
  }
}
