package duologue.robots

import duologue.{Endpoint, EndpointUsed, SessionClosed, Why, abandon, abandonAfter, generated, wasLeft}
import scala.annotation.unused
import scala.util.control.{ControlThrowable, NonFatal}

/** For generated code: plays one side of one session. */
abstract class Robot(table: Table, play: Play, isClient: Boolean) {
  private val coverage = play.coverageOf(table)
  private var node = 0
  private var endpoint: Option[Endpoint] = None
  private var messages = 0L
  private var ending: Ending = Ending.Finished

  /** Makes the values of the next message. */
  protected final val $values: Values = new Values(play.choices)

  /** The transcript. */
  protected final val $out: Line = new Line

  /** Sends or receives one message in this state. */
  protected def $step(node: Int, endpoint: Endpoint): Unit

  /** Plays the session until it ends. */
  final def run(start: Endpoint): Ending =
    if (coverage.table ne table) {
      abandon(start)
      Ending.Failed("the coverage is not one of `" + table.protocol + "`", None)
    } else {
      val time = play.within.map(limit => abandonAfter(start, limit))
      // An exception of a hook is thrown to the caller.
      ending = Ending.Left
      try {
        coverage.begin(isClient)
        ending = playAll(start, () => time.isDefined && wasLeft(start))
        ending
      } finally {
        time.foreach(_.close())
        play.ended($out.transcript)
        // Whichever endpoint the session has arrived at.
        ending match {
          case Ending.Finished => ()
          case _               => abandon(start)
        }
      }
    }

  private def playAll(start: Endpoint, isOver: () => Boolean): Ending =
    try {
      endpoint = Some(start)
      ending = Ending.Finished
      while (node >= 0) endpoint.foreach($step(node, _))
      ending
    } catch {
      case closed: SessionClosed => gone(closed.getMessage, (isOver() && !closed.isByPeer) || isLate(closed.why))
      case _: EndpointUsed if isOver() => gone("", isLate = true)
      case failed: Robot.Failed =>
        val text = "in state `" + table.nodes(node).state + "`: " + failed.cause.toString
        Ending.Failed(withTranscript(text), Some(failed.cause))
    }

  private def isLate(why: Why): Boolean = why match {
    case Why.Late => true
    case _        => false
  }

  private def withTranscript(text: String): String = text + "\n" + $out.transcript

  /** The peer has disconnected, or the time is over. */
  private def gone(why: String, isLate: Boolean): Ending = {
    $out.closed(receiver(isOwn = true))
    if (isLate) Ending.Late(withTranscript("the session took too long in state `" + table.nodes(node).state + "`"))
    else Ending.Closed(withTranscript(why))
  }

  private def receiver(isOwn: Boolean): String = if (isClient == isOwn) "client" else "server"

  /** Decides what to send with the endpoint: the position of the message, or -1 if the robot has disconnected. */
  protected final def $turn(@unused endpoint: Endpoint): Int = {
    val at = table.nodes(node)
    // The way out may be long, or the peer may not take it.
    val mustLeave = at.makeable.isEmpty || messages / 2 >= play.limit
    val chosen = if (mustLeave) -1 else choose(at)
    if (chosen < 0) {
      $out.closed(receiver(isOwn = false))
      ending = if (at.makeable.isEmpty) Ending.Stuck(at.state) else Ending.Left
      node = -1
    } else $values.begin()
    chosen
  }

  /** The position of a message, or -1 to disconnect. */
  private def choose(at: Node): Int = {
    val makeable = at.makeable
    var pauses = 0
    var chosen = Robot.Undecided
    while (chosen == Robot.Undecided) {
      val byte = if (messages >= play.limit) 0 else play.choices.byte()
      if (byte == 0) chosen = table.wayOut(node)
      else if (byte < 96) {
        chosen = coverage.steer(node)
        if (chosen < 0) chosen = if (byte == 1) table.wayOut(node) else makeable(byte % makeable.length)
      } else if (byte < 248) {
        val more = if (makeable.length > 152) play.choices.byte() else 0
        chosen = makeable((byte - 96 + 152 * more) % makeable.length)
      } else if (byte < 252) {
        if (pauses == Robot.MostPauses) chosen = table.wayOut(node)
        pauses += 1
        if (chosen == Robot.Undecided) beSlow(byte - 247)
      } else chosen = if (play.leaving) -1 else makeable(byte % makeable.length)
    }
    chosen
  }

  private def beSlow(times: Int): Unit = {
    val nanos = math.min(play.pause.toNanos, Long.MaxValue / 8L) * times
    if (nanos > 0L) Thread.sleep(nanos / 1000000L, (nanos % 1000000L).toInt)
  }

  /** Begins the line of a message that is about to be sent. */
  protected final def $sends(edge: Int): Unit = line(edge, isReceived = false)

  /** Begins the line of a message that has arrived. */
  protected final def $receives(edge: Int): Unit = line(edge, isReceived = true)

  private def line(edge: Int, isReceived: Boolean): Unit = {
    messages += 1L
    coverage.count(node, edge, isReceived)
    $out.begin(receiver(isReceived), table.nodes(node).edges(edge).message)
  }

  /** Continues in the next state. */
  protected final def $go(next: Int, endpoint: Endpoint): Unit = {
    node = next
    this.endpoint = Some(endpoint)
  }

  /** The session has reached its end, after this message or with this endpoint. */
  protected final def $over(last: Any): Unit = {
    val _ = last
    node = -1
  }

  /** Calls what looks at a message. If it throws, the session has failed. */
  protected final def $check(property: => Unit): Unit =
    try property
    catch { case NonFatal(cause) => throw new Robot.Failed(cause) }

  /** Closes the endpoints in a value that has arrived. */
  protected final def $close(value: Any): Unit = value match {
    case endpoint: Endpoint                            => abandon(endpoint)
    case Some(inner)                                   => $close(inner)
    case items: Vector[_]                              => items.foreach(item => $close(item))
    case parts: Product if Robot.holdsEndpoints(parts) => parts.productIterator.foreach(part => $close(part))
    case _                                             => ()
  }

  /** No robot of this side sends a value of this type. */
  protected final def $unmade(name: String): Nothing = throw new IllegalStateException("this side sends no `" + name + "`")
}

private object Robot {

  /** How often a robot is slow before it sends a message, at most. */
  val MostPauses = 4

  val Undecided = -2

  /** A property does not hold. */
  final class Failed(val cause: Throwable) extends ControlThrowable

  def holdsEndpoints(parts: Product): Boolean = parts match {
    case _: generated.Carrier[_] => true
    case _                       => parts.getClass.getName.startsWith("scala.Tuple")
  }
}
