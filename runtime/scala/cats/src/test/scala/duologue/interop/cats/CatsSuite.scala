package duologue.interop.cats

import _root_.cats.effect.unsafe.IORuntime
import _root_.cats.effect.{FiberIO, IO, Outcome}
import _root_.cats.syntax.all._
import _root_.fs2.Stream
import duologue.interop.{End, Failed, FiberSuite, Stopped, Value, cats => adapter}
import duologue.{Endpoint, EndpointUsed, PortSet, RecvEndpoint, Select, SendEndpoint, SessionClosed, Shareable, SharedSender, abandon}
import java.util.concurrent.atomic.AtomicReference
import protocols.{bank, numbers}

/** Sessions in the fibers of cats-effect. */
final class CatsSuite extends FiberSuite[IO] {
  protected type Fiber[A] = FiberIO[A]

  private implicit val runtime: IORuntime = IORuntime.global

  protected def succeed(effect: IO[Unit]): Unit = effect.unsafeRunSync()
  protected def delay[A](body: => A): IO[A] = IO(body)
  protected def chain[A, B](first: IO[A])(next: A => IO[B]): IO[B] = first.flatMap(next)
  protected def attempt[A](effect: IO[A]): IO[Either[Throwable, A]] = effect.attempt
  protected def cede: IO[Unit] = IO.cede
  protected def start[A](effect: IO[A]): IO[Fiber[A]] = effect.start
  protected def stop[A](fiber: Fiber[A]): IO[Unit] = fiber.cancel
  protected def end[A](fiber: Fiber[A]): IO[End[A]] = fiber.join.flatMap {
    case Outcome.Succeeded(effect) => effect.map(Value(_))
    case Outcome.Errored(thrown)   => IO.pure(Failed(thrown))
    case Outcome.Canceled()        => IO.pure(Stopped())
  }
  protected def masked[A, B](effect: IO[A])(next: A => IO[B]): IO[B] = IO.uncancelable(poll => poll(effect).flatMap(next))

  protected def inSession[S <: Endpoint, C <: Endpoint](init: => (S, C))(use: (S, C) => IO[Unit]): IO[Unit] =
    adapter.session[IO](init).use { case (server, client) => use(server, client) }
  protected def withService[S <: Endpoint, C <: Endpoint, A](init: => (S, C))(serve: S => IO[Unit])(use: C => IO[A]): IO[A] =
    adapter.service[IO](init)(serve).use(use)
  protected def ready(endpoint: Endpoint): IO[Unit] = adapter.ready[IO](endpoint)
  protected def receive[M](endpoint: RecvEndpoint[M]): IO[M] = adapter.receive[IO](endpoint)
  protected def receive[R](select: Select[R]): IO[R] = adapter.receive[IO](select)
  protected def receive[M, A](set: PortSet[M, A]): IO[PortSet.Event[M, A]] = adapter.receive[IO](set)
  protected def send[E <: SendEndpoint, R](endpoint: E)(message: E => R): IO[R] = adapter.send[IO](endpoint)(message)
  protected def send[E <: SendEndpoint with Shareable](sender: SharedSender[E])(message: E => E): IO[Unit] = adapter.send[IO](sender)(message)
  protected def sendAll[E <: SendEndpoint, A](endpoint: E, values: List[A])(message: (E, A) => E): IO[E] =
    Stream.emits(values).through(adapter.sendPipe[IO](endpoint)(message)).compile.lastOrError
  protected def sendFailing(endpoint: numbers.client.Stream, values: List[Long], failure: Throwable): IO[Unit] =
    (Stream.emits(values) ++ Stream.raiseError[IO](failure))
      .through(adapter.sendPipe[IO](endpoint)((to, value: Long) => to.send(value))).compile.drain
  protected def receiveAll[M, A](endpoint: RecvEndpoint[M])(each: M => (A, Option[RecvEndpoint[M]])): IO[(List[A], Option[Throwable])] =
    adapter.receiveStream[IO](endpoint)(each).attempt.compile.toList.map(all => (all.flatMap(_.toOption), all.flatMap(_.left.toOption).headOption))
  protected def receiveFirst[M, A](endpoint: RecvEndpoint[M])(each: M => (A, Option[RecvEndpoint[M]])): IO[List[A]] =
    adapter.receiveStream[IO](endpoint)(each).chunks.head.compile.lastOrError.map(_.toList)

  test("a service's side is left when it ends or fails, and what it fails with is reported")(succeed {
    def asked(serving: IO[Unit]) = adapter.service[IO](bank.init())(_ => serving).use { client =>
      IO(client.login("holk", "1234")).flatMap(adapter.receive[IO](_)).attempt
    }
    val failure = new RuntimeException("no")
    val reported = new AtomicReference(Option.empty[Throwable])
    val context = new scala.concurrent.ExecutionContext {
      def execute(task: Runnable): Unit = scala.concurrent.ExecutionContext.global.execute(task)
      def reportFailure(cause: Throwable): Unit = reported.set(Some(cause))
    }
    for {
      ended <- asked(IO.unit)
      failed <- asked(IO.raiseError(failure)).evalOn(context)
      _ <- IO.cede.whileM_(IO(reported.get.isEmpty))
    } yield {
      assert(ended.isLeft && failed.isLeft)
      assertEquals(reported.get, Some(failure): Option[Throwable])
    }
  })

  test("a fiber that is cancelled while it sends has the next endpoint, or has its own still")(succeed {
    type Client = numbers.client.Stream
    def round(number: Int): IO[Boolean] = {
      val (server, client) = numbers.init()
      val kept = new AtomicReference(Option.empty[Client])
      val sends = adapter.send[IO](client)(_.send(number.toLong))
      val sending =
        if (number % 2 == 0) sends.flatMap { next =>
          kept.set(Some(next))
          IO.unit
        }
        else IO.uncancelable(poll => poll(sends).flatMap(next => IO(kept.set(Some(next)))))
      for {
        // Some never get to the send, some always do, and the others have some time for it.
        sender <- (IO.never[Unit].whenA(number % 10 == 3) *> sending).start
        _ <- IO.cede.replicateA_(number % 7)
        _ <- sender.join.whenA(number % 10 == 4)
        _ <- sender.cancel
        has = kept.get.nonEmpty
        next <- if (has) IO.pure(kept.get.get) else sends
        _ = next.send(0L)
        first <- adapter.receive[IO](server)
        second <- adapter.receive[IO](first.next)
      } yield {
        assertEquals((first.value, second.value), (number.toLong, 0L))
        has
      }
    }
    (1 to 20000).toList.traverse(round).map(had => assert(had.contains(true) && had.contains(false)))
  })

  test("a closed session is a value, where that is wanted")(succeed {
    val (server, client) = numbers.init()
    for {
      sent <- adapter.sendOrClosed[IO](client)(_.send(1L))
      received <- adapter.receiveOrClosed[IO](server)
      next <- IO.fromEither(received).map(_.next)
      _ = abandon(next)
      refused <- adapter.sendOrClosed[IO](sent.fold(closed => throw closed, next => next))(_.send(2L))
      (other, leaving) = numbers.init()
      _ = abandon(leaving)
      over <- adapter.receiveOrClosed[IO](other)
      used <- adapter.sendOrClosed[IO](client)(_.send(1L)).attempt
    } yield {
      assertEquals((received.map(_.value), refused.isLeft, over.isLeft), (Right(1L): Either[SessionClosed, Long], true, true))
      assert(used.left.exists(_.isInstanceOf[EndpointUsed]))
    }
  })
}
