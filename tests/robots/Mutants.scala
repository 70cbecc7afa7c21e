package cases

import duologue.Endpoint
import duologue.robots.{Choices, Coverage, Ending, Play, Table}
import java.util.concurrent.CountDownLatch
import scala.concurrent.duration.{DurationInt, FiniteDuration}
import scala.util.control.NoStackTrace

/** What the servers in Scala with all their mutants call, and the robots that look for the mutants. */
object Mutants {

  /** The server stops here. */
  private object Stops extends RuntimeException with NoStackTrace

  /** The mutant that plays: 0 is the original. */
  @volatile private var current = 0
  @volatile private var over = new CountDownLatch(1)
  @volatile private var hasHung = false

  def is(number: Int): Boolean = current == number

  def closes[E <: Endpoint](number: Int, endpoint: E): E = ends(number, endpoint)(duologue.abandon(_))

  def ends[E <: Endpoint](number: Int, endpoint: E)(end: E => Unit): E = {
    if (is(number)) {
      end(endpoint)
      throw Stops
    }
    endpoint
  }

  /** Waits, if this mutant plays, until the robot has given up. */
  def hangs[E <: Endpoint](number: Int, endpoint: E): E = {
    if (is(number)) {
      hasHung = true
      over.await()
    }
    endpoint
  }

  /** Another value, if this mutant plays and there is one. */
  def wrong[T](number: Int, value: T): T = if (is(number)) other(value).asInstanceOf[T] else value

  private def other(value: Any): Any = value match {
    case number: Int      => number + 1
    case number: Long     => number + 1
    case number: Double   => if (number == 1.0) 2.0 else 1.0
    case text: String     => text + "x"
    case items: Seq[_]    => items.dropRight(1)
    case Some(_)          => None
    case bytes: Array[Byte] => bytes.map(byte => (byte + 1).toByte)
    case same             => same
  }

  /** A server, and how its client's robot plays. */
  final class Case[S <: Endpoint, C](name: String, table: Table, script: List[Int], rare: List[Int], init: () => (S, C))(
      client: (C, Play) => Ending
  )(serve: (S, Transcript) => Unit) {
    private val bytes = script.map(_.toByte).toArray

    /** First each whole script, then a part of one and random bytes. */
    private def choices(number: Int): Array[Byte] =
      if (number == 0) bytes
      else if (number == 1) rare.map(_.toByte).toArray
      else {
        val random = new java.util.SplittableRandom(number.toLong)
        val kept = bytes.take(random.nextInt(bytes.length + 1))
        kept ++ Array.fill(random.nextInt(40))(random.nextInt().toByte)
      }

    /** The ending and the transcript of a session. */
    private def session(mutant: Int, coverage: Coverage, number: Int, within: FiniteDuration): (String, String) = {
      val (server, endpoint) = init()
      current = mutant
      over = new CountDownLatch(1)
      val serving = new Thread(() =>
        try serve(server, new Transcript())
        catch { case _: Throwable => () } finally duologue.abandon(server)
      )
      serving.setDaemon(true)
      serving.start()
      val choice = Choices.bytes(choices(number))
      val play = new Play(choice, Some(coverage), limit = 30, pause = 0.seconds, leaving = false, within = Some(within))
      val ending = client(endpoint, play) match {
        case Ending.Finished     => "finished"
        case Ending.Left         => "left"
        case Ending.Stuck(_)     => "stuck"
        case Ending.Closed(_)    => "closed"
        case Ending.Late(_)      => "late"
        case Ending.Failed(_, _) => "failed"
      }
      over.countDown()
      serving.join(60000L)
      if (serving.isAlive) throw new AssertionError(name + ": the server does not end: " + play.transcript)
      (ending, play.transcript)
    }

    /** Plays with the original and the mutant until two sessions with the same bytes differ. */
    private def differs(mutant: Int, hangs: Boolean, count: Int): Option[(Int, String)] = {
      val original = new Coverage(table)
      val changed = new Coverage(table)
      hasHung = false
      val numbers = (0 until count).iterator.flatMap { number =>
        val expected = session(0, original, number, Mutants.long)
        val found = session(mutant, changed, number, if (hangs) 100.millis else Mutants.long)
        val isSame = found == expected || (hangs && !hasHung)
        if (isSame) None else Some((number, found._1))
      }
      numbers.nextOption()
    }

    def hunt(mutants: List[(Int, String)]): Unit = {
      say("original", differs(0, hangs = false, 100))
      mutants.foreach { case (number, text) => say(text, differs(number, text.contains("hangs before"), 5000)) }
    }

    private def say(text: String, found: Option[(Int, String)]): Unit = println(found match {
      case Some((number, how)) => "found " + name + " " + text + ": " + how + " in session " + number.toString
      case None                => "missed " + name + " " + text
    })
  }

  private val long = 20.seconds
}
