import protocols.thermostat

/** Both sides of a session in one thread: the temperature that is read is the one to keep. */
object Main {
  def main(arguments: Array[String]): Unit = {
    val (server, client) = thermostat.init()
    val waiting = client.keep(21).read()
    server.recv() match {
      case thermostat.Idle.Keep(kept, next) =>
        next.recv() match {
          case thermostat.Idle.Read(reading) => duologue.abandon(reading.temperature(kept))
          case other                         => sys.error(other.toString)
        }
      case other => sys.error(other.toString)
    }
    val answer = waiting.recv()
    println(answer.celsius.toString + " degrees, as " + answer.celsius.getClass.getSimpleName)
    duologue.abandon(answer.next)
  }
}
