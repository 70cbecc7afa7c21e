package duologue

import _root_.zio.{IO, Scope, ZIO}
import java.util.concurrent.CompletableFuture

/** Sessions in ZIO: what would wait is an effect, and occupies no thread. Using an endpoint twice is a defect.
  *
  * Interruption loses nothing. A wait that is interrupted leaves the endpoint as it was before. `receive` takes the message in its last
  * step, and no interrupt comes between this and what `receive` was combined with: the endpoint has the message still, or
  * the function of `flatMap` or `map` is called with it, or it is the fiber's result. Whoever has to do something with the message in
  * any case does it where nothing interrupts: `ZIO.uninterruptibleMask(restore => restore(endpoint.receive).flatMap(keep))`.
  */
package object zio {

  /** A new session, both of whose sides are left at the end of the scope, however it ends and wherever they are then. What either side has
    * not read by then is destroyed: where a fiber of its own serves the one side, it may not hear the last messages of the other, nor how the
    * session ended. That is what [[service]] is for.
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

  /** A new session, one side of which is served by a fiber of its own. The other side is left at the end of the scope; the server reads what
    * was sent to it up to there, and leaves its side when `serve` ends, however it does. The fiber belongs to no scope: nobody interrupts it,
    * and what `serve` fails with is logged as ZIO does with fibers that nobody joins.
    *
    * {{{
    * ZIO.scoped(service(bank.init())(serve).flatMap(client => ...))
    * }}}
    */
  def service[R, S <: Endpoint, C <: Endpoint](init: => (S, C))(serve: S => ZIO[R, Any, Any]): ZIO[R with Scope, Nothing, C] =
    ZIO.acquireRelease(ZIO.succeed(init).flatMap { case (server, client) =>
      // A fiber begins as uninterruptible as this is.
      ZIO.interruptible(ZIO.suspendSucceed(serve(server))).ensuring(ZIO.succeed(abandon(server))).forkDaemon.as(client)
    })(client => ZIO.succeed(abandon(client)))

  /** Waits until an operation on `endpoint` would not wait, and uses nothing up. */
  def ready(endpoint: Endpoint): IO[SessionClosed, Unit] = ZIO.asyncInterrupt { continue =>
    val over = new CompletableFuture[Unit]
    val wait = whenReady(endpoint) { outcome =>
      continue(ZIO.fromEither(outcome))
      over.complete(()): Unit
    }
    Left(ZIO.succeed(wait.end()) *> ZIO.fromCompletableFuture(over).orDie)
  }

  /** Receives the message, which carries the next endpoint. Fails if the peer has left and everything it sent has been read. */
  def receive[M](endpoint: RecvEndpoint[M]): IO[SessionClosed, M] =
    ready(endpoint) *> ZIO.suspendSucceed {
      // No effect may follow the one that takes the message: where one effect follows another, an interrupt drops what the first gave.
      try {
        if (endpoint.hasMessage) ZIO.succeed(endpoint.recvSeen()) else ZIO.fromEither(endpoint.recvOrClosed())
      } catch { case _: EndpointUsed if wasLeft(endpoint) => ZIO.fail(Endpoint.closed(endpoint)) }
    }

  /** Sends by `message` when there is room, which only a run without bound can be short of. Fails if the peer has left. An interrupt
    * that comes when the message was sent drops the next endpoint, as it drops any result; inside of a region where nothing
    * interrupts, it does not: `ZIO.uninterruptibleMask(restore => restore(ready(client)) *> send(client)(_.ping()).flatMap(keep))`.
    */
  def send[E <: SendEndpoint, R](endpoint: E)(message: E => R): IO[SessionClosed, R] = ZIO.uninterruptibleMask { restore =>
    restore(ready(endpoint)) *> ZIO.attempt(message(endpoint)).refineToOrDie[SessionClosed]
  }

  implicit final class Receiving[M](private val endpoint: RecvEndpoint[M]) extends AnyVal {

    /** As [[zio.receive]]. */
    def receive: IO[SessionClosed, M] = zio.receive(endpoint)
  }
}
