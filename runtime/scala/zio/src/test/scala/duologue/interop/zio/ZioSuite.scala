package duologue.interop.zio

import _root_.zio.{Exit, Promise, Runtime, Task, Unsafe, ZIO}
import _root_.zio.stream.ZStream
import duologue.interop.{End, Failed, FiberSuite, Stopped, Value, zio => adapter}
import duologue.{Endpoint, PortSet, RecvEndpoint, Select, SendEndpoint, SessionClosed, Shareable, SharedSender}
import java.util.concurrent.atomic.AtomicReference
import protocols.{bank, numbers}

/** Sessions in the fibers of ZIO. */
final class ZioSuite extends FiberSuite[Task] {
  protected type Fiber[A] = _root_.zio.Fiber[Throwable, A]

  protected def succeed(effect: Task[Unit]): Unit =
    Unsafe.unsafe { implicit unsafe => Runtime.default.unsafe.run(effect).getOrThrowFiberFailure() }
  protected def delay[A](body: => A): Task[A] = ZIO.attempt(body)
  protected def chain[A, B](first: Task[A])(next: A => Task[B]): Task[B] = first.flatMap(next)
  protected def attempt[A](effect: Task[A]): Task[Either[Throwable, A]] = effect.sandbox.either.map(_.left.map(_.squash))
  protected def cede: Task[Unit] = ZIO.yieldNow
  protected def start[A](effect: Task[A]): Task[Fiber[A]] = effect.fork
  protected def stop[A](fiber: Fiber[A]): Task[Unit] = fiber.interrupt.unit
  protected def end[A](fiber: Fiber[A]): Task[End[A]] = fiber.await.map {
    case Exit.Success(value) => Value(value)
    case Exit.Failure(cause) => if (cause.isInterrupted) Stopped() else Failed(cause.squash)
  }
  protected def masked[A, B](effect: Task[A])(next: A => Task[B]): Task[B] =
    ZIO.uninterruptibleMask(restore => restore(effect).flatMap(next))

  protected def inSession[S <: Endpoint, C <: Endpoint](init: => (S, C))(use: (S, C) => Task[Unit]): Task[Unit] =
    ZIO.scoped[Any](adapter.session(init).flatMap { case (server, client) => use(server, client) })
  protected def withService[S <: Endpoint, C <: Endpoint, A](init: => (S, C))(serve: S => Task[Unit])(use: C => Task[A]): Task[A] =
    ZIO.scoped[Any](adapter.service(init)(serve).flatMap(use))
  protected def ready(endpoint: Endpoint): Task[Unit] = adapter.ready(endpoint)
  protected def receive[M](endpoint: RecvEndpoint[M]): Task[M] = adapter.receive(endpoint)
  protected def receive[R](select: Select[R]): Task[R] = adapter.receive(select)
  protected def receive[M, A](set: PortSet[M, A]): Task[PortSet.Event[M, A]] = adapter.receive(set)
  protected def send[E <: SendEndpoint, R](endpoint: E)(message: E => R): Task[R] = adapter.send(endpoint)(message)
  protected def send[E <: SendEndpoint with Shareable](sender: SharedSender[E])(message: E => E): Task[Unit] = adapter.send(sender)(message)
  protected def sendAll[E <: SendEndpoint, A](endpoint: E, values: List[A])(message: (E, A) => E): Task[E] =
    ZStream.fromIterable(values).run(adapter.sendSink(endpoint)(message))
  protected def sendFailing(endpoint: numbers.client.Stream, values: List[Long], failure: Throwable): Task[Unit] =
    (ZStream.fromIterable(values) ++ ZStream.fail(failure)).run(adapter.sendSink(endpoint)((to, value: Long) => to.send(value))).unit
  protected def receiveAll[M, A](endpoint: RecvEndpoint[M])(each: M => (A, Option[RecvEndpoint[M]])): Task[(List[A], Option[Throwable])] =
    adapter.receiveStream(endpoint)(each).either.runCollect.map(all => (all.toList.flatMap(_.toOption), all.toList.flatMap(_.left.toOption).headOption))
  protected def receiveFirst[M, A](endpoint: RecvEndpoint[M])(each: M => (A, Option[RecvEndpoint[M]])): Task[List[A]] =
    adapter.receiveStream(endpoint)(each).chunks.runHead.map(_.toList.flatten)

  override protected def stray: Int = 8

  test("a service's side is left when it ends or fails, and it can be interrupted inside")(succeed {
    def asked(serving: _root_.zio.IO[String, Unit]) = ZIO.scoped[Any] {
      adapter.service(bank.init())(_ => serving).flatMap(client => ZIO.attempt(client.login("holk", "1234")).flatMap(adapter.receive(_)).either)
    }
    for {
      ended <- asked(ZIO.unit)
      failed <- asked(ZIO.fail("no"))
      stopped <- Promise.make[Nothing, Boolean]
      _ <- ZIO.scoped[Any](adapter.service(bank.init())(_ => ZIO.never.fork.flatMap(_.interrupt).flatMap(exit => stopped.succeed(exit.isInterrupted))))
      interrupted <- stopped.await
    } yield assert(ended.isLeft && failed.isLeft && interrupted)
  })

  test("a fiber that is interrupted while it sends where nothing interrupts has the next endpoint, or has its own still")(succeed {
    def round(number: Int): _root_.zio.IO[SessionClosed, Boolean] = {
      val (server, client) = numbers.init()
      val kept = new AtomicReference(Option.empty[numbers.client.Stream])
      val sending = ZIO.uninterruptibleMask { restore =>
        restore(adapter.ready(client)) *> adapter.send(client)(_.send(number.toLong)).flatMap(next => ZIO.succeed(kept.set(Some(next))))
      }
      for {
        // Some never get to the send, some always do, and the others have some time for it.
        sender <- (ZIO.when(number % 10 == 3)(ZIO.never) *> sending).fork
        _ <- ZIO.yieldNow.repeatN(number % 7)
        _ <- ZIO.when(number % 10 == 4)(sender.await)
        _ <- sender.interrupt
        has = kept.get.nonEmpty
        next <- if (has) ZIO.succeed(kept.get.get) else adapter.send(client)(_.send(number.toLong))
        _ = next.send(0L)
        first <- adapter.receive(server)
        second <- adapter.receive(first.next)
      } yield {
        assertEquals((first.value, second.value), (number.toLong, 0L))
        has
      }
    }
    ZIO.foreach((1 to 20000).toList)(round).map(had => assert(had.contains(true) && had.contains(false)))
  })
}
