// throws: java.lang.IllegalArgumentException: there is no endpoint to wait for
package misuse.select_of_nothing

import duologue.Select
import protocols.numbers

object Program {
  def run(): Unit = {
    val (server, client) = numbers.init()
    duologue.abandon(client)
    val cases = List(server.onOrClosed(_.isLeft))
    val _ = Select.from(cases.drop(1)).recv() // wrong
    // right: val _ = Select.from(cases).recv()
  }
}
