package duologue

import duologue.protocols.{log, stream}
import java.util.concurrent.{ConcurrentLinkedQueue, RejectedExecutionException}
import scala.concurrent.{Await, ExecutionContext, Future}
import scala.concurrent.duration._
import scala.util.control.ControlThrowable
import scala.util.{Failure, Try}

/** The exception that the callbacks of [[ForeignSuite]] throw. */
final class Broken extends RuntimeException("a callback throws")

/** Executors that reject work, callbacks that throw, and `null`: they harm only the code that supplied them. */
final class ForeignSuite extends RuntimeSuite {

  private def refuse(): Nothing = throw new RejectedExecutionException("no more")

  /** Like a pool that was shut down. */
  private object dead extends ExecutionContext {
    def execute(task: Runnable): Unit = refuse()
    def reportFailure(cause: Throwable): Unit = ()
  }

  private def refused[T](future: Future[T]): Unit =
    intercept[RejectedExecutionException](Await.result(future, 1.minute)): Unit

  /** What this thread's uncaught exception handler receives while `body` runs. */
  private def reported(body: => Unit): List[Throwable] = {
    val thread = Thread.currentThread
    val before = thread.getUncaughtExceptionHandler
    val caught = new ConcurrentLinkedQueue[Throwable]()
    thread.setUncaughtExceptionHandler((_, thrown) => caught.add(thrown): Unit)
    try body
    finally thread.setUncaughtExceptionHandler(before)
    caught.toArray(Array.empty[Throwable]).toList
  }

  private def breaks(body: => Unit): Unit = reported(body) match {
    case List(_: Broken) => ()
    case other           => fail(other.toString)
  }

  test("an executor that refuses to send costs the receiver nothing, and the endpoint can be used again") {
    val (server, client) = stream.init[Int]()
    val full = filled(client)
    val sent = sendAsync(full)(_.send(1))(dead)
    assert(!sent.isCompleted)
    val rest = drained(server, 255)
    refused(sent)
    full.send(2): Unit
    assertEquals(number(rest.recv()), 2)
  }

  test("an executor that refuses a shared message costs neither the receiver nor the other senders anything") {
    val (server, client) = log.init()
    val sender = SharedSender(client)
    while (sender.trySend(_.line(9, 9))) ()
    val sent = sender.sendAsync(_.line(1, 1))(dead)
    val waiting = new Beside(sender.send(_.line(2, 2)))
    waiting.asleep()
    val more = sender.sendAsync(_.line(3, 3))(ExecutionContext.parasitic)
    var receiving = server
    var heard = List.empty[Int]
    for (_ <- 1 to 257) receiving.recv() match {
      case log.Log.Line(from, _, next) =>
        heard = from :: heard
        receiving = next
      case other => fail(other.toString)
    }
    refused(sent)
    Await.result(more, 1.minute)
    waiting.join()
    assertEquals(heard.take(2).sorted, List(2, 3))
    assertEquals(receiving.tryRecv(), None)
  }

  test("an executor that refuses a select's handler costs the sender nothing, and no message is lost") {
    for (first <- List(true, false)) {
      val (server, client) = stream.init[Int]()
      val (other, _) = stream.init[Int]()
      val sending = if (first) client.send(7) else client
      val selected = Select(server.on(number(_)), other.on(number(_))).recvAsync()(dead)
      val next = if (first) sending else sending.send(7)
      refused(selected)
      val rest = drained(server, 1)
      next.send(8): Unit
      assertEquals(number(rest.recv()), 8)
      assertEquals(other.tryRecv(), None)
    }
  }

  test("an executor that refuses the news that a side has left leaves the news") {
    for (own <- List(true, false)) {
      val (server, client) = stream.init[Int]()
      val selected = Select(server.on(number(_))).recvAsync()(dead)
      if (own) abandon(server) else abandon(client)
      refused(selected)
      if (own) used(server.recv()) else closed(server.recv())
    }
  }

  test("work that an executor rejected is not done, even if the executor runs it anyway") {
    object lying extends ExecutionContext {
      val kept = new ConcurrentLinkedQueue[Runnable]()
      def execute(task: Runnable): Unit = {
        kept.add(task): Unit
        refuse()
      }
      def reportFailure(cause: Throwable): Unit = ()
    }
    val (server, client) = stream.init[Int]()
    val selected = Select(server.on(number(_))).recvAsync()(lying)
    client.send(7): Unit
    refused(selected)
    lying.kept.poll().run()
    assertEquals(number(server.recv()), 7)
  }

  test("a handler that throws whatever it likes fails the future") {
    // `Try` does not catch any of these.
    val thrown = List[Throwable](new InterruptedException, new LinkageError, new ControlThrowable {}, new StackOverflowError)
    for (each <- thrown) {
      val (server, client) = stream.init[Int]()
      val selected = Select(server.on(_ => throw each)).recvAsync()(ExecutionContext.parasitic)
      client.send(7): Unit
      selected.value match {
        case Some(Failure(failure)) => assert((failure eq each) || (failure.getCause eq each), failure.toString)
        case other                  => fail(other.toString)
      }
    }
  }

  test("a callback that throws is reported, and the sender continues") {
    def thrower[T]: T => Unit = _ => throw new Broken
    val waits = List[Server => Unit](
      server => server.recvThen(thrower),
      server => Select(server.on(number(_))).readyThen(thrower),
      server => whenReady(server)(thrower): Unit,
      server => {
        val set = PortSet[stream.Stream[Int], Int]()
        set.add(server, 1)
        set.recvThen(thrower)
      }
    )
    for (wait <- waits; first <- List(true, false)) {
      val (server, client) = stream.init[Int]()
      var sending = client
      breaks {
        if (first) sending = sending.send(1)
        wait(server)
        if (!first) sending = sending.send(1)
      }
      sending.send(2): Unit
    }
    val (server, client) = stream.init[Int]()
    breaks(whenReady(server)(thrower).end())
    client.send(7): Unit
    assertEquals(number(server.recv()), 7)
  }

  test("a callback that throws does not keep others from learning that a side has closed the session") {
    val (outerServer, outerClient) = stream.init[Server]()
    val clients = List.fill(3) {
      val (server, client) = stream.init[Int]()
      (server, filled(client))
    }
    clients.foldLeft(outerClient) { case (outer, (server, _)) => outer.send(server) }: Unit
    var told = 0
    for ((_, client) <- clients) whenReady(client) { _ =>
      told += 1
      throw new Broken
    }: Unit
    assertEquals(reported(abandon(outerServer)).size, 3)
    assertEquals(told, 3)
  }

  test("`null` is rejected where it is passed, and nothing is consumed") {
    val (server, client) = stream.init[Int]()
    def nothing(body: => Any): Unit = intercept[NullPointerException](body): Unit
    nothing(server.recvThen(null))
    nothing(server.recvWithin(null))
    nothing(server.on[Int](null))
    nothing(server.onOrClosed[Int](null))
    nothing(server.on(number(_)).map[Int](null))
    nothing(Select(server.on(number(_))).readyThen(null))
    nothing(Select(server.on(number(_)), null).tryRecv())
    nothing(whenReady(server)(null))
    nothing(Select.writable[Client, Int](client)(null))
    nothing(Select(server.on(number(_)), Select.writable(null: Client)(_ => 1)).tryRecv())
    nothing(PortSet[stream.Stream[Int], Int]().add(null, 1))
    val sent = filled(client)
    val failing = sendAsync(sent)(_.send(1))(null)
    val rest = drained(server, 255)
    nothing(Await.result(failing, 1.minute))
    assert(Try(sent.send(2)).isSuccess)
    assertEquals(number(rest.recv()), 2)
    nothing({
      val set = PortSet[stream.Stream[Int], Int]()
      set.add(stream.init[Int]()._1, 1)
      set.recvThen(null)
    })
  }
}
