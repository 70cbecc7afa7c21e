package duologue
package interop

import _root_.zio.{Chunk, IO, Scope, UIO, ZIO}
import _root_.zio.stream.{ZSink, ZStream}
import java.util.concurrent.CompletableFuture
import java.util.concurrent.atomic.AtomicBoolean

/** Sessions in ZIO: operations that would wait are effects, and occupy no thread. Using an endpoint twice is a defect.
  *
  * Interruption loses nothing. A wait that is interrupted leaves the endpoint as it was before. `receive` takes the message in
  * its last step, and no interruption comes between that step and what `receive` was combined with: the endpoint still has the
  * message, or the function of `flatMap` or `map` is called with it, or it is the fiber's result. Code that has to process the
  * message in any case does so in an uninterruptible region:
  * `ZIO.uninterruptibleMask(restore => restore(endpoint.receive).flatMap(keep))`.
  */
package object zio {

  /** A new session. Both sides are closed at the end of the scope, however it ends and whatever states they are in. What either
    * side has not received by then is destroyed: a fiber that serves one side may miss the last messages of the other side, and
    * how the session ended. Use [[service]] in that case.
    *
    * {{{
    * ZIO.scoped(session(bank.init()).flatMap { case (server, client) => ... })
    * }}}
    */
  def session[S <: Endpoint, C <: Endpoint](init: => (S, C)): ZIO[Scope, Nothing, (S, C)] =
    ZIO.acquireRelease(ZIO.succeed(init)) { case (server, client) =>
      ZIO.succeed {
        abandon(server)
        abandon(client)
      }
    }

  /** A new session, one side of which is served by a fiber of its own. The other side is closed at the end of the scope. The
    * server can receive everything that was sent to it by then, and its side is closed when `serve` ends, however it ends. The
    * fiber belongs to no scope: it is not interrupted, and a failure of `serve` is logged, as ZIO does with fibers that are not
    * joined.
    *
    * {{{
    * ZIO.scoped(service(bank.init())(serve).flatMap(client => ...))
    * }}}
    */
  def service[R, S <: Endpoint, C <: Endpoint](init: => (S, C))(serve: S => ZIO[R, Any, Any]): ZIO[R with Scope, Nothing, C] =
    ZIO.acquireRelease(ZIO.succeed(init).flatMap { case (server, client) =>
      // A fiber inherits interruptibility, and this region is uninterruptible.
      ZIO.interruptible(ZIO.suspendSucceed(serve(server))).ensuring(ZIO.succeed(abandon(server))).forkDaemon.as(client)
    })(client => ZIO.succeed(abandon(client)))

  /** Waits until an operation on `endpoint` would not wait. The endpoint is not consumed. Fails if its own side is abandoned in
    * the meantime.
    */
  def ready(endpoint: Endpoint): IO[SessionClosed, Unit] =
    asynchronous(continue => whenReady(endpoint)(outcome => continue(ZIO.fromEither(outcome))))

  /** Receives the message, which carries the next endpoint. Fails if the session is closed and everything that the peer sent has
    * been received.
    */
  def receive[M](endpoint: RecvEndpoint[M]): IO[SessionClosed, M] =
    ready(endpoint) *> ZIO.suspendSucceed {
      // No effect may follow the one that takes the message: between two effects, an interruption drops the result of the first.
      try {
        if (endpoint.hasMessage) ZIO.succeed(endpoint.recvSeen()) else ZIO.fromEither(endpoint.recvOrClosed())
      } catch { case _: EndpointUsed if wasLeft(endpoint) => ZIO.fail(Endpoint.closed(endpoint)) }
    }

  /** Receives from the first endpoint of a select that is ready, and returns what its handler returns. An interrupted wait leaves all
    * endpoints as they were. If the handlers return effects, continue with `flatten`.
    */
  def receive[R](select: Select[R]): IO[SessionClosed, R] =
    until(continue => select.whenReady(continue))(select.peek())

  /** Receives a message of any endpoint of the set. An interrupted wait leaves the set as it was. An empty set is a defect. */
  def receive[M, A](set: PortSet[M, A]): IO[SessionClosed, PortSet.Event[M, A]] =
    until(continue => set.whenReady(continue))(Option.when(set.isReady)(true -> (() => set.tryRecv().get)))

  /** A run of messages as a stream. `each` takes a message apart: into a value of the stream, and the endpoint to continue with, or
    * `None` if this message is the last one. The stream fails with [[SessionClosed]] if the session is closed before that; if the
    * peer ends the run by closing the session, recover with `catchAll(_ => ZStream.empty)`.
    *
    * {{{
    * receiveStream(counting) {
    *   case Counting.Count(word, n, next) => (Right(word -> n), Some(next))
    *   case Counting.Done(totals)         => (Left(totals), None)
    * }
    * }}}
    *
    * The stream owns the endpoint: if it ends before the last message, its side of the session is closed. Messages that have
    * arrived together are one chunk.
    */
  def receiveStream[M, A](endpoint: RecvEndpoint[M])(each: M => (A, Option[RecvEndpoint[M]])): ZStream[Any, SessionClosed, A] =
    ZStream.suspend {
      val isOver = new AtomicBoolean
      val chunks = ZStream.paginateChunkZIO(endpoint) { endpoint =>
        ready(endpoint) *> taken(endpoint) {
          val (values, next) = endpoint.gather(Most)(each)
          if (next.isEmpty) isOver.set(true)
          (Chunk.fromIterable(values), next)
        }
      }
      chunks.ensuring(leaves(endpoint, isOver))
    }

  /** Sends every value of a stream with `message`, which leads back to the same state, and waits for space where there is none. The
    * result is the endpoint to continue with.
    *
    * {{{
    * ZStream.range(0, 1000).run(sendSink(client)((client, value: Int) => client.send(value.toLong)))
    * }}}
    *
    * The sink owns the endpoint: if the stream fails or is interrupted, its side of the session is closed.
    */
  def sendSink[E <: SendEndpoint, A](endpoint: E)(message: (E, A) => E): ZSink[Any, SessionClosed, A, Nothing, E] =
    ZSink.unwrapScoped[Any] {
      val isOver = new AtomicBoolean
      val sends = ZSink.foldLeftChunksZIO[Any, SessionClosed, A, E](endpoint)((endpoint, values) => sendAll(endpoint, values)(message))
      val whole = sends.mapZIO(next => ZIO.succeed(isOver.set(true)).as(next))
      ZIO.addFinalizer(leaves(endpoint, isOver)).as(whole)
    }

  private def sendAll[E <: SendEndpoint, A](endpoint: E, values: Chunk[A])(message: (E, A) => E): IO[SessionClosed, E] =
    if (values.isEmpty) ZIO.succeed(endpoint)
    else
      ready(endpoint) *> taken(endpoint) {
        var next = endpoint
        var sent = 0
        while (sent < values.length && (sent == 0 || hasSpace(next))) {
          next = message(next, values(sent))
          sent += 1
        }
        (next, values.drop(sent))
      }.flatMap { case (next, rest) => sendAll(next, rest)(message) }

  private def leaves(endpoint: Endpoint, isOver: AtomicBoolean): UIO[Unit] =
    ZIO.succeed(if (!isOver.get) abandon(endpoint))

  /** The most messages in a chunk. */
  private val Most = 256

  /** Waits until there is something to take. The function says how, and whether it is a message. */
  private def until[R](wait: (() => Unit) => Wait)(peek: => Option[(Boolean, () => R)]): IO[SessionClosed, R] =
    pause(wait) *> ZIO.suspendSucceed {
      peek match {
        // No effect may follow the one that takes a message, as in `receive`.
        case Some((true, take))  => ZIO.succeed(take())
        case Some((false, take)) => sendNow(take())
        case None                => until(wait)(peek)
      }
    }

  private def pause(wait: (() => Unit) => Wait): IO[SessionClosed, Unit] =
    asynchronous(continue => wait(() => continue(ZIO.unit)))

  /** An effect that ends when `start` calls back, and that can be interrupted until then. */
  private def asynchronous(start: (IO[SessionClosed, Unit] => Unit) => Wait): IO[SessionClosed, Unit] = ZIO.asyncInterrupt { continue =>
    val over = new CompletableFuture[Unit]
    try {
      val wait = start { outcome =>
        continue(outcome)
        over.complete(()): Unit
      }
      Left(ZIO.succeed(wait.end()) *> ZIO.fromCompletableFuture(over).orDie)
    } catch { case closed: SessionClosed => Right(ZIO.fail(closed)) }
  }

  /** Uses an endpoint that was ready. */
  private def taken[R](endpoint: Endpoint)(use: => R): IO[SessionClosed, R] = ZIO.suspendSucceed {
    try {
      val result = use
      ZIO.succeed(result)
    } catch {
      case closed: SessionClosed                => ZIO.fail(closed)
      case _: EndpointUsed if wasLeft(endpoint) => ZIO.fail(Endpoint.closed(endpoint))
    }
  }

  /** Sends a message in a state in which sending never waits: `sendNow(client.login("holk", "1234"))`. Fails if the peer has closed
    * the session.
    */
  def sendNow[R](message: => R): IO[SessionClosed, R] = ZIO.attempt(message).refineToOrDie[SessionClosed]

  /** Sends with a shared sender when there is space. An interrupted wait sends nothing. */
  def send[E <: SendEndpoint with Shareable](sender: SharedSender[E])(message: E => E): IO[SessionClosed, Unit] =
    ZIO.uninterruptibleMask { restore =>
      sendNow(sender.trySend(message)).flatMap { sent =>
        if (sent) ZIO.unit else restore(pause(continue => sender.whenSpace(continue))) *> restore(send(sender)(message))
      }
    }

  /** Sends with `message` when there is space, which only an unbounded run can lack. Fails if the peer has closed the session. An
    * interruption that comes after the message was sent drops the next endpoint, as it drops any result. In an uninterruptible
    * region it does not: `ZIO.uninterruptibleMask(restore => restore(ready(client)) *> send(client)(_.ping()).flatMap(keep))`.
    */
  def send[E <: SendEndpoint, R](endpoint: E)(message: E => R): IO[SessionClosed, R] = ZIO.uninterruptibleMask { restore =>
    restore(ready(endpoint)) *> ZIO.attempt(message(endpoint)).refineToOrDie[SessionClosed]
  }

  implicit final class Receiving[M](private val endpoint: RecvEndpoint[M]) extends AnyVal {

    /** See [[zio.receive]]. */
    def receive: IO[SessionClosed, M] = zio.receive(endpoint)
  }

  implicit final class Selecting[R](private val select: Select[R]) extends AnyVal {

    /** See [[zio.receive]]. */
    def receive: IO[SessionClosed, R] = zio.receive(select)
  }

  implicit final class Collecting[M, A](private val set: PortSet[M, A]) extends AnyVal {

    /** See [[zio.receive]]. */
    def receive: IO[SessionClosed, PortSet.Event[M, A]] = zio.receive(set)
  }
}
