package cases

import duologue.{Role, SessionClosed}
import duologue.net.{ConnectOptions, Limits, Listener, Observer, Tls, connect}
import java.nio.file.Path
import javax.net.ssl.SSLContext
import scala.concurrent.duration.DurationInt
import scala.io.StdIn
import scala.util.control.NonFatal

/** Runs one program of a case over a connection, and prints its lines of the transcript. If the session closes where the
  * conversation does not expect it, the last line is `why REASON`, and the exit code is 3. For addresses of TLS, `DUOLOGUE_TLS` is a
  * folder with `ca.pem`, and `.pem` and `.key` of client and server.
  *
  * `serve CASE ADDRESS` serves one session after the other until it is stopped, and prints `why REASON` or `over` after each.
  *
  * Without arguments it has one session for each line of its input, `client|server CASE ADDRESS`, one after the other. After each it
  * prints `ended CODE`, also to standard error. A line may end in ` hold=N`: the program is held after N lines, see [[Transcript]].
  */
object Remote {

  /** On a busy machine, a handshake can take long. */
  private val Patience = 5.minutes

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
        val held = words.find(_.startsWith("hold=")).map(_.stripPrefix("hold=").toInt)
        val code =
          try run(words(1), new Arguments(words(0), words(2), held))
          catch {
            case NonFatal(failure) =>
              failure.printStackTrace()
              1
          }
        System.err.println("ended " + code.toString)
        println("ended " + code.toString)
      }
    } else {
      val code = run(arguments(1), new Arguments(arguments(0), arguments(2), None))
      if (code != 0) System.exit(code)
    }

  def play(arguments: Arguments)(client: Role)(asClient: (client.$First, Transcript) => Unit)(server: Role)(
      asServer: (server.$First, Transcript) => Unit
  ): Int = {
    val why =
      try {
        run(arguments)(client)(asClient)(server)(asServer)
        None
      } catch {
        case closed: SessionClosed => Some(closed.why.toString.toLowerCase)
      } finally print(arguments.transcript.text)
    why.foreach(why => println("why " + why))
    if (why.isEmpty) 0 else 3
  }

  private def run(arguments: Arguments)(client: Role)(
      asClient: (client.$First, Transcript) => Unit
  )(server: Role)(asServer: (server.$First, Transcript) => Unit): Unit = {
    import arguments.{address, transcript}
    arguments.side match {
      case "client" =>
        val first = connect(client, address, ConnectOptions(timeout = Patience, tls = certificates("client")))
        transcript.begin()
        asClient(first, transcript)
      case "server" =>
        val observer = if (address.startsWith("tls:")) Some(reporting) else None
        val listener = Listener(address, Limits(hello = Patience), certificates("server"), observer)
        println("listening " + listener.address)
        try {
          val first = listener.accept(server)
          transcript.begin()
          asServer(first, transcript)
        } finally listener.close()
      case "serve" =>
        val listener = Listener(address)
        println("listening " + listener.address)
        while (true) {
          val how =
            try {
              asServer(listener.accept(server), transcript)
              "over"
            } catch { case closed: SessionClosed => "why " + closed.why.toString.toLowerCase }
          println(how)
        }
      case other => throw new IllegalArgumentException("`" + other + "` is neither client nor server")
    }
  }

  /** Reports connections that do not become a session. */
  private def reporting: Observer = new Observer {
    override def refused(refusal: Observer.Refusal): Unit = System.err.println("remote: " + refusal.cause)
  }

  private def certificates(party: String): Option[SSLContext] = Option(System.getenv("DUOLOGUE_TLS")).map { name =>
    val folder = Path.of(name)
    Tls.context(folder.resolve("ca.pem"), folder.resolve(party + ".pem"), folder.resolve(party + ".key"))
  }

  def unknown(name: String): Nothing = throw new IllegalArgumentException("no case `" + name + "` can leave the process")
}
