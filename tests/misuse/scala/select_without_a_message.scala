// warning: match may not be exhaustive
package misuse.select_without_a_message

import duologue.Select
import protocols.{bank, pingpong}

object Program {
  def run(response: bank.client.LoginResponse, pong: pingpong.client.Pong): Unit =
    Select(
      pong.on { case pingpong.Pong.Pong(next) => duologue.abandon(next) },
      response.on { case bank.LoginResponse.Ok(next) => duologue.abandon(next) } // wrong
      // right: response.on { case bank.LoginResponse.Ok(next) => duologue.abandon(next); case bank.LoginResponse.Invalid(_) => () }
    ).recv()
}
