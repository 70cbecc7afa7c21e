package duologue

import duologue.protocols.{log, stream}
import java.util.concurrent.atomic.AtomicInteger

/** Events that come after a side's check and before its waiter is registered, produced by hand. The waiter checks again, or
  * nothing ever wakes it.
  */
final class WakeSuite extends RuntimeSuite {

  private final class Counted extends Waiter {
    val wakes = new AtomicInteger
    def wake(): Unit = wakes.incrementAndGet(): Unit
  }

  /** Announces a waiter to a side that is ready already; afterwards the waiter is not registered. */
  private def refuses(endpoint: Endpoint): Unit = for (announce <- List[(SideState, Waiter) => Boolean](_.announce(_), _.announcePassive(_))) {
    val waiter = new Counted
    assert(endpoint.$claim())
    assert(!announce(endpoint.$side.state, waiter))
    assert(endpoint.$side.state.flags.waiter == null && endpoint.$side.state.flags.spaceWaiter == null)
    endpoint.$restore()
    assertEquals(waiter.wakes.get, 0)
  }

  test("a message that comes before the waiter is seen by it") {
    val (server, client) = stream.init[Int]()
    client.send(1): Unit
    refuses(server)
    assert(Rounds.answered(server.recv()).nonEmpty)
  }

  test("a message that comes before the waiter of a long run is seen by it") {
    val (server, client) = stream.init[Int]()
    // Long enough for the receiver to promise that it does not sleep.
    var receiving = server
    var sending = client
    for (number <- 1 to 100) {
      sending = sending.send(number)
      receiving = drained(receiving, 1)
    }
    assert(receiving.$side.state.isUnsure)
    sending.send(1): Unit
    refuses(receiving)
  }

  test("a peer that leaves before the waiter is seen by it") {
    val (server, client) = stream.init[Int]()
    abandon(client)
    refuses(server)
    val (other, sender) = stream.init[Int]()
    val full = filled(sender)
    abandon(other)
    refuses(full)
  }

  test("space that is freed before the waiter is registered is seen by it") {
    val (server, client) = stream.init[Int]()
    val full = filled(client)
    assertEquals(full.$side.state.hasSpace, false)
    drained(server, 64): Unit
    refuses(full)
  }

  test("space that is freed before a sender joins the queue is seen by it") {
    val (server, client) = log.init()
    val state = client.$side.state
    val sender = SharedSender(client)
    while (sender.trySend(_.line(1, 1))) ()
    val queue = new SenderQueue
    val waiter = new Counted
    assertEquals(queue.join(waiter, state), true)
    queue.wake()
    assertEquals((waiter.wakes.get, queue.isEmpty), (1, true))
    (1 to 64).foldLeft(server)((server, _) =>
      server.recv() match {
        case log.Log.Line(_, _, next) => next
        case other                    => fail(other.toString)
      }
    ): Unit
    assertEquals((queue.join(waiter, state), queue.isEmpty), (false, true))
  }

  test("a ring before the set sleeps is heard, and the next one wakes it") {
    val doorbell = new Doorbell
    val bell = new Doorbell.Bell(doorbell, 0)
    val set = new Counted
    bell.wake()
    assertEquals(doorbell.sleep(set), false)
    assert(doorbell.take() eq bell)
    assert(bell.answer() == null)
    assert(doorbell.sleep(set) && doorbell.sleeps(set))
    bell.wake()
    bell.wake()
    assertEquals((set.wakes.get, doorbell.sleeps(set)), (1, false))
  }

  test("a thread that has to wait again is woken again") {
    val beside = new Beside({
      val waiter = new Waiter.Parked
      for (_ <- 1 to 3) {
        waiter.wake()
        waiter.park(this, Long.MaxValue)
      }
    })
    beside.join()
  }
}
