package duologue

import duologue.protocols.stream
import java.util.concurrent.atomic.AtomicIntegerArray
import scala.annotation.tailrec
import scala.concurrent.duration._
import scala.util.Random

/** Two threads on random walks through one protocol, which wait in every form, are interrupted, and close the session at any
  * moment. They send endpoints, each with a number to be read inside, so each endpoint is counted wherever it ends.
  */
final class WalkSuite extends RuntimeSuite {

  private type Inner = stream.server.Stream[Int]

  private val Walks = 1500

  /** Unless it is `disturbed`, no thread interrupts, closes the session or waits with a time limit, and so nothing wakes a side
    * that was forgotten.
    */
  private final class Walk(seed: Long, disturbed: Boolean) {
    private val (server, client) = stream.init[Inner](capacity = if (seed % 3 == 0) 0 else 7)
    private val room = 5
    private val inside = Vector.fill(60)(stream.init[Int]())
    /** What became of each endpoint: 1 for sent, 2 for refused. */
    private val sent = new AtomicIntegerArray(inside.size)
    private val received = new AtomicIntegerArray(inside.size)

    /** Repeats an operation that an interrupt has ended: the endpoint can be used again. */
    @tailrec
    private def insist[R](body: () => R): R =
      (try Some(body())
      catch { case _: InterruptedException => None }) match {
        case Some(result) => result
        case None         => insist(body)
      }

    @tailrec
    private def hear[M](endpoint: RecvEndpoint[M], random: Random): M = {
      val heard = insist(() =>
        (if (disturbed) random.nextInt(4) else 4 + random.nextInt(2)) match {
          case 0 | 4 => Some(endpoint.recv())
          case 5 => Some(Select(endpoint.on(message => message)).recv())
          case 1 => endpoint.recvWithin(random.nextInt(50).micros)
          case 2 => endpoint.tryRecv()
          case _ => Select(endpoint.on(message => message)).recvWithin(random.nextInt(50).micros)
        }
      )
      heard match {
        case Some(message) => message
        case None          => hear(endpoint, random)
      }
    }

    private def speak(): Unit = {
      val random = new Random(seed)
      var next = 0

      @tailrec
      def walk(client: stream.client.Stream[Inner], run: Int): Unit = random.nextInt(40) match {
        case 0 if disturbed => abandon(client)
        case 1 => client.stop()
        case choice if choice < 10 || run == room =>
          insist(() => client.swap()) match {
            case back if disturbed && random.nextInt(20) == 0 => abandon(back)
            case back                            => walk(hear(back, random).next, 0)
          }
        case _ if next < inside.size =>
          val at = next
          next += 1
          inside(at)._2.send(at): Unit
          sent.set(at, 2)
          val following = insist(() => client.send(inside(at)._1))
          sent.set(at, 1)
          walk(following, run + 1)
        case _ => client.stop()
      }
      try walk(client, 0)
      catch { case _: SessionClosed => () }
    }

    private def listen(): Unit = {
      val random = new Random(-seed - 1)

      @tailrec
      def walk(server: stream.server.Stream[Inner]): Unit =
        if (disturbed && random.nextInt(60) == 0) abandon(server)
        else
          hear(server, random) match {
            case stream.Stream.Send(inner, next) =>
              inner.recv() match {
                case stream.Stream.Send(at, again) =>
                  received.incrementAndGet(at): Unit
                  abandon(again)
                case other => fail(other.toString)
              }
              walk(next)
            case stream.Stream.Swap(next) => walk(next.swapped())
            case stream.Stream.Stop()     => ()
          }
      try walk(server)
      catch { case _: SessionClosed => () }
    }

    /** How many endpoints were sent and received. */
    def run(): (Int, Int) = {
      val threads = List(new Beside(speak()), new Beside(listen()))
      val random = new Random(seed)
      while (disturbed && threads.exists(_.thread.isAlive)) {
        threads.foreach(beside => if (random.nextBoolean()) beside.thread.interrupt())
        Thread.sleep(0L, 20000)
      }
      threads.foreach(_.join())
      val ends = inside.indices.map { at =>
        val (own, peer) = inside(at)
        (sent.get(at), received.get(at)) match {
          case (0, 0) => (0, 0)
          case (1, times) if times <= 1 =>
            // Received and closed, or destroyed unread: either way it is not the sender's, and its session is over.
            used(own.tryRecv())
            closed(inside(at)._2.$at(1L).asInstanceOf[stream.client.Stream[Int]].send(0))
            (1, times)
          case (2, 0) =>
            assert(own.tryRecv().nonEmpty, "an endpoint that was not sent is still the sender's")
            (0, 0)
          case other => fail(at.toString + " of " + peer.toString + " came to " + other.toString)
        }
      }
      (ends.map(_._1).sum, ends.map(_._2).sum)
    }
  }

  test("random walks, interrupts and closing: every endpoint that was sent is received once or destroyed, and none stays open") {
    val counts = (1 to Walks).map(seed => new Walk(seed.toLong, disturbed = true).run())
    val (sent, received) = (counts.map(_._1).sum, counts.map(_._2).sum)
    assert(received > Walks && sent > received, (sent, received).toString)
  }

  test("undisturbed random walks: every endpoint that was sent is received") {
    val counts = (1 to Walks).map(seed => new Walk(seed.toLong, disturbed = false).run())
    val (sent, received) = (counts.map(_._1).sum, counts.map(_._2).sum)
    assert(received > Walks && sent == received, (sent, received).toString)
  }
}
