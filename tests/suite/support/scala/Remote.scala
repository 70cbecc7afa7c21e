package cases

import duologue.{Role, SessionClosed}
import duologue.net.{ConnectOptions, Limits, Listener, Tls, connect}
import java.nio.file.Path
import javax.net.ssl.SSLContext

/** Runs one program of a case over a connection, and prints its lines of the transcript. If the session closes where the
  * conversation does not expect it, the last line is `why REASON`, and the exit code is 3. For addresses of TLS, `DUOLOGUE_TLS` is a
  * folder with `ca.pem`, and `.pem` and `.key` of client and server. With `DUOLOGUE_HOLD=N` the program is held after N lines: see
  * [[Transcript]].
  */
object Remote {

  def play(side: String, address: String)(client: Role)(asClient: (client.$First, Transcript) => Unit)(server: Role)(
      asServer: (server.$First, Transcript) => Unit
  ): Unit = {
    val transcript = new Transcript(Option(System.getenv("DUOLOGUE_HOLD")).map(_.toInt))
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
      case "client" =>
        val first = connect(client, address, ConnectOptions(heartbeat = heartbeat, tls = certificates(side)))
        transcript.begin()
        asClient(first, transcript)
      case "server" =>
        val listener = Listener(address, Limits(heartbeat = heartbeat), certificates(side))
        println("listening " + listener.address)
        try {
          val first = listener.accept(server)
          transcript.begin()
          asServer(first, transcript)
        } finally listener.close()
      case other => throw new IllegalArgumentException("`" + other + "` is neither client nor server")
    }

  /** In seconds, as the environment requests it. */
  private def heartbeat: Int = Option(System.getenv("DUOLOGUE_HEARTBEAT")).fold(0)(_.toInt)

  private def certificates(side: String): Option[SSLContext] = Option(System.getenv("DUOLOGUE_TLS")).map { name =>
    val folder = Path.of(name)
    Tls.context(folder.resolve("ca.pem"), folder.resolve(side + ".pem"), folder.resolve(side + ".key"))
  }

  def unknown(name: String): Nothing = throw new IllegalArgumentException("no case `" + name + "` can leave the process")
}
