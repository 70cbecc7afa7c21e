package duologue
package interop

import _root_.zio.{IO, Scope, ZIO}
import java.util.concurrent.CompletableFuture

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
  def ready(endpoint: Endpoint): IO[SessionClosed, Unit] = ZIO.asyncInterrupt { continue =>
    val over = new CompletableFuture[Unit]
    val wait = whenReady(endpoint) { outcome =>
      continue(ZIO.fromEither(outcome))
      over.complete(()): Unit
    }
    Left(ZIO.succeed(wait.end()) *> ZIO.fromCompletableFuture(over).orDie)
  }

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
}
