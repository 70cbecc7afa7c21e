package duologue

import java.util.concurrent.atomic.{AtomicBoolean, AtomicInteger}
import java.util.concurrent.locks.ReentrantLock
import scala.concurrent.{ExecutionContext, Future, Promise}
import scala.concurrent.duration.FiniteDuration
import scala.util.{Failure, Success, Try}

/** One sending endpoint for many senders, in a state whose messages all lead back to the state.
  *
  * {{{
  * val sender = SharedSender(client)
  * val another = sender.share()
  * sender.send(_.deposit(100.0))
  * }}}
  *
  * The messages of one sender arrive in the order in which it sent them. Each sender may be used by any number of threads. The
  * session is closed when the last sender is closed, or after the garbage collector has found all of them.
  *
  * A message is given as a function of the endpoint, which runs while no other sender sends, so it should do nothing else. It may
  * send several messages in a row; if there is no space for all of them, the other senders wait as well.
  *
  * All forms throw `IllegalStateException` if this sender was closed. They throw [[SessionClosed]] if the peer has closed the
  * session or the last sender was closed in the meantime, and what `message` throws; the future of `sendAsync` fails with these.
  */
final class SharedSender[E <: SendEndpoint with Shareable] private (core: SharedSender.Core[E]) extends AutoCloseable {
  import SharedSender.Attempt

  private val closed = new AtomicBoolean

  /** Sends. While there is no space, waits and lets others send. Throws `InterruptedException` if the thread is interrupted
    * first.
    */
  def send(message: E => E): Unit = sends(message, -1L): Unit

  /** Sends if there is space; returns false if there is none. Does not wait for space, unless `message` sends several messages
    * and there is not enough for all of them.
    */
  def trySend(message: E => E): Boolean = {
    open()
    core.attempt(message, null) == Attempt.Sent
  }

  /** Like `send`, but waits at most `timeout`. Returns false if there was no space in time. */
  def sendWithin(timeout: FiniteDuration)(message: E => E): Boolean = sends(message, math.max(0L, timeout.toNanos))

  /** Like `send`, but returns [[SessionClosed]] as a value instead of throwing it. */
  def sendOrClosed(message: E => E): Either[SessionClosed, Unit] = SessionClosed.caught(send(message))

  /** Like `trySend`, but returns [[SessionClosed]] as a value instead of throwing it. */
  def trySendOrClosed(message: E => E): Either[SessionClosed, Boolean] = SessionClosed.caught(trySend(message))

  /** Like `sendWithin`, but returns [[SessionClosed]] as a value instead of throwing it. */
  def sendWithinOrClosed(timeout: FiniteDuration)(message: E => E): Either[SessionClosed, Boolean] =
    SessionClosed.caught(sendWithin(timeout)(message))

  /** Like `send`, without blocking a thread. If there is space, `message` runs at once, otherwise later in `executor`. If the
    * executor rejects this, the future fails with what it threw, and nothing was sent. If `message` sends several messages, it
    * waits in `executor` for space for the later ones. Then `executor` must not run its work in the thread that receives, which
    * would wait for itself.
    */
  def sendAsync(message: E => E)(implicit executor: ExecutionContext): Future[Unit] = {
    open()
    val promise = Promise[Unit]()
    new SharedSender.Pending(core, message, promise, executor).attempt()
    promise.future
  }

  /** For adapters: calls back once when `trySend` may find space, or when the wait is given up. Throws what `trySend` throws. */
  private[duologue] def whenSpace(callback: () => Unit): Wait = {
    open()
    val waiter = new SharedSender.Pause(core, callback)
    // It may be that nothing else refers to the session.
    Side.SUSPENDED.add(waiter): Unit
    try {
      if (core.insist(endpoint => endpoint, waiter) == Attempt.Sent) waiter.wake()
    } catch {
      case thrown: Throwable =>
        Side.SUSPENDED.remove(waiter): Unit
        throw thrown
    }
    new Wait(() => {
      core.queue.leave(waiter)
      waiter.wake()
    })
  }

  /** Another sender for the same endpoint; it must be closed as well. Throws `IllegalStateException` if this one is closed. */
  def share(): SharedSender[E] = {
    open()
    core.senders.incrementAndGet(): Unit
    new SharedSender(core)
  }

  /** Closes this sender. Closing the last one closes the session. Does nothing if this sender was closed before. */
  override def close(): Unit =
    if (closed.compareAndSet(false, true) && core.senders.decrementAndGet() == 0) core.leave()

  override def toString: String = "SharedSender(" + core.toString + ")"

  private def open(): Unit =
    if (closed.get) throw new IllegalStateException("this shared sender of `" + core.place + "` is closed")

  private def sends(message: E => E, nanos: Long): Boolean = {
    open()
    val deadline = System.nanoTime() + nanos
    var yields = 0
    var attempt = core.attempt(message, null)
    while (attempt == Attempt.Full && yields < SharedSender.Yields) {
      yields += 1
      Thread.`yield`()
      attempt = core.attempt(message, null)
    }
    if (attempt == Attempt.Full) sleeps(message, nanos, deadline) else true
  }

  private def sleeps(message: E => E, nanos: Long, deadline: Long): Boolean = {
    val waiter = new Waiter.Parked
    var outcome = Outcome.READY
    try {
      while (outcome == Outcome.READY && core.insist(message, waiter) == Attempt.Full) {
        outcome = Side.park(waiter, core, nanos, deadline)
        core.queue.leave(waiter)
      }
    } finally core.queue.leave(waiter)
    if (outcome == Outcome.INTERRUPTED) throw new InterruptedException()
    outcome == Outcome.READY
  }
}

object SharedSender {

  /** A shared sender of this endpoint, which is consumed: its session is closed by the senders, not by a scope that it was
    * in. Throws [[EndpointUsed]] if the endpoint was already used.
    */
  def apply[E <: SendEndpoint with Shareable](endpoint: E): SharedSender[E] = {
    val moving = new generated.Moving
    val moved = moving.take(endpoint)
    new SharedSender(new Core(moved))
  }

  private val Yields = 4

  private[duologue] sealed trait Attempt
  private[duologue] object Attempt {
    implicit val comparable: strict.Equality.Of[Attempt] = strict.Equality.any

    case object Sent extends Attempt
    case object Full extends Attempt
    /** There may be space: try again. */
    case object Again extends Attempt
  }

  /** A message that waits for space without blocking a thread. The queue removes a waiter before it wakes it, so one wake-up is
    * one attempt, and an attempt that has joined the queue does nothing afterwards.
    */
  private[duologue] final class Pending[E <: SendEndpoint with Shareable](
      core: Core[E],
      message: E => E,
      promise: Promise[Unit],
      executor: ExecutionContext
  ) extends Waiter {

    def attempt(): Unit = {
      // It may be that nothing else refers to the session while the user holds only the future.
      Side.SUSPENDED.add(this): Unit
      try {
        if (core.insist(message, this) == Attempt.Sent) complete(Success(()))
      } catch { case thrown: Throwable => complete(Failure(thrown)) }
    }

    def wake(): Unit = Handover.run(executor)(() => attempt())(refused => complete(Failure(refused)))

    private def complete(result: Try[Unit]): Unit = {
      Side.SUSPENDED.remove(this): Unit
      promise.tryComplete(result): Unit
    }
  }

  /** A wait for space that sends nothing. It refers to the session, which may be in use by nothing else. */
  private[duologue] final class Pause[E <: SendEndpoint with Shareable](val core: Core[E], callback: () => Unit) extends Waiter {
    private val isOver = new AtomicBoolean

    def wake(): Unit = if (isOver.compareAndSet(false, true)) {
      Side.SUSPENDED.remove(this): Unit
      callback()
    }
  }

  /** What the senders share. */
  private[duologue] final class Core[E <: SendEndpoint with Shareable](first: E) {
    private val side = first.$side
    /** Held for one message. A virtual thread that waits for it does not occupy its carrier. */
    private val lock = new ReentrantLock
    val queue = new SenderQueue
    val senders = new AtomicInteger(1)

    def place: String = Endpoint.place(first)

    override def toString: String = first.toString

    /** Sends if there is space. Otherwise `waiter`, unless it is null, is in the queue afterwards: `Full`. If space was found in
      * the meantime, it is not: `Again`.
      */
    def attempt(message: E => E, waiter: Waiter): Attempt = {
      var wakes = false
      lock.lock()
      try {
        val endpoint = live()
        if (!endpoint.$claim()) throw Endpoint.closed(first)
        val hasSpace = side.state.hasSpace()
        val waits = !hasSpace && waiter != null && queue.join(waiter, side.state)
        endpoint.$restore()
        if (hasSpace) {
          try message(endpoint): Unit
          finally wakes = !queue.isEmpty && settle()
          Attempt.Sent
        } else if (waits || waiter == null) Attempt.Full
        else Attempt.Again
      } finally {
        lock.unlock()
        // A callback may run in this thread, which must not happen in the middle of an attempt.
        if (wakes) queue.wake()
      }
    }

    /** Like `attempt`, until the message is sent or `waiter` waits. */
    @scala.annotation.tailrec
    def insist(message: E => E, waiter: Waiter): Attempt = attempt(message, waiter) match {
      case Attempt.Again => insist(message, waiter)
      case attempt       => attempt
    }

    /** The live endpoint. What `message` returned is not used for this: it may have failed between two messages, and a callback
      * that runs inside it may send too. Every endpoint of this state is like the first except for its turn.
      */
    private def live(): E = {
      val turn = side.turn
      if (turn < 0L) throw Endpoint.closed(first)
      first.$at(turn).asInstanceOf[E]
    }

    /** Stores the queue as the waiter for space again, because a message that waited for space by itself has replaced it with its
      * own waiter. Returns whether the queue has to be woken.
      */
    private def settle(): Boolean = {
      val turn = side.turn
      if (turn < 0L || !side.claim(turn)) true
      else {
        val hasSpace = queue.rejoin(side.state)
        side.restore(turn)
        hasSpace
      }
    }

    def leave(): Unit = {
      side.abandon()
      queue.wake()
    }
  }
}
