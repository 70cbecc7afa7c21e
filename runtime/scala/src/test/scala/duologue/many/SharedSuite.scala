package duologue

import duologue.protocols.{log, stream}
import java.util.concurrent.atomic.AtomicInteger
import scala.concurrent.{Await, ExecutionContext, Future}
import scala.concurrent.duration._
import scala.util.Using

/** Many senders on one endpoint. */
final class SharedSuite extends RuntimeSuite {

  private implicit val parasitic: ExecutionContext = ExecutionContext.parasitic

  private type Sender = SharedSender[log.client.Log]

  private def shared(): (log.server.Log, Sender) = {
    val (server, client) = log.init()
    (server, SharedSender(client))
  }

  private def next(server: log.server.Log): ((Int, Int), log.server.Log) = server.recv() match {
    case log.Log.Line(from, number, next) => ((from, number), next)
    case log.Log.Both(one, other, next) =>
      abandon(one)
      abandon(other)
      ((0, 0), next)
    case log.Log.Follow(numbers, next) =>
      abandon(numbers)
      ((0, 0), next)
  }

  @scala.annotation.tailrec
  private def drained(server: log.server.Log, count: Int): log.server.Log =
    if (count == 0) server else drained(next(server)._2, count - 1)

  private def fill(sender: Sender): Int = Iterator.continually(sender.trySend(_.line(9, 9))).takeWhile(sent => sent).size

  test("the senders' messages arrive in order, and the endpoint that was shared is consumed") {
    val (server, client) = log.init()
    val sender = Using.resource(client)(client => SharedSender(client))
    used(client.line(0, 0))
    val other = sender.share()
    sender.send(_.line(1, 1))
    other.send(_.line(2, 1).line(2, 2))
    sender.send(_.line(1, 2))
    val (one, after) = next(server)
    val (two, rest) = next(after)
    assertEquals(List(one, two, next(rest)._1), List((1, 1), (2, 1), (2, 2)))
  }

  test("the last sender that is closed leaves the session") {
    val (server, sender) = shared()
    val other = sender.share()
    sender.send(_.line(1, 1))
    sender.close()
    sender.close()
    intercept[IllegalStateException](sender.send(_.line(1, 2))): Unit
    intercept[IllegalStateException](sender.share()): Unit
    other.send(_.line(2, 1))
    val rest = drained(server, 2)
    assertEquals(rest.tryRecv(), None)
    other.close()
    closed(rest.recv())
  }

  test("all senders are told that the peer has left, also those that wait") {
    val (server, sender) = shared()
    assertEquals(fill(sender), 255)
    val waiting = List.fill(3)(new Beside(closed(sender.send(_.line(1, 1)))))
    waiting.foreach(_.asleep())
    val later = sender.sendAsync(_.line(1, 1))
    abandon(server)
    waiting.foreach(_.join())
    closed(Await.result(later, 1.minute))
    closed(sender.trySend(_.line(1, 1)))
    closed(sender.share().send(_.line(1, 1)))
  }

  test("a payload comes back if it cannot be sent, and a refused value spoils nothing") {
    val (server, sender) = shared()
    val (inner, client) = stream.init[Int]()
    intercept[IllegalArgumentException](sender.send(_.line(256, 1))): Unit
    intercept[IllegalArgumentException](sender.send(_.line(1, 1).line(256, 1))): Unit
    sender.send(_.line(1, 2))
    val (first, rest) = next(server)
    assertEquals((first, next(rest)._1), ((1, 1), (1, 2)))
    abandon(rest)
    closed(sender.send(_.follow(inner)))
    client.send(1): Unit
    assert(inner.tryRecv().nonEmpty)
  }

  test("waiting for space, trying, and giving up") {
    val (server, sender) = shared()
    assertEquals(fill(sender), 255)
    assertEquals(sender.trySend(_.line(1, 1)), false)
    assertEquals(sender.sendWithin(1.milli)(_.line(1, 1)), false)
    val interrupt = new Beside(interrupted(sender.send(_.line(1, 1))))
    interrupt.asleep()
    interrupt.thread.interrupt()
    interrupt.join()
    val waiting = for (at <- 1 to 3) yield new Beside(
      if (at == 1) assertEquals(sender.sendWithin(1.minute)(_.line(1, 1)), true) else sender.send(_.line(1, 1).line(1, 2))
    )
    waiting.foreach(_.asleep())
    val later = sender.sendAsync(_.line(1, 1))
    assert(!later.isCompleted)
    val rest = drained(server, 255)
    waiting.foreach(_.join())
    Await.result(later, 1.minute)
    assertEquals(drained(rest, 6).tryRecv(), None)
  }

  test("a message that waits for space itself does not cause waiting senders to be forgotten") {
    val (server, sender) = shared()
    assertEquals(Iterator.continually(sender.trySend(_.line(9, 9))).take(254).count(sent => sent), 254)
    val long = new Beside(sender.send(_.line(1, 1).line(1, 2).line(1, 3)))
    long.asleep()
    val others = List.fill(3)(new Beside(sender.send(_.line(2, 1))))
    others.foreach(_.asleep())
    val rest = drained(server, 254 + 6)
    (long :: others).foreach(_.join())
    assertEquals(rest.tryRecv(), None)
  }

  test("a thread that finds its space taken is woken for the next") {
    val (server, client) = log.init()
    val sender = SharedSender(client)
    def isWaiting: Boolean = client.$side.state.flags.spaceWaiter match {
      case queue: SenderQueue => !queue.isEmpty
      case _            => false
    }
    assertEquals(fill(sender), 255)
    val long = sender.sendAsync(endpoint => (1 to 64).foldLeft(endpoint)((endpoint, number) => endpoint.line(1, number)))
    val waiting = new Beside(sender.send(_.line(2, 1)))
    waiting.asleep()
    // The future continues in this thread, and fills the buffer before the thread that waits after it gets its turn.
    val rest = drained(server, 64)
    assert(long.isCompleted)
    while (!isWaiting) Thread.`yield`()
    waiting.asleep()
    val last = drained(rest, 255)
    waiting.join()
    assertEquals(drained(last, 1).tryRecv(), None)
  }

  test("forgotten senders close the session after garbage collection") {
    def forgetful(): log.server.Log = {
      val (server, sender) = shared()
      assertEquals(fill(sender.share()), 255)
      assertEquals(sender.sendWithin(1.milli)(_.line(1, 1)), false)
      drained(server, 255)
    }
    val server = forgetful()
    var over = false
    collectUntil {
      if (!over) over = try server.tryRecv().nonEmpty catch { case _: SessionClosed => true }
      over
    }
  }

  test("many threads and futures send: nothing is lost, doubled or overtakes, and interrupts lose nothing") {
    val (server, sender) = shared()
    val expected = new AtomicInteger()
    val threads = for ((shared, from) <- Vector.fill(8)(sender.share()).zipWithIndex) yield new Beside(Using.resource(shared) { own =>
      for (number <- 1 to 4000) {
        var sent = false
        while (!sent) try {
          sent = (number + from) % 5 match {
            case 0 => own.trySend(_.line(from, number))
            case 1 => own.sendWithin(1.milli)(_.line(from, number))
            case _ =>
              own.send(_.line(from, number))
              true
          }
        } catch { case _: InterruptedException => () }
        expected.incrementAndGet(): Unit
      }
    })
    def chain(own: Sender, from: Int, number: Int): Future[Unit] =
      if (number > 4000) Future.successful(own.close())
      else own.sendAsync(_.line(from, number)).flatMap { _ =>
        expected.incrementAndGet(): Unit
        chain(own, from, number + 1)
      }
    val own = Vector.fill(4)(sender.share())
    val chains = new Beside(Await.result(Future.sequence((8 until 12).map(from => chain(own(from - 8), from, 1))), 2.minutes): Unit)
    val interrupts = new Beside(while (threads.exists(_.thread.isAlive)) {
      threads.foreach(_.thread.interrupt())
      Thread.sleep(1)
    })
    sender.close()
    val last = new Array[Int](12)
    var received = 0
    var receiving = server
    closed {
      while (true) {
        val ((from, number), rest) = next(receiving)
        if (number != last(from) + 1) fail(number.toString + " after " + last(from).toString)
        last(from) = number
        received += 1
        receiving = rest
      }
    }
    (threads ++ List(chains, interrupts)).foreach(_.join())
    assertEquals((received, expected.get), (48000, 48000))
  }

  test("threads that only send and a thread that only receives miss no wake-up") {
    for (senders <- List(2, 4, 8)) {
      val (server, sender) = shared()
      val each = 60000 / senders
      val threads = for (from <- 1 to senders) yield {
        val own = sender.share()
        new Beside(Using.resource(own)(own => (1 to each).foreach(number => own.send(_.line(from, number)))))
      }
      sender.close()
      val receiving = new Beside(closed(drained(drained(server, senders * each), 1)))
      (receiving +: threads).foreach(_.join())
    }
  }
}
