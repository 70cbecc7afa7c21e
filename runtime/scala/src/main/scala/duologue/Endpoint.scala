package duologue

import java.lang.ref.Reference
import java.util.Objects
import scala.concurrent.{Future, Promise}
import scala.concurrent.duration.FiniteDuration
import scala.util.Using

/** One side of a session, in one state. It is used once: the operation that uses it gives the endpoint of the next state.
  *
  * An endpoint may be given to another thread, as any object may. The second use of an endpoint throws [[EndpointUsed]], also if two
  * threads try at the same moment. Where one of them has used the side many times in a row, the two uses may meet: then one of them throws or
  * both do, and the session is closed.
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

  private[duologue] def used(endpoint: Endpoint): EndpointUsed = used(endpoint.$side, endpoint.$turn, endpoint.$state())

  /** Why the endpoint of this turn was refused. */
  private[duologue] def used(side: Side, turn: Long, state: String): EndpointUsed = {
    val seat = side.seat
    val why =
      if (seat.isBroken) "was used by two threads at the same moment, or its side was; the session is closed"
      else if (seat.isLeft && seat.turn == turn) "cannot be used any more: this side has closed the session"
      else "was used before; go on with the endpoint that its first use returned"
    new EndpointUsed(place(side, state), why)
  }

  private[duologue] def closed(endpoint: Endpoint): SessionClosed = closed(endpoint.$side, endpoint.$state())

  private[duologue] def closed(side: Side, state: String): SessionClosed =
    new SessionClosed(side.seat.pipe.protocol, state, !side.isLeft)

  /** What is thrown in place of what the virtual machine threw where two uses of one side have met: at either of them, or at the peer, which
    * finds in the ring what neither of them meant. The session is over then.
    */
  private[duologue] def torn(side: Side, turn: Long, state: String, thrown: RuntimeException): RuntimeException = thrown match {
    case _: SessionClosed | _: EndpointUsed => thrown
    case _ =>
      val seat = side.seat
      val mine = seat.isContested
      val instead = if (mine) null else closed(side, state)
      seat.breakOff(): Unit
      val refusal = if (mine) used(side, turn, state) else instead
      refusal.initCause(thrown): Unit
      refusal
  }

  /** The word of the next message, when it has come; the use has begun. Takes what an endpoint is made of instead of the endpoint, which
    * the compiler does without where it goes nowhere.
    */
  private[duologue] def await(side: Side, turn: Long, state: String): Long = {
    val seat = side.seat
    var owned = seat.isMine
    if (!side.begin(turn, owned)) throw used(side, turn, state)
    var word = seat.poll()
    if (word == 0L) {
      arrives(side, turn, state, -1L, owned): Unit
      owned = false
      word = seat.take()
      if (word == 0L) throw closed(side, state)
    }
    seat.promise()
    if (owned) word | Pipe.OWNED else word
  }

  /** Waits for a message, and the use is no longer an owner's then; false after the time is over. Below 0 there is no end to it. */
  private[duologue] def arrives(side: Side, turn: Long, state: String, nanos: Long, owned: Boolean): Boolean =
    side.await(nanos, owned) match {
      case Side.Outcome.READY => true
      case Side.Outcome.TIMEOUT =>
        side.restore(turn)
        false
      case Side.Outcome.INTERRUPTED =>
        side.restore(turn)
        throw new InterruptedException()
      case Side.Outcome.LEFT => throw closed(side, state)
      case Side.Outcome.USED => throw used(side, turn, state)
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
    val turn = $turn
    val state = $state()
    try {
      val seat = side.seat
      val passing = side.peek(this)
      val word = if (passing == 0L) Endpoint.await(side, turn, state) else passing
      val slot = if (passing == 0L) seat.slot else seat.slotOf(turn)
      // In one place for both ways, so that the compiler can do without the message where the program takes it apart.
      val message = open(Pipe.index(word), seat.payload(slot, word), seat.number(slot))
      val isKept = if (passing == 0L) seat.pass(word, turn) else seat.end(turn + 1, true)
      if (!isKept) throw Endpoint.used(side, turn, state)
      Reference.reachabilityFence(side)
      message
    } catch { case thrown: RuntimeException => throw Endpoint.torn(side, turn, state, thrown) }
  }

  /** As `recv`, with ''closed'' as a value. */
  def recvOrClosed(): Either[SessionClosed, M] = {
    var owned = start()
    val seat = $side.seat
    if (!seat.arrived()) {
      try arrives(-1L, owned): Unit
      catch { case closed: SessionClosed => return Left(closed) }
      owned = false
    }
    seat.promise()
    takeIn(left = false, owned)
  }

  /** The message if it is there. Never waits. `None`: nothing yet, and this endpoint can still be used. Throws
    * [[SessionClosed]] if the peer has left.
    */
  def tryRecv(): Option[M] = {
    val owned = start()
    if ($side.seat.arrived()) takeSome(owned)
    else {
      unused(owned)
      None
    }
  }

  /** As `recv`, but waits no longer than `timeout`. `None`: nothing came, and this endpoint can still be used. */
  def recvWithin(timeout: FiniteDuration): Option[M] = {
    val nanos = math.max(0L, timeout.toNanos)
    val owned = start()
    if ($side.seat.arrived()) takeSome(owned)
    else if (arrives(nanos, owned)) takeSome(owned = false)
    else None
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
    val owned = start()
    if ($side.seat.arrived()) Handover.call(callback, takeIn(left = false, owned))
    else {
      if (!$side.seat.occupy(owned)) throw Endpoint.used(this)
      val task = new Group.Task(Array[Handle](this)) {
        def chose(): Unit = Handover.call(callback, takeIn(isLeft, owned = false))
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
      val outcome = takeIn(left, owned = false)
      () => handler(outcome)
    })
  }

  /** Whether a message is there, and not the news that the peer has left. */
  private[duologue] def hasMessage: Boolean = {
    val owned = start()
    val has = $side.seat.hasMessage
    unused(owned)
    has
  }

  /** The message of which `hasMessage` has told, also if this side has been left meanwhile. */
  private[duologue] def recvSeen(): M =
    try recv()
    catch {
      case _: EndpointUsed if $side.isLeft && $side.seat.turn == $turn =>
        val word = $side.seat.poll()
        if (word == 0L) throw Endpoint.closed(this)
        opened(word, owned = false)
    }

  /** Begins a use; whether it is an owner's. */
  private def start(): Boolean = {
    val owned = $side.seat.isMine
    if (!$side.begin($turn, owned)) throw Endpoint.used(this)
    owned
  }

  /** Ends it as if it had not been. */
  private def unused(owned: Boolean): Unit = if (!$side.seat.end($turn, owned)) throw Endpoint.used(this)

  private def arrives(nanos: Long, owned: Boolean): Boolean = Endpoint.arrives($side, $turn, $state(), nanos, owned)

  /** What has arrived at this endpoint, unless somebody has `left` by it. */
  private[duologue] def takeIn(left: Boolean, owned: Boolean): Either[SessionClosed, M] =
    try {
      val word = if (left) 0L else $side.seat.take()
      if (word == 0L) Left(Endpoint.closed(this)) else Right(opened(word, owned))
    } catch {
      case used: EndpointUsed       => throw used
      case thrown: RuntimeException =>
        // Who hears of it may be a callback, which has no other way.
        val closed = Endpoint.closed(this)
        $side.seat.breakOff(): Unit
        closed.initCause(thrown): Unit
        Left(closed)
    }

  /** The message with this word, which was taken. */
  private def opened(word: Long, owned: Boolean): M = {
    val seat = $side.seat
    val slot = seat.slot
    val message = open(Pipe.index(word), seat.payload(slot, word), seat.number(slot))
    if (!seat.pass(if (owned) word | Pipe.OWNED else word, $turn)) throw Endpoint.used(this)
    message
  }

  private def takeSome(owned: Boolean): Option[M] = takeIn(left = false, owned) match {
    case Right(message) => Some(message)
    case Left(closed)   => throw closed
  }
}
