package duologue

import duologue.protocols.{log, stream}
import java.util.concurrent.atomic.{AtomicInteger, AtomicReference}
import scala.util.Using

/** Endpoints inside messages, and what happens to unread ones. */
final class TravelSuite extends RuntimeSuite {

  private type Inner = stream.server.Stream[Int]

  private def received[T](server: stream.server.Stream[T]): T = server.recv() match {
    case stream.Stream.Send(value, _) => value
    case other                        => fail(other.toString)
  }

  test("an endpoint that was sent belongs only to the receiver") {
    val (outerServer, outerClient) = stream.init[Inner]()
    val (server, client) = stream.init[Int]()
    outerClient.send(server): Unit
    used(server.recv())
    abandon(server)
    val moved = received(outerServer)
    client.send(5): Unit
    assertEquals(received(moved), 5)
  }

  test("an endpoint that one thread sends while another uses it belongs to one of them") {
    val offered = new AtomicReference[Inner]()
    val round, done = new AtomicInteger()
    val rounds = 20000
    @volatile var isUsed = false
    val beside = new Beside({
      for (number <- 1 to rounds) {
        while (round.get < number) Thread.onSpinWait()
        isUsed =
          try offered.get.tryRecv().nonEmpty
          catch { case _: EndpointUsed => false }
        done.set(number)
      }
    })
    for (number <- 1 to rounds) {
      val (outerServer, outerClient) = stream.init[Inner]()
      val (server, client) = stream.init[Int]()
      client.send(7): Unit
      offered.set(server)
      round.set(number)
      for (_ <- 0 until number % 100) Thread.onSpinWait()
      val isSent =
        try {
          outerClient.send(server): Unit
          true
        } catch { case _: EndpointUsed => false }
      while (done.get < number) Thread.onSpinWait()
      assertEquals(isSent, !isUsed)
      if (isSent) assertEquals(received(received(outerServer)), 7)
    }
    beside.join()
  }

  test("the scope of the sender does not close what it has sent") {
    val (outerServer, outerClient) = stream.init[Inner]()
    val (server, client) = stream.init[Int]()
    Using.resource(server)(server => outerClient.send(server): Unit)
    client.send(5): Unit
    assertEquals(received(received(outerServer)), 5)
  }

  test("an endpoint can be used again if it could not be sent") {
    val (outerServer, outerClient) = stream.init[Inner]()
    val (server, client) = stream.init[Int]()
    abandon(outerServer)
    closed(outerClient.send(server))
    client.send(5): Unit
    assertEquals(received(server), 5)
  }

  test("an endpoint can be used again if it was to be sent by a used endpoint, or twice in one message") {
    val (outerServer, outerClient) = stream.init[Vector[Inner]]()
    val (server, client) = stream.init[Int]()
    used(outerClient.send(Vector(server, server)))
    val next = outerClient.send(Vector())
    used(outerClient.send(Vector(server)))
    next.stop()
    abandon(outerServer)
    client.send(5): Unit
    assertEquals(received(server), 5)
  }

  test("an endpoint cannot be sent through itself") {
    val (server, client) = stream.init[Any]()
    used(client.send(client))
    client.send(1): Unit
    assertEquals(received(server), 1: Any)
  }

  test("endpoints are found inside options, sequences and tuples") {
    type Payload = (Int, Option[Vector[Inner]])
    val (outerServer, outerClient) = stream.init[Vector[Payload]]()
    val (server, client) = stream.init[Int]()
    outerClient.send(Vector((1, None), (2, Some(Vector(server))))): Unit
    used(server.recv())
    client.send(5): Unit
    val payload = received(outerServer)
    assertEquals(payload.map(_._1), Vector(1, 2))
    assertEquals(received(payload(1)._2.get(0)), 5)
  }

  test("an endpoint beside a `null` stays the sender's") {
    val (_, lines) = log.init()
    val (outerServer, outerClient) = stream.init[Vector[Option[Inner]]]()
    val (server, client) = stream.init[Int]()
    def nothing(body: => Any): Unit = intercept[NullPointerException](body): Unit
    nothing(lines.follow(null))
    nothing(lines.both(server, null))
    nothing(lines.both(null, server))
    lines.line(1, 1): Unit
    outerClient.send(Vector(Some(null), Some(server))): Unit
    used(server.recv())
    client.send(5): Unit
    val payload = received(outerServer)
    assert(payload.size == 2 && payload(0).exists(_ eq null))
    assertEquals(payload(1).map(received(_)), Some(5))
  }

  test("endpoints inside unread messages leave their sessions") {
    for (serverLeaves <- List(true, false)) {
      val (outerServer, outerClient) = stream.init[Inner]()
      val (server, client) = stream.init[Int]()
      val next = outerClient.send(server)
      if (serverLeaves) abandon(outerServer)
      else {
        abandon(next)
        abandon(outerServer)
      }
      closed(client.send(5))
    }
  }

  test("a million unread messages are destroyed, and the endpoints in them leave") {
    val (outerServer, outerClient) = stream.init[Inner](capacity = 1000001)
    val (lastServer, lastClient) = stream.init[Int](capacity = 1)
    var sending = outerClient
    for (i <- 1 to 1000000) sending = sending.send(if (i == 1000000) lastServer else stream.init[Int](capacity = 1)._1)
    abandon(outerServer)
    closed(lastClient.send(1))
    closed(sending.stop())
  }

  test("sessions nested 200,000 deep are destroyed") {
    final case class Wrapped(server: stream.server.Stream[Any])
    val (innermost, client) = stream.init[Any](capacity = 1)
    var nested: stream.server.Stream[Any] = innermost
    for (_ <- 1 to 200000) {
      val (server, sending) = stream.init[Any](capacity = 1)
      sending.send(nested): Unit
      nested = server
    }
    abandon(nested)
    closed(client.send(1))
    assert(Wrapped(nested) ne null)
  }

  test("endpoints move in tuples of every size, and the other values stay as they are") {
    for (size <- 1 to 22) {
      val (server, client) = stream.init[Any]()
      val (_, inner) = stream.init[Int]()
      val values = (1 until size).map(value => Int.box(value): AnyRef) :+ inner
      val tuple = Class.forName("scala.Tuple" + size.toString).getConstructors.head.newInstance(values: _*)
      client.send(tuple): Unit
      used(inner.send(1))
      server.recv() match {
        case stream.Stream.Send(moved: Product, _) =>
          assertEquals(moved.getClass.getName, tuple.getClass.getName)
          assertEquals(moved.productIterator.take(size - 1).toList, values.init.toList: List[Any])
          moved.productElement(size - 1) match {
            case endpoint: Endpoint => abandon(endpoint)
            case other              => fail(other.toString)
          }
        case other => fail(other.toString)
      }
    }
    intercept[IllegalArgumentException](Tuples.of(Vector())): Unit
  }
}
