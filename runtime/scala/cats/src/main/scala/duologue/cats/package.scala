package duologue

import _root_.cats.effect.{Async, Resource, Sync}
import _root_.cats.syntax.all._
import java.util.concurrent.CompletableFuture

/** Sessions in cats-effect: what would wait is an effect, and occupies no thread. Effects fail with [[SessionClosed]], and with
  * [[EndpointUsed]].
  *
  * Cancelling loses nothing. A wait that is cancelled leaves the endpoint as it was before. `receive` takes the message in its last step,
  * and `send` sends in its last step, and a fiber is not cancelled between this and what they were combined with: the endpoint
  * is as it was, or the function of `flatMap` or `map` is called with the result, or it is the fiber's result. Whoever has to do
  * something with it in any case does it where nothing cancels: `F.uncancelable(poll => poll(receive(endpoint)).flatMap(keep))`.
  */
package object cats {

  /** A new session, both of whose sides are left at the end, however it ends and wherever they are then. What either side has not read by then
    * is destroyed: where a fiber of its own serves the one side, it may not hear the last messages of the other, nor how the session ended.
    * That is what [[service]] is for.
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

  /** A new session, one side of which is served by a fiber of its own. The other side is left at the end of the resource's use; the server
    * reads what was sent to it up to there, and leaves its side when `serve` ends, however it does. Nobody cancels the fiber, and what
    * `serve` fails with is reported to the execution context.
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

  /** Waits until an operation on `endpoint` would not wait, and uses nothing up. */
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

  /** Receives the message, which carries the next endpoint. Fails if the peer has left and everything it sent has been read. */
  def receive[F[_], M](endpoint: RecvEndpoint[M])(implicit F: Async[F]): F[M] =
    ready(endpoint) *> last(endpoint)(endpoint.recv())

  /** Sends by `message` when there is room, which only a run without bound can be short of. Fails if the peer has left. */
  def send[F[_], E <: SendEndpoint, R](endpoint: E)(message: E => R)(implicit F: Async[F]): F[R] =
    ready(endpoint) *> last(endpoint)(message(endpoint))

  /** The use of an endpoint that was ready. If its side was left meanwhile, the session is closed. */
  private def last[F[_], R](endpoint: Endpoint)(use: => R)(implicit F: Async[F]): F[R] = F.delay {
    try use
    catch { case _: EndpointUsed if wasLeft(endpoint) => throw Endpoint.closed(endpoint) }
  }
}
