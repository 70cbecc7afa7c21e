package duologue

import _root_.protocols.bank
import duologue.protocols.stream
import java.util.concurrent.ConcurrentLinkedQueue
import java.util.concurrent.atomic.AtomicInteger
import scala.concurrent.{Await, ExecutionContext}
import scala.concurrent.duration._

/** Waiting for the first of several endpoints. */
final class SelectSuite extends RuntimeSuite {

  private implicit val parasitic: ExecutionContext = ExecutionContext.parasitic

  test("the endpoint that is ready is used, and the others stay as they are") {
    val (numbers, sending) = stream.init[Int]()
    val (login, customer) = bank.init()
    def selected = Select[Any](
      numbers.on(number),
      login.on { case bank.Login.Login(username, _, _) => username }
    )
    assertEquals(selected.tryRecv(), None)
    assertEquals(selected.recvWithin(1.milli), None)
    customer.login("holk", "1234"): Unit
    assertEquals(selected.recv(), "holk": Any)
    sending.send(7): Unit
    assertEquals(numbers.on(number).endpoint.toString, numbers.toString)
    assertEquals(Select(numbers.on(number)).tryRecv(), Some(7))
    used(login.recv())
    used(selected.recv())
  }

  test("a select of nothing is an error at once") {
    val thrown = intercept[IllegalArgumentException](Select.from(List[Select.Case[Int]]()).recv())
    assertEquals(thrown.getMessage, "there is no endpoint to wait for")
  }

  test("a message wakes a thread that selects, with and without a limit") {
    for (limited <- List(true, false); first <- List(true, false)) {
      val (server, client) = stream.init[Int]()
      val (login, customer) = bank.init()
      val beside = new Beside({
        val select = Select(server.on(number), login.on(_.username.length))
        assertEquals(if (limited) select.recvWithin(1.minute) else Some(select.recv()), Some(if (first) 7 else 4))
        assert((if (first) login.tryRecv() else server.tryRecv()).isEmpty)
      })
      beside.asleep()
      if (first) client.send(7): Unit else customer.login("holk", "1234"): Unit
      beside.join()
    }
  }

  test("endpoints that are always ready are chosen equally often") {
    val streams = Array.fill(3)(stream.init[Int](capacity = 3000))
    val servers = streams.map(_._1)
    for ((_, client) <- streams) {
      var sending = client
      for (i <- 1 to 3000) sending = sending.send(i)
    }
    val chosen = Array(0, 0, 0)
    for (_ <- 1 to 3000) Select.from(servers.indices.map { at =>
      servers(at).on { message =>
        servers(at) = following(message)
        chosen(at) += 1
      }
    }).recv()
    chosen.foreach(times => assert(times > 700 && times < 1300, chosen.mkString(" ")))
  }

  test("a select reports that a peer has closed the session") {
    for (own <- List(true, false); asleep <- List(true, false)) {
      val (server, client) = stream.init[Int]()
      val (other, _) = stream.init[Int]()
      def leave(): Unit = if (own) abandon(server) else abandon(client)
      def select(): Int = Select(other.on(number), server.onOrClosed(_.fold(_ => -7, number))).recv()
      if (asleep) {
        val beside = new Beside(assertEquals(select(), -7))
        beside.asleep()
        leave()
        beside.join()
      } else {
        leave()
        if (own) used(select()) else assertEquals(select(), -7)
      }
      assertEquals(other.tryRecv(), None)
    }
    val (server, client) = stream.init[Int]()
    abandon(client)
    closed(Select(server.on(number)).recv())
  }

  test("an interrupt ends a select, and all endpoints can be used again") {
    val (server, client) = stream.init[Int]()
    val (login, customer) = bank.init()
    val beside = new Beside(interrupted(Select(server.on(number), login.on(_.username.length)).recv()))
    beside.asleep()
    beside.thread.interrupt()
    beside.join()
    client.send(1): Unit
    customer.login("holk", "1234"): Unit
    assert(server.tryRecv().nonEmpty && login.tryRecv().nonEmpty)
  }

  test("an endpoint cannot be used while a select waits for it, nor twice in one select") {
    val (server, client) = stream.init[Int]()
    used(Select(server.on(number), server.on(number)).recv())
    val beside = new Beside(assertEquals(Select(server.on(number)).recv(), 7))
    beside.asleep()
    used(server.recv())
    client.send(7): Unit
    beside.join()
  }

  test("a select can wait for space and for messages") {
    val (server, client) = stream.init[Int]()
    val (other, _) = stream.init[Int]()
    var sending = client
    def select = Select(Select.writable(sending)(_.send(0)).map(next => sending = next), other.on(number).map(_ => fail("not sent")))
    for (_ <- 1 to 255) select.recv()
    assertEquals(select.tryRecv(), None)
    val beside = new Beside(select.recv())
    beside.asleep()
    var receiving = server
    for (_ <- 1 to 100) receiving = following(receiving.recv())
    beside.join()
    abandon(receiving)
    closed(select.recv())
  }

  test("a future of a select is completed by the thread that sends") {
    for (first <- List(true, false)) {
      val (server, client) = stream.init[Int]()
      val (login, customer) = bank.init()
      val selected = Select(server.on(number), login.on(_.username.length)).recvAsync()
      assert(!selected.isCompleted)
      used(login.recv())
      if (first) client.send(7): Unit else customer.login("holk", "1234"): Unit
      assertEquals(Await.result(selected, Duration.Zero), if (first) 7 else 4)
      assert((if (first) login.tryRecv() else server.tryRecv()).isEmpty)
    }
    val (server, client) = stream.init[Int]()
    val selected = Select(server.on(number)).recvAsync()
    abandon(client)
    closed(Await.result(selected, Duration.Zero))
  }

  test("a late wake-up does no harm") {
    val (server, client) = stream.init[Int]()
    val first = server.recvAsync()
    val late = server.$side.state.flags.waiter
    val sending = client.send(1)
    val next = following(Await.result(first, Duration.Zero))
    val beside = new Beside(assertEquals(number(next.recv()), 2))
    beside.asleep()
    late.wake()
    Thread.sleep(20)
    assert(beside.thread.isAlive)
    sending.send(2): Unit
    beside.join()
  }

  test("callbacks come once, with the message or with the news that the peer has left") {
    val heard = new ConcurrentLinkedQueue[Either[SessionClosed, Int]]()
    val (server, client) = stream.init[Int]()
    server.recvThen(outcome => heard.add(outcome.map(number)): Unit)
    assert(heard.isEmpty)
    client.send(7): Unit
    assertEquals(heard.poll(), Right(7))
    val (again, leaving) = stream.init[Int]()
    again.recvThen(outcome => heard.add(outcome.map(number)): Unit)
    abandon(leaving)
    assert(heard.poll().isLeft && heard.isEmpty)
  }

  test("many threads select while others send, leave and interrupt: no message is lost or doubled") {
    val sent, received = new AtomicInteger()
    val rounds = for (round <- 1 to 60) yield {
      val streams = Vector.fill(5)(stream.init[Int]())
      val senders = streams.zipWithIndex.map { case ((_, client), at) =>
        new Beside({
          var sending = client
          try
            for (i <- 1 to 400 + round) {
              sending = sending.send(i)
              sent.incrementAndGet(): Unit
              if (i % 97 == at) Thread.`yield`()
            }
          catch { case _: SessionClosed => fail("no side closes the session here") }
          abandon(sending)
        })
      }
      val selecting = new Beside({
        var open = streams.map(_._1)
        def step(): Vector[Server] = Select
          .from(open.map { server =>
            server.onOrClosed {
              case Right(stream.Stream.Send(_, next)) =>
                received.incrementAndGet(): Unit
                open.map(other => if (other eq server) next else other)
              case _ => open.filterNot(_ eq server)
            }
          })
          .recv()
        while (open.nonEmpty) try open = step() catch { case _: InterruptedException => () }
      })
      for (_ <- 1 to 5) selecting.thread.interrupt()
      if (round % 8 == 0) (selecting +: senders).foreach(_.join())
      selecting +: senders
    }
    rounds.flatten.foreach(_.join())
    assertEquals(received.get, sent.get)
  }

  test("a select that nothing but one message can wake comes to an end") {
    for (seed <- 1 to 10) {
      val streams = Vector.fill(3)(stream.init[Int]())
      val selecting = new Beside({
        var open = streams.map(_._1)
        while (open.nonEmpty) open = Select
          .from(open.map(server => server.on(message => open.filterNot(_ eq server) ++ Rounds.answered(message))))
          .recv()
      })
      new Beside(Rounds.converse(streams.map(_._2), 1500, 300, seed.toLong)).join()
      selecting.join()
    }
  }
}
