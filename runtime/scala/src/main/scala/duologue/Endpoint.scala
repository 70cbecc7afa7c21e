package duologue

import java.util.Objects
import scala.concurrent.{Future, Promise}
import scala.concurrent.duration.FiniteDuration
import scala.util.Using

/** One side of a session, in one state. It is used once: the operation that uses it gives the endpoint of the next state.
  *
  * An endpoint may be given to another thread, as any object may. The second use of an endpoint throws [[EndpointUsed]], also if two
  * threads try at the same moment; only where one of them has used the side many times in a row, a use in the very nanoseconds of its
  * own may be missed.
  *
  * A side that will not go on with its session has to say so, or the peer waits: by [[abandon]], or by `scala.util.Using`,
  * for which the companion has the instance. An endpoint that is simply forgotten closes its session too, but only after the
  * garbage collector has found it.
  */
abstract class Endpoint private[duologue] (side: Side, turn: Long) extends Handle(side, turn) {

  /** For generated code: the endpoint that follows `previous`. */
  def this(previous: Endpoint) = this(previous.$side, previous.$turn + 1)

  /** The protocol and the state, as the specification spells them. */
  override def toString: String = Endpoint.place(this)
}

object Endpoint {

  /** Lets `Using` leave the session: not only by the endpoint it was given, but by whichever endpoint of the same side is live
    * at the end. A session that is over, and an endpoint that was sent to somebody else, are left alone.
    */
  implicit val releasable: Using.Releasable[Endpoint] = new Using.Releasable[Endpoint] {
    def release(endpoint: Endpoint): Unit = abandon(endpoint)
  }

  private[duologue] def place(endpoint: Endpoint): String = place(endpoint.$side, endpoint.$state())

  private[duologue] def place(side: Side, state: String): String = side.seat.pipe.protocol + "." + state

  private[duologue] def used(side: Side, state: String): EndpointUsed = new EndpointUsed(place(side, state))

  private[duologue] def closed(endpoint: Endpoint): SessionClosed = closed(endpoint.$side, endpoint.$state())

  private[duologue] def closed(side: Side, state: String): SessionClosed = new SessionClosed(side.seat.pipe.protocol, state)

  /** The word of the next message, when it has come; the use has begun. Takes what an endpoint is made of instead of the endpoint, which
    * the compiler does without where it goes nowhere.
    */
  private[duologue] def await(side: Side, turn: Long, state: String): Long = {
    if (!side.begin(turn)) throw used(side, state)
    val seat = side.seat
    var word = seat.poll()
    if (word == 0L) {
      arrives(side, turn, state, -1L): Unit
      word = seat.take()
      if (word == 0L) throw closed(side, state)
    }
    seat.promise()
    word
  }

  /** Waits for a message; false after the time is over. Below 0 there is no end to it. */
  private[duologue] def arrives(side: Side, turn: Long, state: String, nanos: Long): Boolean = side.await(nanos) match {
    case Side.Outcome.READY => true
    case Side.Outcome.TIMEOUT =>
      side.restore(turn)
      false
    case Side.Outcome.INTERRUPTED =>
      side.restore(turn)
      throw new InterruptedException()
    case Side.Outcome.LEFT => throw closed(side, state)
  }
}

/** An endpoint whose side speaks. It has one method for each message of its state, and no other member.
  *
  * Such a method never waits in a protocol of bounded capacity. In a run without bound it waits while the buffer is full. It
  * throws [[SessionClosed]] if the peer has left; endpoints that were to be sent can then be used again. It throws
  * `InterruptedException` if the thread is interrupted while it waits; nothing was sent then, and the endpoint can be used again.
  */
abstract class SendEndpoint(previous: Endpoint) extends Endpoint(previous)

/** What endpoints are of whose state every message leads back to the state, so that a [[SharedSender]] can be made of them. */
trait Shareable

/** An endpoint of a session that is over: a state without direction and without messages. Nothing is left to do. */
abstract class DoneEndpoint(previous: Endpoint) extends Endpoint(previous)

/** An endpoint whose side listens for a message of type `M`, which carries the next endpoint.
  *
  * ''Closed'' is told only after everything has been read that the peer sent before it left.
  */
abstract class RecvEndpoint[+M](previous: Endpoint) extends Endpoint(previous) {

  /** For generated code: the message with this index, and the endpoint that follows it. A payload that is one primitive value is the
    * `number`.
    */
  protected def open(index: Int, payload: Any, number: Long): M

  /** Waits for the message. Throws [[SessionClosed]] if the peer has left, and `InterruptedException` if the thread is
    * interrupted first; this endpoint can be used again then.
    */
  def recv(): M = {
    val side = $side
    val seat = side.seat
    val passing = side.peek(this)
    val word = if (passing == 0L) Endpoint.await(side, $turn, $state()) else passing
    val slot = if (passing == 0L) seat.slot else seat.slotOf($turn)
    // In one place for both ways, so that the compiler can do without the message where the program takes it apart.
    val message = open(Pipe.index(word), seat.payload(slot, word), seat.number(slot))
    if (passing == 0L) seat.pass(word, $turn) else seat.release($turn + 1)
    message
  }

  /** As `recv`, with ''closed'' as a value. */
  def recvOrClosed(): Either[SessionClosed, M] = {
    start()
    val seat = $side.seat
    if (!seat.arrived()) {
      try arrives(-1L): Unit
      catch { case closed: SessionClosed => return Left(closed) }
    }
    seat.promise()
    takeIn(left = false)
  }

  /** The message if it is there. Never waits. `None`: nothing yet, and this endpoint can still be used. Throws
    * [[SessionClosed]] if the peer has left.
    */
  def tryRecv(): Option[M] = {
    start()
    if ($side.seat.arrived()) takeSome()
    else {
      $side.restore(this)
      None
    }
  }

  /** As `recv`, but waits no longer than `timeout`. `None`: nothing came, and this endpoint can still be used. */
  def recvWithin(timeout: FiniteDuration): Option[M] = {
    val nanos = math.max(0L, timeout.toNanos)
    start()
    if ($side.seat.arrived() || arrives(nanos)) takeSome() else None
  }

  /** The message when it comes, without a thread that waits for it. The future fails with [[SessionClosed]] if the peer
    * leaves. It is completed by the thread that sends, which runs nothing but what `Future` itself runs there.
    */
  def recvAsync(): Future[M] = {
    val promise = Promise[M]()
    recvThen(outcome => promise.complete(outcome.toTry): Unit)
    promise.future
  }

  /** Calls back with the message when it comes, or with the news that the peer has left: once, and at once if it is there. The
    * caller is the thread that sends, so `callback` must not wait, and should hand over long work. What it throws goes to the handler of
    * uncaught exceptions of that thread.
    */
  def recvThen(callback: Either[SessionClosed, M] => Unit): Unit = {
    Objects.requireNonNull(callback, "callback"): Unit
    start()
    if ($side.seat.arrived()) Handover.call(callback, takeIn(left = false))
    else {
      $side.seat.occupy()
      val task = new Group.Task(Array[Handle](this)) {
        def chose(): Unit = Handover.call(callback, takeIn(isLeft))
      }
      task.start()
    }
  }

  /** This endpoint in a [[Select]], with what to do with its message. If the peer has left, the select throws [[SessionClosed]]. */
  def on[R](handler: M => R): Select.Case[R] = {
    Objects.requireNonNull(handler, "handler"): Unit
    onOrClosed(_.fold(closed => throw closed, handler))
  }

  /** As `on`, with ''closed'' as a value. */
  def onOrClosed[R](handler: Either[SessionClosed, M] => R): Select.Case[R] = {
    Objects.requireNonNull(handler, "handler"): Unit
    new Select.Case(this, left => {
      val outcome = takeIn(left)
      () => handler(outcome)
    })
  }

  /** Whether a message is there, and not the news that the peer has left. */
  private[duologue] def hasMessage: Boolean = {
    start()
    val has = $side.seat.hasMessage
    $side.restore(this)
    has
  }

  /** The message of which `hasMessage` has told, also if this side has been left meanwhile. */
  private[duologue] def recvSeen(): M =
    try recv()
    catch {
      case _: EndpointUsed if $side.isLeft && $side.seat.turn == $turn =>
        val word = $side.seat.poll()
        if (word == 0L) throw Endpoint.closed(this)
        opened(word)
    }

  private def start(): Unit = if (!$side.begin($turn)) throw Endpoint.used($side, $state())

  private def arrives(nanos: Long): Boolean = Endpoint.arrives($side, $turn, $state(), nanos)

  /** What has arrived at this endpoint, unless somebody has `left` by it. */
  private[duologue] def takeIn(left: Boolean): Either[SessionClosed, M] = {
    val word = if (left) 0L else $side.seat.take()
    if (word == 0L) Left(Endpoint.closed(this)) else Right(opened(word))
  }

  /** The message with this word, which was taken. */
  private def opened(word: Long): M = {
    val seat = $side.seat
    val slot = seat.slot
    val message = open(Pipe.index(word), seat.payload(slot, word), seat.number(slot))
    seat.pass(word, $turn)
    message
  }

  private def takeSome(): Option[M] = {
    val word = $side.seat.take()
    if (word == 0L) throw Endpoint.closed(this)
    Some(opened(word))
  }
}
