package cases

import duologue.{Role, SessionClosed}
import duologue.net.{ConnectOptions, Limits, Listener, Tls, connect}
import java.nio.file.Path
import javax.net.ssl.SSLContext
import scala.io.StdIn
import scala.util.control.NonFatal

/** Runs one program of a case over a connection, and prints its lines of the transcript. If the session closes where the
  * conversation does not expect it, the last line is `why REASON`, and the exit code is 3. For addresses of TLS, `DUOLOGUE_TLS` is a
  * folder with `ca.pem`, and `.pem` and `.key` of client and server. With `DUOLOGUE_HOLD=N` the program is held after N lines: see
  * [[Transcript]].
  *
  * Without arguments it has one session for each line of its input, `client|server CASE ADDRESS [HOLD]`, one after the other. After
  * each it prints `ended CODE`.
  */
object Remote {

  /** Which side runs, where, and after how many lines it is held. */
  final class Arguments(val side: String, val address: String, holdsAfter: Option[Int]) {
    val transcript = new Transcript(holdsAfter)
  }

  /** Runs what the arguments or the input name. `run` runs one case, and returns the exit code. */
  def main(arguments: Array[String])(run: (String, Arguments) => Int): Unit =
    if (arguments.isEmpty) {
      val lines = Iterator.continually(StdIn.readLine()).takeWhile(_ != null)
      lines.foreach { line =>
        val words = line.split(' ')
        val code =
          try run(words(1), new Arguments(words(0), words(2), words.lift(3).map(_.toInt)))
          catch {
            case NonFatal(failure) =>
              failure.printStackTrace()
              1
          }
        println("ended " + code.toString)
      }
    } else {
      val held = Option(System.getenv("DUOLOGUE_HOLD")).map(_.toInt)
      val code = run(arguments(1), new Arguments(arguments(0), arguments(2), held))
      if (code != 0) System.exit(code)
    }

  def play(arguments: Arguments)(client: Role)(asClient: (client.$First, Transcript) => Unit)(server: Role)(
      asServer: (server.$First, Transcript) => Unit
  ): Int = {
    val why =
      try {
        run(arguments.side, arguments.address, arguments.transcript)(client)(asClient)(server)(asServer)
        None
      } catch {
        case closed: SessionClosed => Some(closed.why.toString.toLowerCase)
      } finally print(arguments.transcript.text)
    why.foreach(why => println("why " + why))
    if (why.isEmpty) 0 else 3
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
