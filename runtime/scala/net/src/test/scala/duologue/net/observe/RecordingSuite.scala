package duologue.net

import duologue.{Recording, Why, abandon}
import java.nio.file.{Files, Path}
import java.util.concurrent.ConcurrentLinkedQueue
import java.util.concurrent.atomic.AtomicInteger
import protocols.{bank, stream}
import scala.concurrent.duration.DurationLong
import scala.jdk.CollectionConverters.CollectionHasAsScala

/** Monitors, and which sessions are recorded: in a process that was started with the property `duologue.record`. */
final class RecordingSuite extends NetSuite {

  override def beforeEach(context: BeforeEach): Unit = assert(Recording.isOn, "start it with -Dduologue.record=FILE")

  override def afterEach(context: AfterEach): Unit = Recording.monitorWith(new Recording.Monitor {})

  private def log(): String = {
    Recording.flush()
    Files.readString(Path.of(System.getProperty("duologue.record")))
  }

  test("health checks are not recorded, and monitors do not see them") {
    val seen = new ConcurrentLinkedQueue[String]
    Recording.monitorWith(new Recording.Monitor {
      override def allows(event: Recording.Event): Either[String, Unit] = {
        seen.add(event.protocol): Unit
        Right(())
      }
      override def happened(event: Recording.Event): Unit = seen.add(event.protocol): Unit
    })
    val listener = Listener(freshAddress()).serve(bank.server)(login => abandon(login)).health(new Health).start()
    assertEquals(Health.check(listener.address), Health.Serving)
    abandon(connect(bank.client, listener.address).login("holk", "1234"))
    assert(listener.drain(Patience.seconds))
    assertEquals(seen.asScala.toSet, Set("bank"))
    assert(!log().contains("health"), log())
    assert(log().contains("\"protocol\":\"bank\",\"at\":\"client\",\"kind\":\"send\",\"message\":\"login\""), log())
  }

  test("exceptions of a monitor go to the thread's handler, and do not affect the session") {
    val reported = new AtomicInteger
    Recording.monitorWith(new Recording.Monitor {
      override def allows(event: Recording.Event): Either[String, Unit] = throw new IllegalStateException("before")
      override def happened(event: Recording.Event): Unit = throw new IllegalStateException("after")
    })
    val talking = spawn {
      Thread.currentThread.setUncaughtExceptionHandler((_, _) => reported.incrementAndGet(): Unit)
      val (outerServer, outerClient) = stream.init[stream.server.Stream[Int]]()
      val (server, client) = stream.init[Int]()
      abandon(outerClient.send(server))
      val stream.Stream.Send(inner, _) = outerServer.recv()
      abandon(client.send(7).send(8))
      val stream.Stream.Send(value, next) = inner.recv()
      assertEquals(value, 7)
      // Received in another way.
      assert(next.tryRecv().nonEmpty)
    }
    await(talking)
    // Before and after each of the three messages when they were sent, after they were received, and after two sides were closed.
    assertEquals(reported.get, 3 * 2 + 3 + 2)
  }

  test("a monitor stops a session, the log has its reason, and the sender keeps the endpoint in the message") {
    Recording.monitorWith(new Recording.Monitor {
      override def allows(event: Recording.Event): Either[String, Unit] = Left("not \"this\"\none")
    })
    val (outerServer, outerClient) = stream.init[stream.server.Stream[Int]]()
    val (server, client) = stream.init[Int]()
    val told = closed(outerClient.send(server))
    assertEquals((told.why, told.detail), (Why.Stopped: Why, Option("not \"this\"\none")))
    assert(outerServer.recvOrClosed().isLeft)
    assert(log().contains(""","kind":"left","why":"not \"this\" one"}"""), log())
    Recording.monitorWith(new Recording.Monitor {})
    client.send(5): Unit
    val stream.Stream.Send(value, _) = server.recv()
    assertEquals(value, 5)
  }
}
