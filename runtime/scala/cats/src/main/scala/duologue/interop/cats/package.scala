package duologue
package interop

import _root_.cats.effect.{Async, Resource, Sync}
import _root_.cats.syntax.all._
import java.util.concurrent.CompletableFuture

/** Sessions in cats-effect: operations that would wait are effects, and occupy no thread. Effects fail with [[SessionClosed]],
  * and with [[EndpointUsed]].
  *
  * Cancellation loses nothing. A wait that is canceled leaves the endpoint as it was before. `receive` takes the message in its
  * last step, and `send` sends in its last step, and a fiber is not canceled between that step and what they were combined with:
  * the endpoint is as it was, or the function of `flatMap` or `map` is called with the result, or it is the fiber's result. Code
  * that has to process the result in any case does so in an uncancelable region:
  * `F.uncancelable(poll => poll(receive(endpoint)).flatMap(keep))`.
  */
package object cats {

  /** A new session. Both sides are closed at the end of the resource's use, however it ends and whatever states they are in. What
    * either side has not received by then is destroyed: a fiber that serves one side may miss the last messages of the other
    * side, and how the session ended. Use [[service]] in that case.
    *
    * {{{
    * session[IO, bank.server.Login, bank.client.Login](bank.init()).use { case (server, client) => ... }
    * }}}
    */
  def session[F[_], S <: Endpoint, C <: Endpoint](init: => (S, C))(implicit F: Sync[F]): Resource[F, (S, C)] =
    Resource.make(F.delay(init)) { case (server, client) =>
      F.delay {
        abandon(server)
        abandon(client)
      }
    }

  /** A new session, one side of which is served by a fiber of its own. The other side is closed at the end of the resource's use.
    * The server can receive everything that was sent to it by then, and its side is closed when `serve` ends, however it ends.
    * The fiber is not canceled, and a failure of `serve` is reported to the execution context.
    *
    * {{{
    * service[IO, bank.server.Login, bank.client.Login](bank.init())(serve).use(client => ...)
    * }}}
    */
  def service[F[_], S <: Endpoint, C <: Endpoint](init: => (S, C))(serve: S => F[Unit])(implicit F: Async[F]): Resource[F, C] =
    Resource.make(F.delay(init).flatMap { case (server, client) =>
      val served = F.guarantee(F.defer(serve(server)), F.delay(abandon(server)))
      F.start(served.handleErrorWith(failure => F.executionContext.flatMap(context => F.delay(context.reportFailure(failure))))).as(client)
    })(client => F.delay(abandon(client)))

  /** Waits until an operation on `endpoint` would not wait. The endpoint is not consumed. Fails if its own side is abandoned in
    * the meantime.
    */
  def ready[F[_]](endpoint: Endpoint)(implicit F: Async[F]): F[Unit] = F.async { continue =>
    F.delay {
      val over = new CompletableFuture[Unit]
      val wait = whenReady(endpoint) { outcome =>
        continue(outcome)
        over.complete(()): Unit
      }
      Some(F.delay(wait.end()) *> F.fromCompletableFuture(F.pure(over)))
    }
  }

  /** Receives the message, which carries the next endpoint. Fails if the session is closed and everything that the peer sent has
    * been received.
    */
  def receive[F[_], M](endpoint: RecvEndpoint[M])(implicit F: Async[F]): F[M] =
    ready(endpoint) *> last(endpoint)(endpoint.recv())

  /** Sends with `message` when there is space, which only an unbounded run can lack. Fails if the peer has closed the session. */
  def send[F[_], E <: SendEndpoint, R](endpoint: E)(message: E => R)(implicit F: Async[F]): F[R] =
    ready(endpoint) *> last(endpoint)(message(endpoint))

  /** Uses an endpoint that was ready. Fails with [[SessionClosed]] if its side was abandoned in the meantime. */
  private def last[F[_], R](endpoint: Endpoint)(use: => R)(implicit F: Async[F]): F[R] = F.delay {
    try use
    catch { case _: EndpointUsed if wasLeft(endpoint) => throw Endpoint.closed(endpoint) }
  }
}
