package cases

import duologue.Role
import duologue.net.{Listener, connect}

/** Runs one program of a case over a connection, and prints its lines of the transcript. */
object Remote {

  def play(side: String, address: String)(client: Role)(asClient: (client.$First, Transcript) => Unit)(server: Role)(
      asServer: (server.$First, Transcript) => Unit
  ): Unit = {
    val transcript = new Transcript
    try
      side match {
        case "client" => asClient(connect(client, address), transcript)
        case "server" =>
          val listener = Listener(address)
          println("listening " + listener.address)
          try asServer(listener.accept(server), transcript)
          finally listener.close()
        case other => throw new IllegalArgumentException("`" + other + "` is neither client nor server")
      }
    finally print(transcript.text)
  }

  def unknown(name: String): Nothing = throw new IllegalArgumentException("no case `" + name + "` can leave the process")
}
