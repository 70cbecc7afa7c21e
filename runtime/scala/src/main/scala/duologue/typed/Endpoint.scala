package duologue

import java.lang.ref.Reference
import java.util.Objects
import scala.annotation.implicitNotFound
import scala.concurrent.{Future, Promise}
import scala.concurrent.duration.FiniteDuration
import scala.util.Using

/** One side of a session, in one state. It is used once: the operation that uses it returns the endpoint of the next state.
  *
  * An endpoint may be passed to another thread, like any object. The second use of an endpoint throws [[EndpointUsed]], even if
  * two threads use it at the same moment. If one of them has used the side many times in a row, the two uses may overlap: then
  * one or both of them throw, and the session is closed. The check for that has no fence: if the thread that has used the side
  * many times is delayed for more than two microseconds between the last two instructions of its use, neither may throw.
  *
  * A side that will not continue its session has to close it, with [[abandon]] or with `scala.util.Using` (the companion has the
  * instance), or else the peer waits. An endpoint that is simply forgotten closes its session too, but only after the garbage
  * collector has found it.
  */
abstract class Endpoint private[duologue] (side: Side, turn: Long) extends Handle(side, turn) {

  /** For generated code: the endpoint that follows `previous`. */
  def this(previous: Endpoint) = this(previous.$side, previous.$turn + 1)

  /** The protocol and the state, as spelled in the protocol file, and the number of the session: `bank.login #7`. All endpoints of
    * a session have its number, and no other session in this process has it. A session gets it when it is first asked for.
    */
  override def toString: String = Endpoint.place(this) + " #" + SessionNumber.of($side.state.pipe).toString
}

object Endpoint {

  /** Lets `Using` close the session: not only through the endpoint it was given, but through whichever endpoint of the same side
    * is live at the end. A session that is over, and an endpoint that was sent to another side, are left alone.
    */
  implicit val releasable: Using.Releasable[Endpoint] = new Using.Releasable[Endpoint] {
    def release(endpoint: Endpoint): Unit = abandon(endpoint)
  }

  private[duologue] def place(endpoint: Endpoint): String = place(endpoint.$side, endpoint.$state())

  private[duologue] def place(side: Side, state: String): String = side.state.pipe.protocol + "." + state

  private[duologue] def used(endpoint: Endpoint): EndpointUsed = used(endpoint.$side, endpoint.$turn, endpoint.$state())

  /** Why the endpoint of this turn was refused. */
  private[duologue] def used(side: Side, turn: Long, state: String): EndpointUsed = {
    val own = side.state
    val why =
      if (own.isBroken) "or its side was used by two threads at the same time; the session is closed"
      else if (own.isLeft && own.turn == turn) "cannot be used anymore: this side has closed the session"
      else "was already used; continue with the endpoint that the first use returned"
    new EndpointUsed(place(side, state), why)
  }

  private[duologue] def closed(endpoint: Endpoint): SessionClosed = closed(endpoint.$side, endpoint.$state())

  private[duologue] def closed(side: Side, state: String): SessionClosed = {
    val isLeft = side.isLeft
    val (why, detail) = side.state match {
      case own: RemoteState if !isLeft && own.why != null => (Why.of(own.why), Option(own.detail))
      case _                                         => (Why.Left, None)
    }
    if (RecordFlag.LOG) Recording.closed(side, why)
    new SessionClosed(side.state.pipe.protocol, state, !isLeft, why, detail)
  }

  /** The exception that replaces what the virtual machine threw when two uses of one side overlapped: in either of them, or in
    * the peer, which finds something in the ring that neither of them meant. The session is then over.
    */
  private[duologue] def torn(side: Side, turn: Long, state: String, thrown: RuntimeException): RuntimeException = thrown match {
    case _: SessionClosed | _: EndpointUsed => thrown
    case _: PayloadRefused                  =>
      side.restore(turn)
      if (RecordFlag.REGISTRY) Registered.takesBack(side.state)
      thrown
    case _ =>
      val own = side.state
      val mine = own.isContested
      val instead = if (mine) null else closed(side, state)
      own.breakOff(): Unit
      val refusal = if (mine) used(side, turn, state) else instead
      refusal.initCause(thrown): Unit
      refusal
  }

  /** Waits for the next message and returns its word; the use has begun. Takes the parts of an endpoint instead of the endpoint,
    * which the compiler need not create if it does not escape.
    */
  private[duologue] def await(side: Side, turn: Long, state: String): Long = {
    val own = side.state
    var owned = own.isMine
    if (!side.begin(turn, owned)) throw used(side, turn, state)
    var word = own.poll()
    if (word == 0L) {
      arrives(side, turn, state, -1L, owned): Unit
      owned = false
      word = own.take()
      if (word == 0L) throw closed(side, state)
    }
    own.promise()
    if (owned) word | Pipe.OWNED else word
  }

  /** Waits for a message; the use is not an owner's afterwards. Returns false after `nanos` nanoseconds. A negative number means
    * no time limit.
    */
  private[duologue] def arrives(side: Side, turn: Long, state: String, nanos: Long, owned: Boolean): Boolean =
    side.await(nanos, owned) match {
      case Outcome.READY => true
      case Outcome.TIMEOUT =>
        side.restore(turn)
        false
      case Outcome.INTERRUPTED =>
        side.restore(turn)
        throw new InterruptedException()
      case Outcome.LEFT => throw closed(side, state)
      case Outcome.USED => throw used(side, turn, state)
    }
}

/** An endpoint whose side sends. It has one method for each message of its state, and no other members.
  *
  * Such a method never waits in a protocol of bounded capacity. In an unbounded run it waits while the buffer is full. It throws
  * [[SessionClosed]] if the peer has closed the session; endpoints that were to be sent can then be used again. It throws
  * `InterruptedException` if the thread is interrupted while it waits; nothing was sent then, and the endpoint can be used again.
  * It throws `IllegalArgumentException` if a value is out of range, and [[EndpointUsed]] if the endpoint was already used.
  */
abstract class SendEndpoint(previous: Endpoint) extends Endpoint(previous) {
  if (RecordFlag.REGISTRY) Registered.reaches($side.state, $turn, $state(), true)
}

object SendEndpoint {

  /** The methods that receive, for a compiler's error that says whose turn it is: none of them can be called. */
  implicit final class OutOfTurn[E <: SendEndpoint](private val endpoint: E) extends AnyVal {
    def recv()(implicit turn: CanReceive[E]): Nothing = turn.impossible
    def recvOrClosed()(implicit turn: CanReceive[E]): Nothing = turn.impossible
    def tryRecv()(implicit turn: CanReceive[E]): Nothing = turn.impossible
    def recvAsync()(implicit turn: CanReceive[E]): Nothing = turn.impossible
  }

  /** There are no values of this type. */
  @implicitNotFound(
    "it is the turn of ${E} to send, not to receive: its methods are the messages of its state, and each returns the next endpoint"
  )
  sealed trait CanReceive[E] {
    private[SendEndpoint] def impossible: Nothing
  }
}

/** Implemented by sending endpoints of a state whose messages all lead back to the state, so that a [[SharedSender]] can be
  * created from them.
  */
trait Shareable

/** An endpoint of a session that is over: a state without direction and without messages. There is nothing left to do. */
abstract class DoneEndpoint(previous: Endpoint) extends Endpoint(previous)

/** An endpoint whose side receives a message of type `M`, which carries the next endpoint.
  *
  * A closed session is reported only after everything that the peer sent has been received.
  */
abstract class RecvEndpoint[+M](previous: Endpoint) extends Endpoint(previous) {
  if (RecordFlag.REGISTRY) Registered.reaches($side.state, $turn, $state(), false)

  /** For generated code: the message with this index, and the endpoint that follows it. A payload that is a single primitive
    * value is the `number`.
    */
  protected def open(index: Int, payload: Any, number: Long): M

  /** Waits for the message. Throws [[SessionClosed]] if the session is closed, [[EndpointUsed]] if this endpoint was already
    * used, and `InterruptedException` if the thread is interrupted first; after an interrupt this endpoint can be used again.
    */
  def recv(): M = {
    val side = $side
    val turn = $turn
    val state = $state()
    try {
      val own = side.state
      val passing = own.peek(turn)
      val word = if (passing == 0L) Endpoint.await(side, turn, state) else passing
      val slot = if (passing == 0L) own.slot else own.slotOf(turn)
      // In one place for both paths, so that the compiler need not create the message where the program takes it apart.
      val message = open(Pipe.index(word), own.payload(slot, word), own.number(slot))
      val isKept = if (passing == 0L) own.pass(word, turn) else own.end(turn + 1, true)
      if (!isKept) throw Endpoint.used(side, turn, state)
      Reference.reachabilityFence(side)
      if (RecordFlag.ON) recorded(word)
      message
    } catch { case thrown: RuntimeException => throw Endpoint.torn(side, turn, state, thrown) }
  }

  /** Like `recv`, but returns [[SessionClosed]] as a value instead of throwing it. */
  def recvOrClosed(): Either[SessionClosed, M] = SessionClosed.caught(recv())

  /** The message, if it has arrived. Never waits. `None` means that nothing has arrived yet; this endpoint can still be used.
    * Throws [[SessionClosed]] if the session is closed, and [[EndpointUsed]] if this endpoint was already used.
    */
  def tryRecv(): Option[M] = {
    val owned = start()
    if ($side.state.arrived()) takeSome(owned)
    else {
      unused(owned)
      None
    }
  }

  /** Like `recv`, but waits at most `timeout`. `None` means that nothing arrived in time; this endpoint can still be used. */
  def recvWithin(timeout: FiniteDuration): Option[M] = {
    val nanos = math.max(0L, timeout.toNanos)
    val owned = start()
    if ($side.state.arrived()) takeSome(owned)
    else if (arrives(nanos, owned)) takeSome(owned = false)
    else None
  }

  /** Like `tryRecv`, but returns [[SessionClosed]] as a value instead of throwing it. */
  def tryRecvOrClosed(): Either[SessionClosed, Option[M]] = SessionClosed.caught(tryRecv())

  /** Like `recvWithin`, but returns [[SessionClosed]] as a value instead of throwing it. */
  def recvWithinOrClosed(timeout: FiniteDuration): Either[SessionClosed, Option[M]] = SessionClosed.caught(recvWithin(timeout))

  /** A future of the message, for which no thread is blocked. The future fails with [[SessionClosed]] if the session is
    * closed. It is completed in the thread in which `recvThen` would call back, and only what `Future` itself runs is run there.
    * Throws [[EndpointUsed]] at once if this endpoint was already used.
    */
  def recvAsync(): Future[M] = {
    val promise = Promise[M]()
    recvThen(outcome => promise.complete(outcome.toTry): Unit)
    promise.future
  }

  /** Calls back once, with the message when it arrives, or with [[SessionClosed]] if the session is closed; immediately if either
    * is already the case. Otherwise `callback` runs in the thread that sends or closes the session or, occasionally in a long
    * run, in the common pool of the Java library. It must not wait, and should hand off long-running work. What it throws goes to
    * the uncaught exception handler of that thread. Throws [[EndpointUsed]] if this endpoint was already used.
    */
  def recvThen(callback: Either[SessionClosed, M] => Unit): Unit = {
    Objects.requireNonNull(callback, "callback"): Unit
    val owned = start()
    if ($side.state.arrived()) Handover.call(callback, takeIn(left = false, owned))
    else {
      if (!$side.state.occupy(owned)) throw Endpoint.used(this)
      val task = new Group.Task(Array[Handle](this)) {
        def chose(): Unit = Handover.call(callback, takeIn(isLeft, owned = false))
      }
      task.start()
    }
  }

  /** This endpoint as a case of a [[Select]], with the handler for its message. If the session is closed, the select throws
    * [[SessionClosed]].
    */
  def on[R](handler: M => R): Select.Case[R] = {
    Objects.requireNonNull(handler, "handler"): Unit
    onOrClosed(_.fold(closed => throw closed, handler))
  }

  /** Like `on`, but the handler also gets [[SessionClosed]], as a value. */
  def onOrClosed[R](handler: Either[SessionClosed, M] => R): Select.Case[R] = {
    Objects.requireNonNull(handler, "handler"): Unit
    new Select.Case(this, left => {
      val outcome = takeIn(left, owned = false)
      () => handler(outcome)
    })
  }

  /** Whether a message has arrived, as opposed to the report that the peer has closed the session. */
  private[duologue] def hasMessage: Boolean = {
    val owned = start()
    val has = $side.state.hasMessage
    unused(owned)
    has
  }

  /** The message that `hasMessage` has reported, even if this side has been abandoned in the meantime. */
  private[duologue] def recvSeen(): M =
    try recv()
    catch {
      case _: EndpointUsed if $side.isLeft && $side.state.turn == $turn =>
        val word = $side.state.poll()
        if (word == 0L) throw Endpoint.closed(this)
        opened(word, owned = false)
    }

  /** For adapters: takes the messages that have arrived, at most `most`, as long as `each` returns the endpoint to continue with.
    * Does not wait if this endpoint is ready. Throws [[SessionClosed]] if nothing has arrived and the session is closed.
    */
  private[duologue] def gather[A, N >: M](most: Int)(each: N => (A, Option[RecvEndpoint[N]])): (Vector[A], Option[RecvEndpoint[N]]) = {
    val values = Vector.newBuilder[A]
    val (first, second) = each(recv())
    values += first
    var next = second
    var left = most - 1
    while (left > 0 && next.exists(following => !wasLeft(following) && following.hasMessage)) {
      val (value, following) = each(next.get.recvSeen())
      values += value
      next = following
      left -= 1
    }
    (values.result(), next)
  }

  /** Begins a use. Returns whether it is an owner's. */
  private def start(): Boolean = {
    val owned = $side.state.isMine
    if (!$side.begin($turn, owned)) throw Endpoint.used(this)
    owned
  }

  /** Ends a use as if it had not happened. */
  private def unused(owned: Boolean): Unit = if (!$side.state.end($turn, owned)) throw Endpoint.used(this)

  private def arrives(nanos: Long, owned: Boolean): Boolean = Endpoint.arrives($side, $turn, $state(), nanos, owned)

  /** What has arrived at this endpoint, unless its side was abandoned (`left`). */
  private[duologue] def takeIn(left: Boolean, owned: Boolean): Either[SessionClosed, M] =
    try {
      val word = if (left) 0L else $side.state.take()
      if (word == 0L) Left(Endpoint.closed(this)) else Right(opened(word, owned))
    } catch {
      case used: EndpointUsed       => throw used
      case thrown: RuntimeException =>
        // Not thrown: the result may go to a callback, which cannot learn of it in any other way.
        val closed = Endpoint.closed(this)
        $side.state.breakOff(): Unit
        closed.initCause(thrown): Unit
        Left(closed)
    }

  /** The message with this word, which was taken. Ends the use. */
  private def opened(word: Long, owned: Boolean): M = {
    val own = $side.state
    val slot = own.slot
    val message = open(Pipe.index(word), own.payload(slot, word), own.number(slot))
    if (!own.pass(if (owned) word | Pipe.OWNED else word, $turn)) throw Endpoint.used(this)
    if (RecordFlag.ON) recorded(word)
    message
  }

  private def recorded(word: Long): Unit =
    Recording.passed(this, Pipe.index(word), Recording.Kind.Received, (word & Pipe.END) != 0L)

  private def takeSome(owned: Boolean): Option[M] = takeIn(left = false, owned) match {
    case Right(message) => Some(message)
    case Left(closed)   => throw closed
  }
}
