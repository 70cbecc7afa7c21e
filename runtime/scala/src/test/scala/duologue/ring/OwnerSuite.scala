package duologue

import duologue.protocols.stream
import java.util.concurrent.CountDownLatch
import java.util.concurrent.atomic.{AtomicInteger, AtomicReference}

/** A thread that has used a side many times in a row, and another one whose use overlaps the first one's. */
final class OwnerSuite extends RuntimeSuite {

  private final class Sender(previous: Endpoint) extends SendEndpoint(previous) {
    def $state(): String = "numbers"
    def say(number: Long): Sender = {
      generated.stayNumber(this, 0, number)
      new Sender(this)
    }
  }

  /** Stops in the middle of receiving to run `within`. */
  private final class Receiver(previous: Endpoint, within: Receiver => Unit) extends RecvEndpoint[Receiver](previous) {
    def $state(): String = "numbers"
    protected def open(index: Int, payload: Any, number: Long): Receiver = {
      within(this)
      new Receiver(this, within)
    }
  }

  private def numbers(within: Receiver => Unit): (Receiver, Sender) = {
    val start = generated.runtime_0_1.start("numbers", 0, clientSpeaks = true)
    (new Receiver(start.server, within), new Sender(start.client))
  }

  private def isBroken(endpoint: Endpoint): Boolean = endpoint.$side.state.isBroken

  for (before <- List(20, 63, 64, 100)) test(s"of two receivers that meet after $before messages one is refused, and the session is closed") {
    val owner = new AtomicReference[Thread]()
    val met = new AtomicReference[Receiver]()
    val (meeting, passed) = (new CountDownLatch(1), new CountDownLatch(1))
    var count = 0
    val (server, client) = numbers { endpoint =>
      if (Thread.currentThread eq owner.get) {
        count += 1
        if (count > before) {
          met.set(endpoint)
          meeting.countDown()
          passed.await()
        }
      }
    }
    val sending = (0 to before + 5).foldLeft(client)((client, number) => client.say(number.toLong))
    val owning = new Beside({
      owner.set(Thread.currentThread)
      val last = (1 to before).foldLeft(server)((server, _) => server.recv())
      assert(last.$side.state.isMine)
      val refusal = intercept[EndpointUsed](last.recv())
      assertEquals(
        refusal.getMessage,
        "this endpoint of `numbers.numbers` or its side was used by two threads at the same time; the session is closed"
      )
    })
    meeting.await()
    val next = met.get.recv()
    passed.countDown()
    owning.join()
    used(next.recv())
    closed(sending.say(0L))
  }

  @scala.annotation.tailrec
  private def readAll(server: stream.server.Stream[Int]): Unit = server.recv() match {
    case stream.Stream.Send(_, next) => readAll(next)
    case other                       => fail(other.toString)
  }

  /** Runs `body` with an endpoint of a side that the calling thread owns. */
  private def owned(before: Int)(body: (stream.server.Stream[Int], stream.client.Stream[Int]) => Unit): Unit = {
    val (server, client) = stream.init[Int]()
    new Beside({
      val sending = (1 to before).foldLeft(client)((client, number) => client.send(number))
      assert(sending.$side.state.isMine)
      body(server, sending)
    }).join()
  }

  for (before <- List(20, 63, 100)) test(s"of two senders that meet after $before messages one is refused, and the session is closed") {
    owned(before) { (server, client) =>
      val state = client.$side.state
      val turn = client.$turn
      assert(client.$side.begin(turn, true))
      new Beside(client.send(1): Unit).join()
      assert(!isBroken(client))
      // The steps with which `send` continues.
      assert(state.send(turn, 0, Int.box(9), 0L, Pipe.STAY))
      assert(!state.end(turn + 1, true))
      assert(isBroken(client))
      used(client.send(2))
      closed(readAll(server))
    }
  }

  test("an owner that is about to wait is refused, if another use has come before") {
    owned(20) { (_, client) =>
      assert(client.$side.begin(client.$turn, true))
      new Beside(assert(trySend(client)(_.send(1)).nonEmpty)).join()
      assertEquals(client.$side.await(-1L, true), Outcome.USED)
      used(client.send(1))
    }
  }

  test("an endpoint that was used before does not disturb the owner") {
    owned(20) { (_, client) =>
      assert(client.$side.begin(client.$turn, true))
      new Beside(used(client.$at(client.$turn - 1L).asInstanceOf[stream.client.Stream[Int]].send(1))).join()
      assert(client.$side.state.isMine && !client.$side.state.isContested)
      assert(client.$side.state.end(client.$turn, true))
      client.send(1): Unit
    }
  }

  test("a side that is left elsewhere in the middle of the owner's use is left, and not broken") {
    owned(20) { (_, client) =>
      assert(client.$side.begin(client.$turn, true))
      new Beside(abandon(client)).join()
      assert(client.$side.state.end(client.$turn + 1, true))
      assert(!isBroken(client))
    }
  }

  test("a thread that comes late takes nothing from a newer owner") {
    val (_, client) = stream.init[Int]()
    val last = new AtomicReference(client)
    val state = client.$side.state
    def send(): Unit = last.set((1 to 40).foldLeft(last.get)((client, number) => client.send(number)))
    new Beside(send()).join()
    val dead = state.owner
    send()
    assert(state.isMine)
    val living = state.owner
    new Beside({
      send()
      for (before <- List(dead, living)) {
        assert(state.isMine)
        assert(!state.disown(before))
        assert(state.isMine)
      }
    }).join()
  }

  test("when another thread uses what the owner uses, nothing is lost silently, and no exception of the runtime itself is seen") {
    val stolen = new AtomicInteger()
    for (_ <- 1 to 1000) {
      val (server, client) = stream.init[Int]()
      val live = new AtomicReference(client)
      val sent = new AtomicInteger()
      @volatile var refused = 0
      val owning = new Beside({
        var sending = client
        try
          for (number <- 1 to 240) {
            sending = sending.send(number)
            sent.incrementAndGet(): Unit
            live.set(sending)
          }
        catch { case _: EndpointUsed => refused = 1 }
      })
      val other = new Beside({
        while (sent.get < 100 && refused == 0) Thread.onSpinWait()
        var tries = 0
        while (tries < 50) {
          tries += 1
          try {
            live.get.send(0): Unit
            sent.incrementAndGet(): Unit
            stolen.incrementAndGet(): Unit
            tries = 50
          } catch { case _: EndpointUsed => () }
        }
      })
      owning.join()
      other.join()
      abandon(client)
      var received = 0
      var receiving = server
      closed(while (true) receiving.recv() match {
        case stream.Stream.Send(_, next) =>
          received += 1
          receiving = next
        case other => fail(other.toString)
      })
      if (!isBroken(client)) assertEquals(received, sent.get)
    }
    assert(stolen.get > 0)
  }
}
