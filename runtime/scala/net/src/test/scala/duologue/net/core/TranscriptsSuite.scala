package duologue.net

import duologue.{Clock, Endpoint, SendEndpoint, SessionClosed, SessionEvents, SessionNumber, WireState, Why, abandon, trySend}
import scala.concurrent.duration.{Duration, DurationInt, FiniteDuration}
import scala.util.Try
import scala.util.control.NonFatal
import wire.counter

private final case class Transcript(name: String, terms: List[String], steps: Vector[String])

/** The transcripts of `tests/wire/sessions.txt`, with a connection and a clock that the test controls. */
final class TranscriptsSuite extends NetSuite {

  override def beforeAll(): Unit = Clock.stop()

  override def afterAll(): Unit = {
    Clock.resume()
    super.afterAll()
  }

  /** What this implementation does otherwise, and may. */
  private val Different = Map(
    "heartbeats" -> "a heartbeat is written when half of its time has passed",
    "what_is_not_accepted_is_kept" -> "a sender waits for space when 64 KiB wait to be written",
    "a_message_that_is_too_large" -> "the sender gets an exception, and its session goes on"
  )

  private lazy val all: Vector[Transcript] = {
    val (found, last) = lines("sessions.txt").foldLeft((Vector.empty[Transcript], Option.empty[Transcript])) {
      case ((done, open), line) if line.startsWith("session ") =>
        val words = line.split(' ').toList
        (done ++ open, Some(Transcript(words(1), words.drop(2), Vector())))
      case (before, line) if line.isEmpty || line.startsWith("broken ") => before
      case ((done, open), line)                                         => (done, open.map(last => last.copy(steps = last.steps :+ line)))
    }
    val transcripts = found ++ last
    assert(transcripts.length > 20)
    assertEquals(Different.keySet -- transcripts.map(_.name), Set.empty[String])
    transcripts
  }

  private lazy val (different, played) = all.partition(transcript => Different.contains(transcript.name))

  private def spelled(why: Why): String = why.toString.toLowerCase

  /** A step, and how often it is repeated. */
  private def repeated(step: String): (String, Int) = step.split(" x ") match {
    case Array(once, count) => (once, count.toInt)
    case _                  => (step, 1)
  }

  /** A side of a session, its connection, and what an observer would be told. The terms are those of a transcript. */
  private final class Session(terms: List[String]) extends SessionEvents {
    private val values = terms.tail.map(_.split('=')).map(words => words(0) -> words(1).toInt).toMap
    private val isServer = terms.head == "server"

    /** Why the session is over. */
    var why: Option[String] = None

    override val number: Long = SessionNumber.next()
    override def message(state: WireState, index: Int, isSent: Boolean, bytes: Long, isTurn: Boolean): Unit = ()
    override def report(): Unit = ()
    override def ended(why: Int, detail: String, state: WireState): Unit = this.why = Some(spelled(Why.of(why)))

    private val (first, around): (Endpoint, Around) = {
      val idle = values.get("idle").fold[FiniteDuration](Duration.Zero)(_.millis)
      val (own, peers, largest) = (values.getOrElse("ours", 0), values.getOrElse("theirs", 0), values.getOrElse("largest", 1 << 20).toLong)
      if (isServer) begun(counter.server, idle = idle, own = own, peers = peers, largest = largest, events = this)
      else begun(counter.client, idle = idle, own = own, peers = peers, largest = largest, events = this)
    }

    /** What the program has now. */
    private var endpoint: Option[Endpoint] = Some(first)

    def isClosed: Boolean = around.wire.isClosed

    def arrive(bytes: Array[Byte]): Unit = {
      around.wire.arrive(bytes)
      around.far.ready()
    }

    def cut(): Unit = {
      around.wire.end()
      around.far.ready()
    }

    /** Time passes, and is checked as often as in a process. */
    def pass(millis: Int): Unit =
      for (from <- 0 until millis by 100) around.pass(math.min(100, millis - from).millis)

    def written(): String = hex(around.wire.sent())

    private def sent[E <: SendEndpoint](from: E)(message: E => Option[Endpoint]): Option[Endpoint] =
      try trySend(from)(message).getOrElse(fail("there is no space"))
      catch { case _: SessionClosed => None }

    private def send(name: String, value: String): Unit =
      endpoint = endpoint match {
        case Some(counts: counter.client.Count) =>
          sent(counts) { counts =>
            name match {
              case "item" => Some(counts.item(value.toLong))
              case "note" =>
                val parts = value.split('*')
                Some(counts.note(parts(0) * parts.drop(1).headOption.fold(1)(_.toInt)))
              case "ask" => Some(counts.ask())
              case "quit" =>
                counts.quit()
                None
              case other => fail(other)
            }
          }
        case Some(answers: counter.server.Answer) if name == "sum" => sent(answers)(answers => Some(answers.sum(value.toLong)))
        case _                                                     => fail("it cannot send `" + name + "` now")
      }

    /** Receives a message, if there is one. Returns it as text, or `nothing`, or `closed` and why. */
    private def recv(): String = {
      val received: Option[(String, Option[Endpoint])] =
        try
          endpoint match {
            case Some(hears: counter.server.Count) =>
              hears.tryRecv().map {
                case counter.Count.Item(value, next) => ("item " + value.toString, Some(next))
                case counter.Count.Note(value, next) => ("note " + value, Some(next))
                case counter.Count.Ask(next)         => ("ask", Some(next))
                case counter.Count.Quit              => ("quit", None)
              }
            case Some(waits: counter.client.Answer) =>
              waits.tryRecv().map {
                case counter.Answer.Sum(value, next) => ("sum " + value.toString, Some(next))
                case counter.Answer.Over             => ("over", None)
              }
            case _ => fail("it cannot receive now")
          }
        catch { case closed: SessionClosed => Some(("closed " + spelled(closed.why), None)) }
      received.foreach { case (_, next) => endpoint = next }
      received.fold("nothing")(_._1)
    }

    /** Does a step. Bytes of the peer arrive this many at a time. */
    def act(step: String, chunk: Int): Unit = {
      val (once, count) = repeated(step)
      val (verb, rest) = once.span(_ != ' ')
      val (value, wire) = (rest.trim, around.wire)
      verb match {
        case "send" =>
          val words = value.split(' ')
          for (_ <- 1 to count) send(words(0), words.drop(1).mkString(" "))
        case "recv" => for (_ <- 1 to count) assertEquals(recv(), value)
        case "drop" =>
          endpoint.foreach(abandon)
          endpoint = None
        case "flush"  => around.far.flush(false)
        case "<"      => unhex(value * count).grouped(math.min(chunk.toLong * count, Int.MaxValue.toLong).toInt).foreach(arrive)
        case ">"      => assertEquals(written(), if (value.isEmpty) "-" else value * count)
        case "cut"    => cut()
        case "fails"  => wire.hasFailed = true
        case "accept" =>
          wire.space = if (value == "all") Int.MaxValue else value.toInt
          if (wire.space > 0) around.far.ready()
        case "pass"     => pass(value.toInt)
        case "full"     => assert(wire.hasUnread)
        case "deadline" => assertEquals(around.deadline, if (value == "none") None else Some(value.toInt.millis))
        case "over"     => assertEquals((why, isClosed), (Some(value), false))
        case "closed"   => assertEquals((why, isClosed), (Some(value), true))
        case "open"     => assertEquals((why, isClosed), (None, false))
        case other      => fail("there is no step `" + other + "`")
      }
    }
  }

  /** Says in which transcript, or after what, an assertion fails. */
  private def during[T](what: String)(task: => T): T =
    try task
    catch { case NonFatal(failed) => throw new AssertionError(what + ": " + failed.toString, failed) }

  private def play(transcript: Transcript, chunk: Int): Unit = {
    val session = during(transcript.name)(new Session(transcript.terms))
    for ((step, number) <- transcript.steps.zipWithIndex)
      during(transcript.name + ", step " + number.toString + ", " + step)(session.act(step, chunk))
    assertEquals(session.written(), "-", transcript.name)
  }

  test("sessions are as in the transcripts") {
    played.foreach(play(_, Int.MaxValue))
  }

  // However the peer's bytes are cut into pieces, the session is the same.
  test("bytes may arrive one at a time") {
    played.foreach(play(_, 1))
  }

  test("transcripts that are listed as different are different") {
    assertEquals(different.filter(transcript => Try(play(transcript, Int.MaxValue)).isSuccess).map(_.name), Vector.empty[String])
  }

  test("a session that is cut after any byte is lost") {
    val cuts = for {
      transcript <- played if transcript.steps.forall(repeated(_)._2 == 1)
      (step, at) <- transcript.steps.zipWithIndex if step.startsWith("< ")
      bytes = unhex(step.drop(2))
      count <- bytes.indices
    } yield during(transcript.name + ", cut after " + count.toString + " bytes of " + step) {
      val session = new Session(transcript.terms)
      transcript.steps.take(at).foreach(session.act(_, Int.MaxValue))
      val expected = session.why.getOrElse("lost")
      session.arrive(bytes.take(count))
      session.cut()
      session.pass(20000)
      session.act("closed " + expected, 1)
    }
    assert(cuts.length > 80)
  }

  test("frames that break the format end the session") {
    val broken = lines("sessions.txt").filter(_.startsWith("broken ")).map(_.split(' '))
    assert(broken.length > 10)
    for (words <- broken; chunk <- List(1, Int.MaxValue)) during(words(1)) {
      val session = new Session(List(words(2), "largest=64"))
      if (words(2) == "client") List("send ask", "> 03").foreach(session.act(_, chunk))
      List("< " + words(3), "> 000301", "closed broken").foreach(session.act(_, chunk))
    }
  }
}
