package cases

import duologue.{Role, SessionClosed}
import duologue.net.{Listener, connect}

/** Runs one program of a case over a connection, and prints its lines of the transcript. If the session closes where the
  * conversation does not expect it, the last line is `why REASON`, and the exit code is 3.
  */
object Remote {

  def play(side: String, address: String)(client: Role)(asClient: (client.$First, Transcript) => Unit)(server: Role)(
      asServer: (server.$First, Transcript) => Unit
  ): Unit = {
    val transcript = new Transcript
    val why =
      try {
        run(side, address, transcript)(client)(asClient)(server)(asServer)
        None
      } catch {
        case closed: SessionClosed => Some(closed.why.toString.toLowerCase)
      } finally print(transcript.text)
    why.foreach { why =>
      println("why " + why)
      System.exit(3)
    }
  }

  private def run(side: String, address: String, transcript: Transcript)(client: Role)(
      asClient: (client.$First, Transcript) => Unit
  )(server: Role)(asServer: (server.$First, Transcript) => Unit): Unit =
    side match {
      case "client" => asClient(connect(client, address), transcript)
      case "server" =>
        val listener = Listener(address)
        println("listening " + listener.address)
        try asServer(listener.accept(server), transcript)
        finally listener.close()
      case other => throw new IllegalArgumentException("`" + other + "` is neither client nor server")
    }

  def unknown(name: String): Nothing = throw new IllegalArgumentException("no case `" + name + "` can leave the process")
}
