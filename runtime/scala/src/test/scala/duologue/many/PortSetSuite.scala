package duologue

import _root_.protocols.bank
import duologue.protocols.stream
import java.util.concurrent.atomic.AtomicInteger
import scala.concurrent.{Await, ExecutionContext, Future}
import scala.concurrent.duration._
import scala.util.Using

/** Sets of endpoints. */
final class PortSetSuite extends RuntimeSuite {

  private implicit val parasitic: ExecutionContext = ExecutionContext.parasitic

  private type Streams = PortSet[stream.Stream[Int], Int]

  private def streams(): Streams = PortSet()

  /** Adds a new session's server, and returns its client. */
  private def join(set: Streams, name: Int, capacity: Int = 0): Client = {
    val (server, client) = stream.init[Int](capacity)
    set.add(server, name)
    client
  }

  /** What was reported: the value of the endpoint, and the number. The next endpoint is added to the set. */
  private def heard(set: Streams, event: PortSet.Event[stream.Stream[Int], Int]): (Int, Int) = event match {
    case PortSet.Received(name, stream.Stream.Send(value, next)) =>
      set.add(next, name)
      (name, value)
    case PortSet.Received(name, _) => (name, -1)
    case PortSet.Closed(name, _)   => (name, -2)
  }

  test("messages come with the value of their endpoint, in the order of each sender and not across senders") {
    val set = streams()
    val first = join(set, 1)
    val second = join(set, 2)
    assertEquals(set.tryRecv(), None)
    assertEquals(set.recvWithin(1.milli), None)
    abandon(second.send(20).send(21))
    first.send(10): Unit
    assertEquals(List.fill(4)(heard(set, set.recv())), List((2, 20), (1, 10), (2, 21), (2, -2)))
    assertEquals(set.size, 1)
    assertEquals(set.tryRecv(), None)
  }

  test("an empty set is an error at once, or has nothing") {
    val set = streams()
    intercept[NoSuchElementException](set.recv()): Unit
    intercept[NoSuchElementException](Await.result(set.recvAsync(), Duration.Zero)): Unit
    assertEquals(set.tryRecv(), None)
    assertEquals(set.recvWithin(1.minute), None)
  }

  test("an endpoint in a set cannot be used, and can be once it was taken out") {
    val set = streams()
    val (server, client) = stream.init[Int]()
    for (looks <- List(0, 1)) {
      set.add(server, 7)
      for (_ <- 1 to looks) assertEquals(set.tryRecv(), None)
      used(server.tryRecv())
      used(set.add(server, 8))
      assertEquals(streams().remove(server), None)
      assertEquals(set.remove(server), Some(7))
      assertEquals(set.remove(server), None)
      assert(set.isEmpty)
    }
    client.send(1): Unit
    assertEquals(set.tryRecv(), None)
    set.add(server, 9)
    assertEquals(heard(set, set.recv()), (9, 1))
    assertEquals(set.remove(server), None)
  }

  test("a ring for an endpoint that was taken out is a look in vain") {
    val set = streams()
    val (server, client) = stream.init[Int]()
    set.add(server, 1)
    assertEquals(set.tryRecv(), None)
    val bell = server.$side.state.flags.waiter
    client.send(1): Unit
    assertEquals(set.remove(server), Some(1))
    val other = join(set, 2)
    bell.wake()
    bell.wake()
    assertEquals(set.tryRecv(), None)
    other.send(5): Unit
    assertEquals(heard(set, set.recv()), (2, 5))
    assert(server.tryRecv().nonEmpty)
  }

  test("a set tells who has left, by whichever side, awake and asleep") {
    for (own <- List(true, false); asleep <- List(true, false); looks <- List(0, 1)) {
      val set = streams()
      val staying = join(set, 1)
      val (server, client) = stream.init[Int]()
      set.add(server, 2)
      for (_ <- 1 to looks) assertEquals(set.tryRecv(), None)
      val beside = if (asleep) Some(new Beside(assertEquals(heard(set, set.recv()), (2, -2)))) else None
      beside.foreach(_.asleep())
      if (own) abandon(server) else abandon(client)
      if (asleep) beside.foreach(_.join()) else assertEquals(heard(set, set.recv()), (2, -2))
      assertEquals(set.size, 1)
      abandon(staying)
      assertEquals(heard(set, set.recv()), (1, -2))
    }
  }

  test("endpoints of several protocols fit into one set") {
    val set = PortSet[Any, String]()
    val (server, client) = stream.init[Int]()
    val (login, customer) = bank.init()
    set.add(server, "numbers")
    set.add(login, "bank")
    customer.login("holk", "1234"): Unit
    client.send(7): Unit
    val told = List.fill(2)(set.recv()).map {
      case PortSet.Received(name, stream.Stream.Send(value, _))     => name + value.toString
      case PortSet.Received(name, bank.Login.Login(username, _, _)) => name + username
      case other                                                    => fail(other.toString)
    }
    assertEquals(told.sorted, List("bankholk", "numbers7"))
  }

  test("a message wakes a set that sleeps, and an interrupt ends the wait") {
    val set = streams()
    val client = join(set, 1)
    val waiting = new Beside(interrupted(set.recv()))
    waiting.asleep()
    intercept[IllegalStateException](set.tryRecv()): Unit
    waiting.thread.interrupt()
    waiting.join()
    var sending = client
    for (limited <- List(true, false)) {
      val beside = new Beside(assertEquals(heard(set, if (limited) set.recvWithin(1.minute).get else set.recv()), (1, 7)))
      beside.asleep()
      sending = sending.send(7)
      beside.join()
    }
  }

  test("a hundred thousand endpoints") {
    val set = streams()
    val clients = Array.tabulate(100000)(join(set, _, capacity = 4))
    assertEquals(set.tryRecv(), None)
    for (round <- 1 to 2; at <- clients.indices by round) {
      clients(at) = clients(at).send(at)
      assertEquals(heard(set, set.recv()), (at, at))
    }
    for (_ <- 1 to 100000) {
      val (server, _) = stream.init[Int](capacity = 4)
      set.add(server, -1)
      assertEquals(set.remove(server), Some(-1))
    }
    assertEquals(set.size, 100000)
    set.close()
    assert(set.isEmpty)
    clients.foreach(client => closed(client.send(1)))
  }

  test("a flood does not drown the others") {
    val set = streams()
    val flood = for (name <- 1 to 3) yield {
      val client = join(set, name)
      new Beside(closed {
        var sending = client
        while (true) sending = sending.send(name)
      })
    }
    var quiet = join(set, 0)
    for (i <- 1 to 2000) {
      quiet = quiet.send(i)
      var between = 0
      while (heard(set, set.recv()) != ((0, i))) between += 1
      assert(between <= 8, between.toString)
    }
    set.close()
    flood.foreach(_.join())
  }

  test("futures and callbacks of a set") {
    val set = streams()
    val client = join(set, 1)
    val first = set.recvAsync()
    assert(!first.isCompleted)
    intercept[IllegalStateException](set.tryRecv()): Unit
    val next = client.send(7)
    assertEquals(heard(set, Await.result(first, Duration.Zero)), (1, 7))
    def sum(so: Int): Future[Int] = if (set.isEmpty) Future.successful(so) else set.recvAsync().flatMap { event =>
      val (_, value) = heard(set, event)
      sum(if (value < 0) so else so + value)
    }
    val total = sum(0)
    var sending = next
    for (i <- 1 to 10000) sending = sending.send(i)
    abandon(sending)
    assertEquals(Await.result(total, 1.minute), 50005000)
  }

  test("closing a set leaves all its sessions, also at the end of a scope") {
    val clients = Using.resource(streams())(set => List.tabulate(10)(join(set, _)))
    clients.foreach(client => closed(client.send(1)))
  }

  test("a forgotten set closes its sessions after garbage collection") {
    def forgetful(): Client = {
      val set = streams()
      val client = join(set, 1)
      assertEquals(set.tryRecv(), None)
      client
    }
    sendUntilClosed(forgetful())
  }

  test("many threads send into one set, leave and are left, and it is interrupted: no message is lost or doubled") {
    val sent, left = new AtomicInteger()
    val set = streams()
    val clients = Array.tabulate(400)(name => join(set, name))
    val senders = for (group <- 0 until 8) yield new Beside({
      for (round <- 1 to 100; at <- group until 400 by 8) {
        try
          if (clients(at) != null) {
            if (round > 20 && (round * 31 + at) % 97 == 0) {
              abandon(clients(at))
              clients(at) = null
            } else {
              clients(at) = clients(at).send(round)
              sent.incrementAndGet(): Unit
            }
          }
        catch { case _: SessionClosed => clients(at) = null; left.incrementAndGet(): Unit }
      }
      for (at <- group until 400 by 8) Option(clients(at)).foreach(client => abandon(client))
    })
    val last = new Array[Int](400)
    @volatile var received = 0
    val receiving = new Beside({
      while (set.nonEmpty) try
        heard(set, set.recv()) match {
          case (name, value) if value > 0 =>
            received = received + 1
            if (value <= last(name)) fail(value.toString + " after " + last(name).toString)
            last(name) = value
          case _ => ()
        }
      catch { case _: InterruptedException => () }
    })
    while (receiving.thread.isAlive) {
      receiving.thread.interrupt()
      Thread.sleep(1)
    }
    senders.foreach(_.join())
    receiving.join()
    assertEquals(received, sent.get)
    assertEquals(left.get, 0)
  }

  test("a set that nothing but one message can wake comes to an end") {
    for (seed <- 1 to 10) {
      val streams = Vector.fill(seed)(stream.init[Int]())
      val receiving = new Beside({
        val set = PortSet[stream.Stream[Int], Unit]()
        streams.foreach { case (server, _) => set.add(server, ()) }
        while (set.nonEmpty) set.recv() match {
          case PortSet.Received(_, message) => Rounds.answered(message).foreach(next => set.add(next, ()))
          case closed                       => fail(closed.toString)
        }
      })
      new Beside(Rounds.converse(streams.map(_._2), 1500, 300, seed.toLong)).join()
      receiving.join()
    }
  }
}
