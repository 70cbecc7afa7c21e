// error: Long
package misuse.wrong_type_argument

import protocols.numbers

object Program {
  def run(client: numbers.client.Stream): Unit = {
    duologue.abandon(client.send("1")) // wrong
    // right: duologue.abandon(client.send(1L))
  }
}
