package duologue

import _root_.zio.{IO, Scope, ZIO}
import java.util.concurrent.CompletableFuture

/** Sessions in ZIO: what would wait is an effect, and occupies no thread. Using an endpoint twice is a defect.
  *
  * Interrupting a wait loses nothing: the endpoint is as it was before, and the message that comes is still there. A fiber that is
  * given up in the moment in which it has received drops the message, as it drops any result; `session` leaves what is then open, and
  * who cannot bear that waits by `ready` and receives outside of what may be given up.
  */
package object zio {

  /** A new session, both of whose sides are left at the end of the scope, however it ends and wherever they are then.
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
  def receive[M](endpoint: RecvEndpoint[M]): IO[SessionClosed, M] = ZIO.uninterruptibleMask { restore =>
    restore(ready(endpoint)) *> ZIO.suspendSucceed(ZIO.fromEither(endpoint.recvOrClosed()))
  }

  /** Sends by `message` when there is room, which only a run without bound can be short of. Fails if the peer has left. */
  def send[E <: SendEndpoint, R](endpoint: E)(message: E => R): IO[SessionClosed, R] = ZIO.uninterruptibleMask { restore =>
    restore(ready(endpoint)) *> ZIO.attempt(message(endpoint)).refineToOrDie[SessionClosed]
  }

  implicit final class Receiving[M](private val endpoint: RecvEndpoint[M]) extends AnyVal {

    /** As [[zio.receive]]. */
    def receive: IO[SessionClosed, M] = zio.receive(endpoint)
  }
}
