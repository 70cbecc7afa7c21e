package cases

import duologue.robots.{Choices, Coverage, Ending, Play, RobotFailure, Table, Values}
import java.nio.charset.StandardCharsets.UTF_8
import java.util.concurrent.{FutureTask, TimeUnit}
import protocols.{Ticket, bank, double_buffer, work_queue}
import scala.concurrent.duration.DurationInt

/** Robots play with each other. Prints the transcripts of all protocols, with choices that the programs in the other languages use too, and
  * then the reports of robots that play until everything is covered.
  */
object Robots {
  type Session = (Play, Play) => (Ending, Ending)

  /** What is done with each protocol. */
  abstract class Each {
    def visit(name: String, table: Table, session: Session): Unit

    final def apply[S, C](name: String, table: Table, init: () => (S, C))(client: (C, Play) => Ending)(
        server: (S, Play) => Ending
    ): Unit = visit(
      name,
      table,
      (asClient, asServer) => {
        val (first, second) = init()
        val serving = new FutureTask[Ending](() => server(first, asServer))
        val thread = new Thread(serving)
        thread.setDaemon(true)
        thread.start()
        val ending = client(second, asClient)
        (ending, serving.get(60, TimeUnit.SECONDS))
      }
    )
  }

  object BufferClient extends double_buffer.robots.Client {
    def makeBuffer(values: Values): Array[Byte] = values.bytes(16).toArray
    override def showBuffer(value: Array[Byte]): String = value.length.toString
  }

  object BufferServer extends double_buffer.robots.Server {
    def makeBuffer(values: Values): Array[Byte] = values.bytes(16).toArray
    override def showBuffer(value: Array[Byte]): String = value.length.toString
  }

  object TicketClient extends work_queue.robots.Client {
    def makeTicket(values: Values): Ticket = ticket(values)
    override def showTicket(value: Ticket): String = shown(value)
  }

  object TicketServer extends work_queue.robots.Server {
    def makeTicket(values: Values): Ticket = ticket(values)
    override def showTicket(value: Ticket): String = shown(value)
  }

  private def ticket(values: Values): Ticket = Ticket(values.u32().toInt)

  private def shown(ticket: Ticket): String = "#" + Integer.toUnsignedString(ticket.id)

  private def print(text: String): Unit = System.out.write(text.getBytes(UTF_8))

  private def play(choices: Choices, coverage: Option[Coverage], limit: Int): Play =
    new Play(choices, coverage, limit, pause = 0.seconds, within = Some(60.seconds))

  private def word(ending: Ending): String = ending match {
    case Ending.Finished        => "finished"
    case Ending.Left            => "left"
    case Ending.Stuck(_)        => "stuck"
    case Ending.Closed(_)       => "closed"
    case Ending.Late(text)      => throw new AssertionError(text)
    case Ending.Failed(text, _) => throw new AssertionError(text)
  }

  /** Plays a session, which both robots must see in the same way. */
  private def tell(head: => String, session: Session, client: Play, server: Play): Unit = {
    val (one, other) = session(client, server)
    print("# " + head + word(one) + ", " + word(other) + "\n" + client.transcript)
    same(server.transcript, client.transcript)
  }

  private def same(found: String, expected: String): Unit =
    if (found != expected) throw new AssertionError(found + "\nin place of\n" + expected)

  private object Tell extends Each {
    def visit(name: String, table: Table, session: Session): Unit = {
      (1 to 3).foreach { seed =>
        val client = play(Choices.seed(seed.toLong), None, 12)
        val server = play(Choices.seed(seed + 100L), None, 12)
        tell(name + " seed " + seed.toString + ": ", session, client, server)
      }
      val coverage = new Coverage(table)
      val client = play(Choices.covering(), Some(coverage), 100)
      val server = play(Choices.covering(), Some(coverage), 100)
      def head = name + " covering: " + coverage.report.linesIterator.next() + ", "
      tell(head, session, client, server)
    }
  }

  /** Lists in lists, each of which asks for as many items as there can be: a message has no more, however deep they are. */
  private object Deep extends Each {
    def visit(name: String, table: Table, session: Session): Unit = if (name == "file_server") {
      val folder = Array[Byte](0, 0, 0, -1, -1, -1, -1)
      val client = play(Choices.bytes(Array[Byte](96, 0)), None, 12)
      val server = play(Choices.bytes(96.toByte +: Array.fill(30)(folder).flatten), None, 12)
      val (one, other) = session(client, server)
      val size = client.transcript.getBytes(UTF_8).length
      print("# file_server deep: " + word(one) + ", " + word(other) + ", " + size.toString + " bytes\n")
      same(server.transcript, client.transcript)
    }
  }

  /** Two robots with one coverage see everything in at most as many sessions as there are transitions. */
  private object Cover extends Each {
    def visit(name: String, table: Table, session: Session): Unit = {
      val coverage = new Coverage(table)
      val (_, all) = coverage.covered
      var sessions = 0
      while (coverage.covered._1 < all) {
        if (sessions == all) throw new AssertionError(name + ": " + coverage.report)
        sessions += 1
        val client = play(Choices.covering(), Some(coverage), 100)
        val server = play(Choices.covering(), Some(coverage), 100)
        val (one, other) = session(client, server)
        List(one, other).foreach(ending => word(ending): Unit)
      }
      print(coverage.json + "\n")
    }
  }

  /** Without bytes a session is the shortest one. */
  private def shortest(): Unit = {
    val (server, client) = bank.init()
    val serving = new Thread(() => bank.robots.server(server, new Play(Choices.bytes(Array.emptyByteArray))).check())
    serving.start()
    val play = new Play(Choices.bytes(Array.emptyByteArray))
    bank.robots.client(client, play).check()
    serving.join()
    same(play.transcript, "server <- login(\"\", \"\")\nclient <- ok\nserver <- quit\n")
  }

  /** A property that does not hold is reported with the transcript, and the peer finds the session closed. */
  private def properties(): Unit = {
    val (server, client) = bank.init()
    val serving = new FutureTask[Ending](() => bank.robots.server(server, new Play(Choices.covering())))
    new Thread(serving).start()
    val hooks = new bank.robots.Client {
      override def onLoginResponse(message: bank.LoginResponse): Unit = message match {
        case bank.LoginResponse.Ok(_)      => throw new IllegalStateException("it lets everyone in")
        case bank.LoginResponse.Invalid(_) => ()
      }
    }
    val ending = bank.robots.client(client, new Play(Choices.covering()), hooks)
    val failure =
      try {
        ending.check()
        "nothing"
      } catch { case failure: RobotFailure => failure.getMessage }
    val transcript = "server <- login(\"b\", \"b\")\nclient <- ok\n"
    same(failure, "in state `login_response`: java.lang.IllegalStateException: it lets everyone in\n" + transcript)
    same(word(serving.get(60, TimeUnit.SECONDS)), "closed")
  }

  /** A robot disconnects when its peer never takes the way to the end. */
  private def endurance(): Unit = {
    val (server, client) = bank.init()
    val invalid = new Play(Choices.bytes(Array.fill[Byte](10)(97)))
    val serving = new FutureTask[Ending](() => bank.robots.server(server, invalid))
    new Thread(serving).start()
    val play = new Play(Choices.bytes(Array.emptyByteArray), limit = 6)
    same(word(bank.robots.client(client, play)), "left")
    same(word(serving.get(60, TimeUnit.SECONDS)), "closed")
    same(play.transcript, invalid.transcript)
  }

  /** A server that does not answer is found when the time is over. */
  private def patience(): Unit = {
    val (server, client) = bank.init()
    val play = new Play(Choices.covering(), within = Some(50.millis))
    bank.robots.client(client, play) match {
      case Ending.Late(_) => same(play.transcript, "server <- login(\"b\", \"b\")\nclient <- closed\n")
      case other          => throw new AssertionError(other.toString)
    }
    duologue.abandon(server)
  }

  def main(arguments: Array[String]): Unit = {
    RobotCases.all(Tell)
    RobotCases.all(Deep)
    print("== reports\n" + arguments.mkString)
    RobotCases.all(Cover)
    shortest()
    properties()
    endurance()
    patience()
    System.out.flush()
  }
}
