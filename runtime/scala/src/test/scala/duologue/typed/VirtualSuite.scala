package duologue

import _root_.protocols.bank
import duologue.protocols.{log, stream}
import java.util.concurrent.CountDownLatch
import java.util.concurrent.atomic.{AtomicInteger, AtomicReference}

/** Everything that waits, in virtual threads: many more than there are carriers, so that a thread that kept its carrier would
  * stop the others. Virtual threads exist from Java 21 on, and these tests fail with an older version, although the source
  * compiles with 17.
  */
final class VirtualSuite extends RuntimeSuite {

  private val start =
    try Some(classOf[Thread].getMethod("startVirtualThread", classOf[Runnable]))
    catch { case _: NoSuchMethodException => None }

  /** Runs all bodies at once, and throws what one of them threw. */
  private def together(bodies: IndexedSeq[() => Unit]): Unit = {
    assert(start.nonEmpty, "this Java has no virtual threads: set DUOLOGUE_JAVA to the `java` of a JDK 21 or newer")
    val thrown = new AtomicReference[Throwable]()
    val done = new CountDownLatch(bodies.size)
    bodies.foreach { body =>
      val task: Runnable = () =>
        try body()
        catch { case failure: Throwable => thrown.set(failure) }
        finally done.countDown()
      start.foreach(_.invoke(null, task): Unit)
    }
    done.await()
    Option(thrown.get).foreach(failure => throw failure)
  }

  test("100,000 sessions, each with a virtual thread on either side") {
    val served = new AtomicInteger()
    together((1 to 100000).flatMap { _ =>
      val (server, client) = bank.init()
      List(
        () => {
          val answering = server.recv().next
          served.incrementAndGet(): Unit
          abandon(answering.ok())
        },
        () => client.login("holk", "1234").recv() match {
          case bank.LoginResponse.Ok(next) => abandon(next)
          case other                       => throw new AssertionError(other)
        }
      )
    })
    assertEquals(served.get, 100000)
  }

  test("selects, sets, shared senders and full buffers") {
    val received = new AtomicInteger()
    def count(message: stream.Stream[Int]): Option[stream.server.Stream[Int]] = message match {
      case stream.Stream.Send(_, next) =>
        received.incrementAndGet(): Unit
        Some(next)
      case _ => None
    }
    def send(client: stream.client.Stream[Int]): Unit = (1 to 200).foldLeft(client)((client, i) => client.send(i)).stop()
    together((1 to 200).flatMap { _ =>
      val (one, first) = stream.init[Int]()
      val (two, second) = stream.init[Int]()
      val (three, third) = stream.init[Int]()
      val (four, log0) = log.init()
      val shared = SharedSender(log0)
      val other = shared.share()
      def write(sender: SharedSender[log.client.Log]): Unit = {
        for (i <- 1 to 100) sender.send(_.line(0, i))
        sender.close()
      }
      List(
        () => send(first),
        () => send(second),
        () => send(third),
        () => write(shared),
        () => write(other),
        () => {
          var open = Vector(one, two)
          while (open.nonEmpty) open = Select.from(open.map(end => end.on(count(_)).map(next => open.filterNot(_ eq end) ++ next))).recv()
        },
        () => {
          val set = PortSet[Any, Unit]()
          set.add(three, ())
          set.add(four, ())
          while (set.nonEmpty) set.recv() match {
            case PortSet.Received(_, message: stream.Stream[_]) =>
              count(message.asInstanceOf[stream.Stream[Int]]).foreach(next => set.add(next, ()))
            case PortSet.Received(_, log.Log.Line(_, _, next)) =>
              received.incrementAndGet(): Unit
              set.add(next, ())
            case _ => ()
          }
        }
      )
    })
    assertEquals(received.get, 200 * 800)
  }

  test("virtual threads that wait for nothing but each other come to an end") {
    together((1 to 300).flatMap { seed =>
      val (one, first) = stream.init[Int]()
      val (two, second) = stream.init[Int]()
      val (three, third) = stream.init[Int]()
      val (four, fourth) = stream.init[Int]()
      val (five, fifth) = stream.init[Int]()
      List(
        () => Rounds.serve(one),
        () => Rounds.converse(Vector(first), 200, 600, seed.toLong),
        () => {
          var open = Vector(two, three)
          while (open.nonEmpty) open =
            Select.from(open.map(end => end.on(message => open.filterNot(_ eq end) ++ Rounds.answered(message)))).recv()
        },
        () => Rounds.converse(Vector(second, third), 200, 300, seed.toLong),
        () => {
          val set = PortSet[stream.Stream[Int], Unit]()
          set.add(four, ())
          set.add(five, ())
          while (set.nonEmpty) set.recv() match {
            case PortSet.Received(_, message) => Rounds.answered(message).foreach(next => set.add(next, ()))
            case closed                       => throw new AssertionError(closed)
          }
        },
        () => Rounds.converse(Vector(fourth, fifth), 200, 300, seed.toLong)
      )
    })
  }

  test("virtual threads that only send through shared senders, and one that only receives, miss no wake-up") {
    val received = new AtomicInteger()
    together((1 to 20).flatMap { _ =>
      val (server, client) = log.init()
      val senders = Vector.iterate(SharedSender(client), 4)(_.share())
      val receiving = () => {
        @scala.annotation.tailrec
        def receive(server: log.server.Log): Unit = server.recvOrClosed() match {
          case Right(log.Log.Line(_, _, next)) =>
            received.incrementAndGet(): Unit
            receive(next)
          case _ => ()
        }
        receive(server)
      }
      receiving +: senders.map { own => () =>
        for (number <- 1 to 2000) own.send(_.line(1, number))
        own.close()
      }
    })
    assertEquals(received.get, 20 * 4 * 2000)
  }
}
