// throws: java.lang.IllegalArgumentException: `value_0` is a u8: 256 is out of range
package misuse.out_of_range

import protocols.telemetry

object Program {
  def run(): Unit = {
    val (server, client) = telemetry.init()
    duologue.abandon(client.unsigned(256, 0, 0L, 0L)) // wrong
    // right: duologue.abandon(client.unsigned(255, 0, 0L, 0L))
    duologue.abandon(server)
  }
}
