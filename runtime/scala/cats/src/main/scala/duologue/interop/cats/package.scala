package duologue
package interop

import _root_.cats.effect.{Async, Sync}
import _root_.cats.syntax.all._
import _root_.fs2.{Chunk, Stream}
import java.util.concurrent.CompletableFuture
import java.util.concurrent.atomic.AtomicBoolean

/** Sessions in cats-effect: operations that would wait are effects, and occupy no thread. Effects fail with [[SessionClosed]],
  * and with [[EndpointUsed]].
  *
  * Cancellation loses nothing. A wait that is canceled leaves the endpoint as it was before. `receive` takes the message in its
  * last step, and `send` sends in its last step, and a fiber is not canceled between that step and what they were combined with:
  * the endpoint is as it was, or the function of `flatMap` or `map` is called with the result, or it is the fiber's result. Code
  * that has to process the result in any case does so in an uncancelable region:
  * `IO.uncancelable(poll => poll(receive[IO](endpoint)).flatMap(keep))`.
  *
  * Only the effect's type is written, as in `receive[IO](endpoint)`; the compiler infers the others.
  */
package object cats {

  /** A new session. Both sides are closed at the end of the resource's use, however it ends and whatever states they are in. What
    * either side has not received by then is destroyed: a fiber that serves one side may miss the last messages of the other
    * side, and how the session ended. Use [[service]] in that case.
    *
    * {{{
    * session[IO](bank.init()).use { case (server, client) => ... }
    * }}}
    */
  def session[F[_]]: NewSession[F] = new NewSession[F]

  /** A new session, one side of which is served by a fiber of its own. The other side is closed at the end of the resource's use.
    * The server can receive everything that was sent to it by then, and its side is closed when `serve` ends, however it ends.
    * The fiber is not canceled, and a failure of `serve` is reported to the execution context.
    *
    * {{{
    * service[IO](bank.init())(serve).use(client => ...)
    * }}}
    */
  def service[F[_]]: NewService[F] = new NewService[F]

  /** Waits until an operation on `endpoint` would not wait. The endpoint is not consumed. Fails if its own side is abandoned in
    * the meantime.
    */
  def ready[F[_]](endpoint: Endpoint)(implicit F: Async[F]): F[Unit] =
    asynchronous[F](continue => whenReady(endpoint)(continue))

  /** Receives the message, which carries the next endpoint. Fails if the session is closed and everything that the peer sent has
    * been received. Also receives from a select or a port set.
    */
  def receive[F[_]]: Receive[F] = new Receive[F]

  /** Like [[receive]], with [[SessionClosed]] as a value. */
  def receiveOrClosed[F[_]]: ReceiveOrClosed[F] = new ReceiveOrClosed[F]

  /** Sends with `message` when there is space, which only an unbounded run can lack. Fails if the peer has closed the session. Also
    * sends with a shared sender. In a state in which sending never waits, `IO(client.login("holk", "1234"))` does the same.
    */
  def send[F[_]]: Send[F] = new Send[F]

  /** Like [[send]], with [[SessionClosed]] as a value. */
  def sendOrClosed[F[_]]: SendOrClosed[F] = new SendOrClosed[F]

  /** A run of messages as a stream. `each` takes a message apart: into a value of the stream, and the endpoint to continue with, or
    * `None` if this message is the last one. The stream fails with [[SessionClosed]] if the session is closed before that; if the
    * peer ends the run by closing the session, recover with `handleErrorWith`.
    *
    * {{{
    * receiveStream[IO](counting) {
    *   case Counting.Count(word, n, next) => (Right(word -> n), Some(next))
    *   case Counting.Done(totals)         => (Left(totals), None)
    * }
    * }}}
    *
    * The stream owns the endpoint: if it ends before the last message, its side of the session is closed. Messages that have
    * arrived together are one chunk.
    */
  def receiveStream[F[_]]: ReceiveStream[F] = new ReceiveStream[F]

  /** Sends every value of a stream with `message`, which leads back to the same state, and waits for space where there is none. The
    * result is a stream of one value, the endpoint to continue with.
    *
    * {{{
    * Stream.range(0, 1000).through(sendPipe[IO](client)((client, value: Int) => client.send(value.toLong))).compile.lastOrError
    * }}}
    *
    * The pipe owns the endpoint: if the stream fails or is interrupted, its side of the session is closed.
    */
  def sendPipe[F[_]]: SendPipe[F] = new SendPipe[F]

  implicit final class Receiving[M](private val endpoint: RecvEndpoint[M]) extends AnyVal {

    /** See [[cats.receive]]. */
    def receive[F[_]](implicit F: Async[F]): F[M] = cats.receive[F](endpoint)
  }

  private[cats] def sendAll[F[_], E <: SendEndpoint, A](endpoint: E, values: Chunk[A])(message: (E, A) => E)(implicit F: Async[F]): F[E] =
    if (values.isEmpty) F.pure(endpoint)
    else
      ready(endpoint) *> last(endpoint) {
        var next = endpoint
        var sent = 0
        while (sent < values.size && (sent == 0 || hasSpace(next))) {
          next = message(next, values(sent))
          sent += 1
        }
        (next, values.drop(sent))
      }.flatMap { case (next, rest) => sendAll(next, rest)(message) }

  /** A stream that closes the side of `endpoint` when it ends, unless it has set the variable. */
  private[cats] def owned[F[_], A](endpoint: Endpoint)(stream: AtomicBoolean => Stream[F, A])(implicit F: Sync[F]): Stream[F, A] =
    Stream.suspend {
      val isOver = new AtomicBoolean
      stream(isOver).onFinalize(F.delay(if (!isOver.get) abandon(endpoint)))
    }

  /** The most messages in a chunk. */
  private[cats] val Most = 256

  /** Uses an endpoint that was ready. Fails with [[SessionClosed]] if its side was abandoned in the meantime. */
  private[cats] def last[F[_], R](endpoint: Endpoint)(use: => R)(implicit F: Async[F]): F[R] = F.delay {
    try use
    catch { case _: EndpointUsed if wasLeft(endpoint) => throw Endpoint.closed(endpoint) }
  }

  /** Waits until there is something to take. The function says how. */
  private[cats] def until[F[_], R](wait: (() => Unit) => Wait)(peek: => Option[() => R])(implicit F: Async[F]): F[R] =
    pause[F](wait) *> F.defer {
      peek match {
        case Some(take) => F.delay(take())
        case None       => until(wait)(peek)
      }
    }

  private[cats] def pause[F[_]](wait: (() => Unit) => Wait)(implicit F: Async[F]): F[Unit] =
    asynchronous[F](continue => wait(() => continue(Right(()))))

  /** An effect that ends when `start` calls back, and that can be canceled until then. */
  private[cats] def asynchronous[F[_]](start: (Either[Throwable, Unit] => Unit) => Wait)(implicit F: Async[F]): F[Unit] = F.async { continue =>
    F.delay {
      val over = new CompletableFuture[Unit]
      val wait = start { outcome =>
        continue(outcome)
        over.complete(()): Unit
      }
      Some(F.delay(wait.end()) *> F.fromCompletableFuture(F.pure(over)))
    }
  }
}
