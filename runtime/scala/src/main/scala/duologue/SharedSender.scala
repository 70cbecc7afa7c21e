package duologue

import java.util.concurrent.atomic.{AtomicBoolean, AtomicInteger}
import java.util.concurrent.locks.ReentrantLock
import scala.concurrent.{ExecutionContext, Future, Promise}
import scala.concurrent.duration.FiniteDuration
import scala.util.{Failure, Success, Try}

/** One sending endpoint for many senders, in states whose messages all lead back to the state.
  *
  * {{{
  * val sender = SharedSender(client)
  * val another = sender.share()
  * sender.send(_.deposit(100.0))
  * }}}
  *
  * The messages of one sender arrive in the order in which it sent them. Each sender may be used by any number of threads.
  * The session is left when the last sender is closed, or after the garbage collector has found all of them.
  *
  * A message is given as a function of the endpoint, which runs while no other sender sends, so it should do nothing else. It
  * may send several messages in a row; if there is no room for all of them, the other senders wait with it.
  *
  * All forms throw [[SessionClosed]] if the peer has left or the last sender was closed meanwhile, `IllegalStateException` if
  * this sender was closed, and what `message` throws.
  */
final class SharedSender[E <: SendEndpoint with Shareable] private (core: SharedSender.Core[E]) extends AutoCloseable {
  import SharedSender.Attempt

  private val closed = new AtomicBoolean

  /** Sends; waits while there is no room, and lets others send meanwhile. Throws `InterruptedException` if the thread is
    * interrupted before.
    */
  def send(message: E => E): Unit = sends(message, -1L): Unit

  /** Sends if there is room; false if there is none. Never waits for room. */
  def trySend(message: E => E): Boolean = {
    open()
    core.attempt(message, null) == Attempt.Sent
  }

  /** As `send`, but waits no longer than `timeout`; false if there was no room. */
  def sendWithin(timeout: FiniteDuration)(message: E => E): Boolean = sends(message, math.max(0L, timeout.toNanos))

  /** As `send`, without a thread that waits. If there is room, `message` runs at once, otherwise later in `executor`. If that refuses, the
    * future fails with what it threw, and nothing was sent. If `message` sends several, it waits in `executor` for the room of the later ones:
    * then that must not be an executor that runs work in the thread that receives, which would wait for itself.
    */
  def sendAsync(message: E => E)(implicit executor: ExecutionContext): Future[Unit] = {
    open()
    val promise = Promise[Unit]()
    new SharedSender.Pending(core, message, promise, executor).attempt()
    promise.future
  }

  /** Another sender of the same endpoint, which has to be closed as well. */
  def share(): SharedSender[E] = {
    open()
    core.senders.incrementAndGet(): Unit
    new SharedSender(core)
  }

  /** Gives this sender up; the last one leaves the session. Nothing happens if it was closed before. */
  override def close(): Unit =
    if (closed.compareAndSet(false, true) && core.senders.decrementAndGet() == 0) core.leave()

  override def toString: String = "SharedSender(" + core.place + ")"

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
    var outcome = Side.Outcome.READY
    try {
      while (outcome == Side.Outcome.READY && core.insist(message, waiter) == Attempt.Full) {
        outcome = Side.park(waiter, core, nanos, deadline)
        core.crowd.leave(waiter)
      }
    } finally core.crowd.leave(waiter)
    if (outcome == Side.Outcome.INTERRUPTED) throw new InterruptedException()
    outcome == Side.Outcome.READY
  }
}

object SharedSender {

  /** A shared sender of this endpoint, which is used up: the senders close its session, no scope it was in. */
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
    /** There may be room: try again. */
    case object Again extends Attempt
  }

  /** A message that waits for room without a thread. The crowd lets go of a waiter before it wakes it, so one wake is one attempt,
    * and the attempt that joined does nothing afterwards.
    */
  private[duologue] final class Pending[E <: SendEndpoint with Shareable](
      core: Core[E],
      message: E => E,
      promise: Promise[Unit],
      executor: ExecutionContext
  ) extends Waiter {

    def attempt(): Unit = {
      // Nothing else may refer to the session while the user only holds the future.
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

  /** What the senders share. */
  private[duologue] final class Core[E <: SendEndpoint with Shareable](first: E) {
    private val side = first.$side
    /** Held for one message. A virtual thread that waits for it does not keep its carrier. */
    private val lock = new ReentrantLock
    val crowd = new Crowd
    val senders = new AtomicInteger(1)

    def place: String = Endpoint.place(first)

    /** Sends if there is room. Otherwise `waiter`, if there is one, is in the crowd afterwards: Full. */
    def attempt(message: E => E, waiter: Waiter): Attempt = {
      var wakes = false
      lock.lock()
      try {
        val endpoint = live()
        if (!side.claim(endpoint)) throw Endpoint.closed(first)
        val room = side.seat.hasRoom()
        val waits = !room && waiter != null && crowd.join(waiter, side.seat)
        side.restore(endpoint)
        if (room) {
          try message(endpoint): Unit
          finally wakes = !crowd.isEmpty && settle()
          Attempt.Sent
        } else if (waits || waiter == null) Attempt.Full
        else Attempt.Again
      } finally {
        lock.unlock()
        // In this thread others may go on, which is not for the middle of an attempt.
        if (wakes) crowd.wake()
      }
    }

    /** As `attempt`, until it was sent or `waiter` waits. */
    @scala.annotation.tailrec
    def insist(message: E => E, waiter: Waiter): Attempt = attempt(message, waiter) match {
      case Attempt.Again => insist(message, waiter)
      case attempt       => attempt
    }

    /** The live endpoint. What `message` gave back is not asked: it may have failed between two messages, and a callback that runs
      * inside it may send, too. Every endpoint of this state is like the first but for its turn.
      */
    private def live(): E = {
      val turn = side.turn
      if (turn < 0L) throw Endpoint.closed(first)
      first.$at(turn).asInstanceOf[E]
    }

    /** A message that waited for room by itself has put its own waiter in the crowd's place. Says whether there is something to do
      * for the crowd.
      */
    private def settle(): Boolean = {
      val turn = side.turn
      if (turn < 0L || !side.claim(first.$at(turn))) true
      else {
        val room = crowd.rejoin(side.seat)
        side.restore(first.$at(turn))
        room
      }
    }

    def leave(): Unit = {
      side.abandon()
      crowd.wake()
    }
  }
}
