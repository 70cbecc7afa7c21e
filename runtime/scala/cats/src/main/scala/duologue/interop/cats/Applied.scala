package duologue
package interop
package cats

import _root_.cats.effect.{Async, Resource, Sync}
import _root_.cats.syntax.all._
import _root_.fs2.{Chunk, Pipe, Stream}

// The functions of the package object, after the effect's type has been given: the compiler infers the other types.

final class NewSession[F[_]] private[interop] () {
  def apply[S <: Endpoint, C <: Endpoint](init: => (S, C))(implicit F: Sync[F]): Resource[F, (S, C)] =
    Resource.make(F.delay(init)) { case (server, client) =>
      F.delay {
        abandon(server)
        abandon(client)
      }
    }
}

final class NewService[F[_]] private[interop] () {
  def apply[S <: Endpoint, C <: Endpoint](init: => (S, C))(serve: S => F[Unit])(implicit F: Async[F]): Resource[F, C] =
    Resource.make(F.delay(init).flatMap { case (server, client) =>
      val served = F.guarantee(F.defer(serve(server)), F.delay(abandon(server)))
      F.start(served.handleErrorWith(failure => F.executionContext.flatMap(context => F.delay(context.reportFailure(failure))))).as(client)
    })(client => F.delay(abandon(client)))
}

final class Receive[F[_]] private[interop] () {
  def apply[M](endpoint: RecvEndpoint[M])(implicit F: Async[F]): F[M] = ready(endpoint) *> last(endpoint)(endpoint.recv())

  /** Receives from the first endpoint of a select that is ready, and returns what its handler returns. A canceled wait leaves all
    * endpoints as they were. If the handlers return effects, continue with `flatten`.
    */
  def apply[R](select: Select[R])(implicit F: Async[F]): F[R] =
    until[F, R](continue => select.whenReady(continue))(select.peek().map(_._2))

  /** Receives a message of any endpoint of the set. A canceled wait leaves the set as it was. Fails with
    * `NoSuchElementException` if the set is empty.
    */
  def apply[M, A](set: PortSet[M, A])(implicit F: Async[F]): F[PortSet.Event[M, A]] =
    until[F, PortSet.Event[M, A]](continue => set.whenReady(continue))(Option.when(set.isReady)(() => set.tryRecv().get))
}

final class ReceiveOrClosed[F[_]] private[interop] () {
  def apply[M](endpoint: RecvEndpoint[M])(implicit F: Async[F]): F[Either[SessionClosed, M]] =
    receive[F](endpoint).attemptNarrow[SessionClosed]
}

final class Send[F[_]] private[interop] () {
  def apply[E <: SendEndpoint, R](endpoint: E)(message: E => R)(implicit F: Async[F]): F[R] =
    ready(endpoint) *> last(endpoint)(message(endpoint))

  /** Sends with a shared sender when there is space. A canceled wait sends nothing. */
  def apply[E <: SendEndpoint with Shareable](sender: SharedSender[E])(message: E => E)(implicit F: Async[F]): F[Unit] =
    F.delay(if (!sender.trySend(message)) throw Handover.NotYet).recoverWith { case _: Handover.NotYet.type =>
      pause[F](continue => sender.whenSpace(continue)) *> apply(sender)(message)
    }
}

final class SendOrClosed[F[_]] private[interop] () {
  def apply[E <: SendEndpoint, R](endpoint: E)(message: E => R)(implicit F: Async[F]): F[Either[SessionClosed, R]] =
    send[F](endpoint)(message).attemptNarrow[SessionClosed]
}

final class ReceiveStream[F[_]] private[interop] () {
  def apply[M, A](endpoint: RecvEndpoint[M])(each: M => (A, Option[RecvEndpoint[M]]))(implicit F: Async[F]): Stream[F, A] =
    owned(endpoint) { isOver =>
      Stream.unfoldChunkEval[F, Option[RecvEndpoint[M]], A](Some(endpoint)) {
        case None => F.pure(None)
        case Some(endpoint) =>
          ready(endpoint) *> last(endpoint) {
            val (values, next) = endpoint.gather(Most)(each)
            if (next.isEmpty) isOver.set(true)
            Option((Chunk.from(values), next))
          }
      }
    }
}

final class SendPipe[F[_]] private[interop] () {
  def apply[E <: SendEndpoint, A](endpoint: E)(message: (E, A) => E)(implicit F: Async[F]): Pipe[F, A, E] = values =>
    owned(endpoint) { isOver =>
      val sends = values.chunks.evalScan(endpoint)((endpoint, chunk) => sendAll[F, E, A](endpoint, chunk)(message))
      sends.last.unNone.evalTap(_ => F.delay(isOver.set(true)))
    }
}
