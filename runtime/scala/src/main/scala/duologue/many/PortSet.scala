package duologue

import java.util.Objects
import scala.concurrent.{Future, Promise}
import scala.concurrent.duration.FiniteDuration

/** Any number of receiving endpoints, from which messages are received as they arrive. Each endpoint is added with a value of
  * your choice, which is returned with the message, or with the report that the session is closed.
  *
  * {{{
  * val calls = PortSet[calculator.Ready, Caller]()
  * calls.add(server, caller)
  * while (calls.nonEmpty) calls.recv() match {
  *   case PortSet.Received(caller, message) => answer(caller, message)
  *   case PortSet.Closed(caller, _)         => forget(caller)
  * }
  * }}}
  *
  * Receiving a message removes its endpoint from the set. The next endpoint is in the message: add it to continue with the
  * session. Adding, removing and each form of receiving take constant time, regardless of the number of endpoints. An endpoint
  * that is added again is served after all others that have a message.
  *
  * `M` is the type of the messages. Endpoints of several states or protocols fit into one set if `M` is a common type of their
  * messages: a union in Scala 3, or `Any`. A pattern match distinguishes the messages.
  *
  * While an endpoint is in a set it cannot be used elsewhere. If its side is abandoned, the set reports it as closed. Only one
  * thread at a time may use a set, and none while a future or callback of the set is pending; otherwise `IllegalStateException`
  * is thrown.
  */
final class PortSet[M, A] private () extends AutoCloseable {
  import PortSet.Event

  private val ports = new Ports

  /** Adds an endpoint, and the value that is returned with its message. Throws [[EndpointUsed]] if the endpoint was already used
    * or is already in a set.
    */
  def add(endpoint: RecvEndpoint[M], value: A): Unit =
    if (!used(ports.add(endpoint, value))) throw Endpoint.used(endpoint)

  /** Removes an endpoint from the set and returns its value. The endpoint can then be used again. `None` means that it is not in
    * the set.
    */
  def remove(endpoint: RecvEndpoint[M]): Option[A] = used {
    Option(ports.find(endpoint)).map { member =>
      val value = member.value.asInstanceOf[A]
      ports.remove(member)
      value
    }
  }

  /** How many endpoints are in the set. */
  def size: Int = ports.size

  /** Whether the set is empty. */
  def isEmpty: Boolean = size == 0

  /** Whether the set is not empty. */
  def nonEmpty: Boolean = size != 0

  /** Waits for a message of any endpoint, or until a session is closed and everything that the peer sent has been received, and
    * removes that endpoint from the set. Throws `NoSuchElementException` at once if the set is empty, and `InterruptedException`
    * if the thread is interrupted first.
    */
  def recv(): Event[M, A] = {
    if (isEmpty) throw nothing
    receive(-1L) match {
      case Some(event) => event
      case None        => throw new AssertionError("a wait without a time limit has timed out")
    }
  }

  /** Like `recv`, but never waits. `None` means that nothing has arrived, or that the set is empty. */
  def tryRecv(): Option[Event[M, A]] = receive(0L)

  /** Like `recv`, but waits at most `timeout`. `None` means that nothing arrived in time, or that the set is empty; in the latter
    * case it is returned at once.
    */
  def recvWithin(timeout: FiniteDuration): Option[Event[M, A]] = receive(math.max(0L, timeout.toNanos))

  /** Like `recv`, without blocking a thread. The future is completed in the thread in which `recvThen` would call back. It
    * fails with `NoSuchElementException` if the set is empty.
    */
  def recvAsync(): Future[Event[M, A]] = {
    val promise = Promise[Event[M, A]]()
    if (isEmpty) promise.failure(nothing): Unit
    else recvThen(event => promise.success(event): Unit)
    promise.future
  }

  /** Calls back once with what `recv` would return, at once if it is available. Otherwise `callback` runs in the thread that
    * sends or closes the session or, occasionally in a long run, in the common pool of the Java library, so it must not wait. It
    * may use the set. What it throws goes to the uncaught exception handler of that thread. Throws `NoSuchElementException` if
    * the set is empty.
    */
  def recvThen(callback: Event[M, A] => Unit): Unit = {
    Objects.requireNonNull(callback, "callback"): Unit
    if (isEmpty) throw nothing
    ports.enter()
    ports.awaitThen { member =>
      val take = release(member)
      ports.exit()
      Handover.call(callback, take())
    }
  }

  /** For adapters: calls back once when `tryRecv` may return a message, or when the wait is given up. The set cannot be used until
    * then. Throws `NoSuchElementException` if the set is empty.
    */
  private[duologue] def whenReady(callback: () => Unit): Wait = {
    if (isEmpty) throw nothing
    ports.enter()
    val pause = ports.pause(() => callback())
    new Wait(() => pause.giveUp())
  }

  /** For adapters: whether `tryRecv` returns a message, or the report that a session is closed. */
  private[duologue] def isReady: Boolean = used(ports.next() != null)

  /** Abandons the sessions of all endpoints in the set, which is then empty. */
  override def close(): Unit = used(ports.clear()).forEach(endpoint => endpoint.$side.abandon())

  override def toString: String = "PortSet(" + size.toString + " endpoints)"

  private def nothing = new NoSuchElementException("there is no endpoint to wait for")

  private def used[R](operation: => R): R = {
    ports.enter()
    try operation
    finally ports.exit()
  }

  private def receive(nanos: Long): Option[Event[M, A]] = {
    val taken = used {
      var member = ports.next()
      var outcome = Outcome.READY
      val deadline = System.nanoTime() + nanos
      while (member == null && outcome == Outcome.READY && nonEmpty && nanos != 0L) {
        outcome = ports.await(if (nanos < 0L) nanos else math.max(0L, deadline - System.nanoTime()))
        member = ports.next()
      }
      if (member != null) {
        Side.reconcile(outcome): Unit
        Some(release(member))
      } else if (outcome == Outcome.INTERRUPTED) throw new InterruptedException()
      else None
    }
    taken.map(take => take())
  }

  /** Removes the member from the set. What is left to do does not need the set. */
  private def release(member: Ports.Member): () => Event[M, A] = {
    val endpoint = member.endpoint.asInstanceOf[RecvEndpoint[M]]
    val value = member.value.asInstanceOf[A]
    val left = member.left
    ports.release(member)
    () => endpoint.takeIn(left, owned = false) match {
      case Right(message) => PortSet.Received(value, message)
      case Left(why)      => PortSet.Closed(value, why)
    }
  }
}

object PortSet {

  /** Creates an empty set. */
  def apply[M, A](): PortSet[M, A] = new PortSet

  /** What a set reports about one of its endpoints. `value` is the one that was added with the endpoint. */
  sealed trait Event[+M, +A] {
    def value: A
  }

  /** A message, which carries the next endpoint. */
  final case class Received[+M, +A](value: A, message: M) extends Event[M, A]

  /** The peer has closed the session, and everything it sent has been received; or the endpoint's own side was abandoned. */
  final case class Closed[+A](value: A, why: SessionClosed) extends Event[Nothing, A]
}
