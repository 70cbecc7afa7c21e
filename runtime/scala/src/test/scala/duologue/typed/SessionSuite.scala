package duologue

import _root_.protocols.bank
import duologue.protocols.stream
import java.util.concurrent.CountDownLatch
import scala.concurrent.duration._
import scala.util.Using

/** One session: sending, receiving, closing, second use. */
final class SessionSuite extends RuntimeSuite {

  test("receiving right after one's own send waits for the slow peer, and does not read one's own message") {
    val (server, client) = bank.init()
    val looked = new CountDownLatch(1)
    val beside = new Beside({
      looked.await()
      server.recv() match {
        case bank.Login.Login(username, password, next) =>
          assertEquals((username, password), ("holk", "1234"))
          Thread.sleep(50)
          abandon(next.ok())
      }
    })
    val response = client.login("holk", "1234")
    assertEquals(response.tryRecv(), None)
    assertEquals(response.recvWithin(1.milli), None)
    looked.countDown()
    response.recv() match {
      case bank.LoginResponse.Ok(next)    => abandon(next)
      case bank.LoginResponse.Invalid(_) => fail("not the message that was sent")
    }
    beside.join()
  }

  test("endpoints print protocol, state and the number of their session") {
    val (login, customer) = bank.init()
    val number = login.toString.stripPrefix("bank.login #").toLong
    assertEquals(customer.toString, "bank.login #" + number.toString)
    val response = customer.login("holk", "1234")
    assertEquals(response.toString, "bank.login_response #" + number.toString)
    assertEquals(login.recv().next.toString, response.toString)
    // Also that of an endpoint that was sent, and of no other session.
    val (server, client) = stream.init[bank.client.LoginResponse]()
    client.send(response): Unit
    server.recv() match {
      case stream.Stream.Send(arrived, _) => assertEquals(arrived.toString, response.toString)
      case other                          => fail(other.toString)
    }
    val numbers = List.fill(100)(bank.init()._1.toString)
    assertEquals((number :: numbers.map(_.stripPrefix("bank.login #").toLong)).distinct.size, 101)
    val (_, log) = protocols.log.init()
    val place = log.toString
    assertEquals(SharedSender(log).toString, "SharedSender(" + place + ")")
  }

  test("empty and closed are different, and closed comes after what was sent before") {
    val (server, client) = stream.init[Int]()
    assertEquals(server.tryRecv(), None)
    assertEquals(server.recvWithin(1.milli), None)
    abandon(client.send(1))
    val next = server.tryRecv() match {
      case Some(stream.Stream.Send(1, next)) => next
      case other                             => fail(other.toString)
    }
    val refusal = intercept[SessionClosed](next.tryRecv())
    assertEquals((refusal.protocol, refusal.state), ("stream", "stream"))
    assertEquals(refusal.getMessage, "the peer closed the session in state `stream.stream`")
  }

  test("every form of receiving reports that the peer has closed the session") {
    def server = {
      val (server, client) = stream.init[Int]()
      abandon(client)
      server
    }
    closed(server.recv())
    closed(server.tryRecv())
    closed(server.recvWithin(1.minute))
    assert(server.recvOrClosed().isLeft)
    assert(server.recvAsync().failed.value.exists(_.toOption.exists(_.isInstanceOf[SessionClosed])))
  }

  test("a peer that leaves wakes a thread that waits") {
    val (server, client) = stream.init[Int]()
    val beside = new Beside(closed(server.recv()))
    beside.asleep()
    abandon(client)
    beside.join()
  }

  test("a message wakes a thread that waits, with and without a limit") {
    for (limited <- List(true, false)) {
      val (server, client) = stream.init[Int]()
      val beside = new Beside({
        val message = if (limited) server.recvWithin(1.minute).get else server.recv()
        message match {
          case stream.Stream.Send(value, _) => assertEquals(value, 7)
          case other                        => fail(other.toString)
        }
      })
      beside.asleep()
      val next = client.send(7)
      beside.join()
      abandon(next)
    }
  }

  test("an interrupt ends the waiting, and the endpoint can be used again") {
    val (server, client) = stream.init[Int]()
    val beside = new Beside(interrupted(server.recv()))
    beside.asleep()
    beside.thread.interrupt()
    beside.join()
    client.send(1).stop()
    assert(server.tryRecv().nonEmpty)
  }

  test("the second use throws, whatever it is") {
    val (server, client) = stream.init[Int]()
    val next = client.send(1)
    val refusal = intercept[EndpointUsed](client.send(2))
    assert(refusal.getMessage.contains("`stream.stream`"))
    used(client.stop())
    assert(server.tryRecv().nonEmpty)
    used(server.recv())
    used(server.tryRecv())
    used(server.recvOrClosed())
    used(server.recvAsync())
    next.stop()
    used(next.stop())
  }

  test("of two threads that use one endpoint, one is refused") {
    for (_ <- 1 to 2000) {
      val (server, client) = stream.init[Int]()
      @volatile var refused = 0
      def use(value: Int): Unit = try client.send(value): Unit catch { case _: EndpointUsed => refused = refused + 1 }
      val beside = new Beside(use(1))
      use(2)
      beside.join()
      assertEquals(refused, 1)
      abandon(server)
    }
  }

  test("`Using` leaves when the body throws, and does nothing to a session that is over") {
    val (server, client) = stream.init[Int]()
    val thrown = intercept[ArithmeticException] {
      Using.resource(client)(client => throw new ArithmeticException(client.send(1).toString))
    }
    assertEquals(thrown.getMessage.takeWhile(_ != ' '), "stream.stream")
    server.recv() match {
      case stream.Stream.Send(1, next) => closed(next.recv())
      case other                       => fail(other.toString)
    }
    val (listening, speaking) = stream.init[Int]()
    Using.resource(speaking)(_.stop())
    assertEquals(listening.recv(), stream.Stream.Stop[Int]())
  }

  test("a sender waits for space in an unbounded run, and continues when there is some") {
    val (server, client) = stream.init[Int]()
    val beside = new Beside({
      var sending = client
      for (i <- 0 until 1000) sending = sending.send(i)
      sending.stop()
    })
    beside.asleep()
    var receiving = server
    var expected = 0
    while (expected < 1000) receiving.recv() match {
      case stream.Stream.Send(value, next) =>
        assertEquals(value, expected)
        expected += 1
        receiving = next
      case other => fail(other.toString)
    }
    assertEquals(receiving.recv(), stream.Stream.Stop[Int]())
    beside.join()
  }

  test("a sender that waits for space learns that the peer has closed the session") {
    val (server, client) = stream.init[Int]()
    val beside = new Beside(closed {
      var sending = client
      while (true) sending = sending.send(1)
    })
    beside.asleep()
    abandon(server)
    beside.join()
  }

  test("a sender that waits for space can be interrupted, and can close the session although the ring is full") {
    val (server, client) = stream.init[Int]()
    @volatile var sending = client
    val beside = new Beside(interrupted {
      while (true) sending = sending.send(1)
    })
    beside.asleep()
    beside.thread.interrupt()
    beside.join()
    abandon(sending)
    var receiving = server
    var count = 0
    closed {
      while (true) receiving.recv() match {
        case stream.Stream.Send(_, next) =>
          count += 1
          receiving = next
        case other => fail(other.toString)
      }
    }
    assertEquals(count, 255)
  }

  test("two threads that wait for nothing but each other come to an end") {
    for (seed <- 1 to 20) {
      val (server, client) = if (seed % 4 == 0) stream.init[Int](capacity = 5) else stream.init[Int]()
      val serving = new Beside(Rounds.serve(server))
      new Beside(Rounds.converse(Vector(client), 2000, if (seed % 4 == 0) 5 else 600, seed.toLong)).join()
      serving.join()
    }
  }

  test("what is thrown says which side closed the session, and whether an endpoint was used or its side was left") {
    val own = "this side closed the session in state `stream.stream`"
    val peer = "the peer closed the session in state `stream.stream`"
    val (server, client) = stream.init[Int]()
    val beside = new Beside({
      val closed = intercept[SessionClosed](server.recv())
      assertEquals((closed.getMessage, closed.isByPeer), (own, false))
    })
    beside.asleep()
    val (other, _) = stream.init[Int]()
    val left = other.recvAsync()
    abandon(other)
    assertEquals(left.value.flatMap(_.failed.toOption).map(_.getMessage), Some(own))
    abandon(server)
    beside.join()
    val closed = intercept[SessionClosed](client.send(1))
    assertEquals((closed.getMessage, closed.isByPeer), (peer, true))

    val (receiving, sending) = stream.init[Int]()
    val next = sending.send(1)
    abandon(next)
    val isLeft = "this endpoint of `stream.stream` cannot be used anymore: this side has closed the session"
    val isUsed = "this endpoint of `stream.stream` was already used; continue with the endpoint that the first use returned"
    assertEquals(intercept[EndpointUsed](next.send(2)).getMessage, isLeft)
    assertEquals(intercept[EndpointUsed](trySend(next)(_.send(2))).getMessage, isLeft)
    assertEquals(intercept[EndpointUsed](sending.send(2)).getMessage, isUsed)
    abandon(receiving)
    assertEquals(intercept[EndpointUsed](receiving.tryRecv()).getMessage, isLeft)
  }
}
