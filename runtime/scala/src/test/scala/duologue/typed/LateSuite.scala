package duologue

import duologue.protocols.stream
import java.lang.ref.WeakReference
import java.util.concurrent.atomic.AtomicInteger
import scala.concurrent.{Await, ExecutionContext}
import scala.concurrent.duration._

/** Futures, endpoints that are forgotten, and two threads at full speed. */
final class LateSuite extends RuntimeSuite {

  private implicit val parasitic: ExecutionContext = ExecutionContext.parasitic

  test("a future is complete at once if the message is there") {
    val (server, client) = stream.init[Int]()
    client.send(1): Unit
    assert(server.recvAsync().isCompleted)
  }

  test("a future is completed by the thread that sends") {
    val (server, client) = stream.init[Int]()
    val received = server.recvAsync()
    used(server.tryRecv())
    assert(!received.isCompleted)
    val sender = Thread.currentThread
    val completing = received.map(_ => Thread.currentThread)
    client.send(1): Unit
    assertEquals(Await.result(completing, 1.minute), sender)
  }

  test("a future fails if a side leaves") {
    for (own <- List(true, false)) {
      val (server, client) = stream.init[Int]()
      val received = server.recvAsync()
      if (own) abandon(server) else abandon(client)
      assert(intercept[SessionClosed](Await.result(received, 1.minute)).state == "stream")
    }
  }

  test("futures and threads exchange 100,000 messages") {
    val (server, client) = stream.init[Int]()
    def sum(server: stream.server.Stream[Int], so: Long): scala.concurrent.Future[Long] =
      server.recvAsync().flatMap {
        case stream.Stream.Send(value, next) => sum(next, so + value)
        case stream.Stream.Swap(next)        => sum(next.swapped(), so)
        case stream.Stream.Stop()            => scala.concurrent.Future.successful(so)
      }
    val total = sum(server, 0L)
    var sending = client
    for (i <- 1 to 100000) {
      sending = sending.send(i)
      if (i % 7 == 0) sending.swap().recv() match { case stream.Back.Swapped(next) => sending = next }
    }
    sending.stop()
    assertEquals(Await.result(total, 1.minute), 5000050000L)
  }

  test("a forgotten endpoint closes its session after garbage collection") {
    def forgetful(): stream.server.Stream[Int] = {
      val (server, client) = stream.init[Int]()
      client.send(1): Unit
      server
    }
    val next = forgetful().recv() match {
      case stream.Stream.Send(_, next) => next
      case other                       => fail(other.toString)
    }
    var over = false
    collectUntil {
      if (!over) over = try next.tryRecv().nonEmpty catch { case _: SessionClosed => true }
      over
    }
  }

  test("garbage collection wakes a thread and completes a future that wait for a forgotten endpoint") {
    def waiting(): (Beside, scala.concurrent.Future[Any]) = {
      val (first, _) = stream.init[Int]()
      val (second, _) = stream.init[Int]()
      (new Beside(closed(first.recv()): Unit), second.recvAsync())
    }
    val (beside, received) = waiting()
    collectUntil(!beside.thread.isAlive && received.isCompleted)
    beside.join()
    closed(Await.result(received, 1.minute))
  }

  test("an endpoint in an unread message of a forgotten session is found too") {
    def forgetful(): stream.client.Stream[Int] = {
      val (server, client) = stream.init[Int]()
      val (_, outer) = stream.init[stream.server.Stream[Int]]()
      outer.send(server): Unit
      client
    }
    sendUntilClosed(forgetful())
  }

  test("a session that is forgotten in a set is garbage, also after a long run") {
    def forgotten(): WeakReference[AnyRef] = {
      val (server, client) = stream.init[Int]()
      var sending = client
      var receiving = server
      for (number <- 1 to 60) sending = sending.send(number)
      for (_ <- 1 to 60) receiving.recv() match {
        case stream.Stream.Send(_, next) => receiving = next
        case other                       => fail(other.toString)
      }
      val set = PortSet[stream.Stream[Int], Int]()
      set.add(receiving, 1): Unit
      assert(set.tryRecv().isEmpty)
      new WeakReference(receiving.$side.state.flags)
    }
    val signs = List.fill(20)(forgotten())
    collectUntil(signs.forall(_.get == null))
  }

  test("the runtime keeps no class loader when its sessions are over or forgotten") {
    /** A class loader that loads the runtime and the tests itself, and everything else from its parent. */
    final class Own(all: ClassLoader, locations: Array[java.net.URL]) extends java.net.URLClassLoader(locations, all) {
      override def loadClass(name: String, resolves: Boolean): Class[_] =
        if (name.startsWith("duologue.")) Option(findLoadedClass(name)).getOrElse(findClass(name)) else super.loadClass(name, resolves)
    }
    def load(): WeakReference[ClassLoader] = {
      val locations = Array[Class[_]](classOf[Endpoint], classOf[LateSuite]).map(_.getProtectionDomain.getCodeSource.getLocation)
      val own = new Own(getClass.getClassLoader, locations)
      val sessions = own.loadClass("duologue.Sessions")
      assert(sessions.getClassLoader eq own)
      sessions.getMethod("run").invoke(null): Unit
      new WeakReference(own)
    }
    val loaders = List.fill(10)(load())
    collectUntil(loaders.forall(_.get == null))
  }

  test("two threads alternate and stream 200,000 messages without losing one") {
    val (server, client) = stream.init[Int]()
    val beside = new Beside({
      var sending = client
      for (i <- 1 to 200000) {
        sending = sending.send(i)
        if (i % 3 == 0 || i % 1000 < 100) sending.swap().recv() match { case stream.Back.Swapped(next) => sending = next }
      }
      sending.stop()
    })
    def receive(server: stream.server.Stream[Int], expected: Int): Int = server.recv() match {
      case stream.Stream.Send(value, next) =>
        if (value != expected) fail(value.toString + " instead of " + expected.toString)
        receive(next, expected + 1)
      case stream.Stream.Swap(next) => receive(next.swapped(), expected)
      case stream.Stream.Stop()     => expected
    }
    assertEquals(receive(server, 1), 200001)
    beside.join()
  }

  test("no side waits forever when its peer closes at any moment") {
    val heard = new AtomicInteger()
    for (round <- 1 to 5000) {
      val (server, client) = stream.init[stream.server.Stream[Int]]()
      val (inner, peer) = stream.init[Int]()
      val beside = new Beside({
        var sending = client
        try {
          sending = sending.send(inner)
          for (_ <- 0 until round % 100) sending = sending.send(stream.init[Int]()._1)
          abandon(sending)
        } catch { case _: SessionClosed => heard.incrementAndGet(): Unit }
      })
      var receiving = server
      try
        for (_ <- 0 until round % 7) receiving.recv() match {
          case stream.Stream.Send(value, next) =>
            abandon(value)
            receiving = next
          case other => fail(other.toString)
        }
      catch { case _: SessionClosed => heard.incrementAndGet(): Unit }
      abandon(receiving)
      beside.join()
      abandon(inner)
      closed(peer.send(1))
    }
    assert(heard.get > 0)
  }
}

/** What [[LateSuite]] runs in a class loader of its own. */
object Sessions {

  /** Sessions that end, are closed, and are forgotten by one side and by both. */
  def run(): Unit = for (_ <- 1 to 10) {
    stream.init[Int]()._2.stop()
    val (server, client) = stream.init[Int]()
    client.send(1): Unit
    abandon(server)
    val other = stream.init[Int]()._1.recvAsync()
    while (!other.isCompleted) {
      System.gc()
      Thread.sleep(1)
    }
  }
}
