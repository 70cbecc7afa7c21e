package duologue

import duologue.protocols.stream
import java.util.concurrent.{CompletableFuture, TimeUnit}

/** Long runs, in which messages go through the lane: other operations find the session as if there were no lane. */
final class LaneSuite extends RuntimeSuite {

  private def take(server: Server, expected: Int): Server = server.recv() match {
    case stream.Stream.Send(value, next) =>
      assertEquals(value, expected)
      next
    case other => fail(other.toString)
  }

  private def takeAll(server: Server, expected: Range): Server = expected.foldLeft(server)(take)

  private def send(client: Client, values: Range): Client = values.foldLeft(client)(_.send(_))

  private def takeUnpromised(server: Server): Server = server.tryRecv() match {
    case Some(stream.Stream.Send(_, next)) => next
    case other                             => fail(other.toString)
  }

  /** A session in the middle of a run, with `unread` messages, in which both sides use their lanes: without fences if the
    * receiver has promised not to sleep, which it does not do if it never waits.
    */
  private def inRun(unread: Int, eager: Boolean): (Server, Client) = {
    val (server, client) = stream.init[Int]()
    var receiving: Server = server
    var sending: Client = client
    var at = 0
    def pass(): Unit = {
      sending = sending.send(at)
      receiving = if (eager) take(receiving, at) else takeUnpromised(receiving)
      at += 1
    }
    for (_ <- 1 to 300) pass()
    def flows = sending.$side.state.leads(sending.$turn) && sending.$side.state.isEager == eager
    while (!flows) pass()
    sending = send(sending, 0 until unread)
    assert(unread == 0 || isOnLane(receiving))
    (receiving, sending)
  }

  private def isOnLane(server: Server): Boolean = server.$side.state.peek(server.$turn) != 0L

  for (unread <- List(0, 1, 7); eager <- List(false, true)) {
    val run = s"a run ${if (eager) "without" else "with"} fences and with $unread unread messages"

    test(s"every second use is found in $run") {
      val (server, client) = inRun(unread, eager)
      val next = client.send(unread)
      used(client.send(9))
      used(client.swap())
      val rest = take(server, 0)
      used(server.recv())
      used(server.tryRecv())
      used(duologue.trySend(client)(_.send(1)))
      takeAll(rest, 1 to unread): Unit
      next.stop()
    }

    test(s"other threads go on with $run, and find second uses") {
      val (server, client) = inRun(unread, eager)
      new Beside({
        val next = send(client, unread until 200)
        used(client.send(9))
        new Beside({
          val rest = takeAll(server, 0 until 200)
          used(server.recv())
          next.stop()
          assertEquals(rest.recv(): Any, stream.Stream.Stop[Int]())
        }).join()
      }).join()
      used(server.recv())
    }

    test(s"waits, turns and leaving end $run") {
      val (server, client) = inRun(unread, eager)
      val swapping = client.send(unread).swap()
      val rest = takeAll(server, 0 to unread)
      val swapped = rest.recv() match {
        case stream.Stream.Swap(next) => next.swapped()
        case other                    => fail(other.toString)
      }
      assert(swapped.tryRecv().isEmpty)
      val again = swapping.recv() match { case stream.Back.Swapped(next) => next }
      val last = send(again, 0 until 5)
      val receiving = take(swapped, 0)
      abandon(last)
      used(last.send(1))
      closed(takeAll(receiving, 1 until 5).recv())
    }

    test(s"a side that was left elsewhere does not go on in $run") {
      val (server, client) = inRun(unread, eager)
      val next = client.send(unread)
      new Beside(abandon(server)).join()
      closed(next.send(9))
      used(server.recv())

      val (receiving, sending) = inRun(unread, eager)
      new Beside(abandon(sending)).join()
      used(sending.send(9))
      closed(takeAll(receiving, 0 until unread).recv())
    }
  }

  test("a thread that makes up its id owns nothing that another thread owns") {
    final class Liar(body: => Unit) extends Thread {
      override def getId: Long = 7L
      override def run(): Unit = body
    }
    def inLiar(body: => Unit): Unit = {
      val liar = new Liar(body)
      liar.start()
      liar.join()
    }
    val (server, client) = stream.init[Int]()
    var sending: Client = client
    var receiving: Server = server
    var owns = List.empty[Boolean]
    inLiar {
      for (i <- 0 until 100) {
        sending = sending.send(i)
        receiving = take(receiving, i)
      }
      owns ::= sending.$side.state.owns(sending.$turn)
    }
    inLiar(owns ::= sending.$side.state.owns(sending.$turn))
    assertEquals(owns, List(false, true))
  }

  test("an idle receiver looks again seldom, and a message that was missed is not found later than it was late") {
    val intervals = Iterator.iterate(FenceElision.SOON)(FenceElision.after(_)).take(1500).toVector
    val looks = intervals.scanLeft(0L)(_ + _).tail
    val day = 24L * 3600 * 1000000000
    assert(looks.takeWhile(_ <= day).size < 1500)
    for ((missed, found) <- looks.zip(looks.tail)) assert(found - missed <= Math.min(2 * missed, FenceElision.LATE))
  }

  test("a waiter that checks again does not do so in the thread that all timers share") {
    val timer = new CompletableFuture[Unit]
    val flags = new SharedFlags
    val waiter = new Waiter {
      def wake(): Unit = timer.completeOnTimeout((), 1, TimeUnit.MILLISECONDS).get(50, TimeUnit.SECONDS)
    }
    val unsure = new FenceElision.Unsure(flags, waiter)
    flags.waiter = unsure
    unsure.start()
    timer.get(10, TimeUnit.SECONDS)
    flags.left = true
  }
}
