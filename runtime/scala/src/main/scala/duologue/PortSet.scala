package duologue

import java.util.Objects
import scala.concurrent.{Future, Promise}
import scala.concurrent.duration.FiniteDuration

/** Any number of receiving endpoints, from which messages are received as they come. Every endpoint comes with a value of the
  * program's own, which is given back with the message, or with the news that the peer has left.
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
  * A message takes its endpoint out of the set; the endpoint that follows is in the message, and to hear of the session again, add
  * that one. Adding, removing and each form of receiving take constant time, however many endpoints there are. An endpoint that
  * comes back has its turn behind all others that have something to say.
  *
  * `M` is the type of the messages. Endpoints of several states or protocols fit into one set of a common type of theirs: a union
  * in Scala 3, or `Any`; a pattern match tells their messages apart.
  *
  * While an endpoint is in a set it cannot be used otherwise. If its side is left, the set reports it as closed. One thread at a
  * time may use a set, and none while a future of it is pending: `IllegalStateException` otherwise.
  */
final class PortSet[M, A] private () extends AutoCloseable {
  import PortSet.Event

  private val ports = new Ports

  /** Adds an endpoint, and the value that comes back with its message. Throws [[EndpointUsed]] if it was used before or is in a
    * set already.
    */
  def add(endpoint: RecvEndpoint[M], value: A): Unit =
    if (!used(ports.add(endpoint, value))) throw Endpoint.used(endpoint)

  /** Takes an endpoint out again and gives its value. The endpoint can then be used. `None`: it is not in the set. */
  def remove(endpoint: RecvEndpoint[M]): Option[A] = used {
    Option(ports.find(endpoint)).map { member =>
      val value = member.value.asInstanceOf[A]
      ports.remove(member)
      value
    }
  }

  /** How many endpoints are in the set. */
  def size: Int = ports.size

  def isEmpty: Boolean = size == 0

  def nonEmpty: Boolean = size != 0

  /** Waits for a message of any endpoint, or for the news that a peer has left and everything it sent has been read, and takes
    * that endpoint out. Throws `NoSuchElementException` at once if the set is empty, and `InterruptedException` if the thread is
    * interrupted first.
    */
  def recv(): Event[M, A] = {
    if (isEmpty) throw nothing
    receive(-1L) match {
      case Some(event) => event
      case None        => throw new AssertionError("a wait without limit has ended")
    }
  }

  /** As `recv`, but never waits. `None`: nothing has come, or the set is empty. */
  def tryRecv(): Option[Event[M, A]] = receive(0L)

  /** As `recv`, but waits no longer than `timeout`. `None`: nothing came, or the set is empty, and then at once. */
  def recvWithin(timeout: FiniteDuration): Option[Event[M, A]] = receive(math.max(0L, timeout.toNanos))

  /** As `recv`, without a thread that waits. The future is completed by the thread that sends. */
  def recvAsync(): Future[Event[M, A]] = {
    val promise = Promise[Event[M, A]]()
    if (isEmpty) promise.failure(nothing): Unit
    else recvThen(event => promise.success(event): Unit)
    promise.future
  }

  /** Calls back with what `recv` gives: once, and at once if it is there. The caller is the thread that sends, so `callback` must
    * not wait. What it throws goes to the handler of uncaught exceptions of that thread. It may use the set. Throws
    * `NoSuchElementException` if the set is empty.
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

  /** Leaves the sessions of all endpoints in the set, which is then empty. */
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
      var outcome = Side.Outcome.READY
      val deadline = System.nanoTime() + nanos
      while (member == null && outcome == Side.Outcome.READY && nonEmpty && nanos != 0L) {
        outcome = ports.await(if (nanos < 0L) nanos else math.max(0L, deadline - System.nanoTime()))
        member = ports.next()
      }
      if (member != null) {
        Side.reconcile(outcome): Unit
        Some(release(member))
      } else if (outcome == Side.Outcome.INTERRUPTED) throw new InterruptedException()
      else None
    }
    taken.map(take => take())
  }

  /** Makes the place free; what is left to do needs the set no longer. */
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

  /** An empty set. */
  def apply[M, A](): PortSet[M, A] = new PortSet

  /** What a set hears of one of its endpoints; `value` is the one that was added with it. */
  sealed trait Event[+M, +A] {
    def value: A
  }

  /** A message, which carries the next endpoint. */
  final case class Received[+M, +A](value: A, message: M) extends Event[M, A]

  /** The peer has left, and everything it sent has been read; or the endpoint's own side was left. */
  final case class Closed[+A](value: A, why: SessionClosed) extends Event[Nothing, A]
}
