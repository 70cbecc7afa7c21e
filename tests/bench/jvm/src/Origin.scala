package duologue.bench

import duologue.{PortSet, SharedSender, abandon}
import duologue.bench.talks.stream
import java.util.concurrent.CountDownLatch
import java.util.concurrent.atomic.LongAdder
import org.apache.pekko.actor.typed.{ActorRef, ActorSystem, Behavior}
import org.apache.pekko.actor.typed.scaladsl.Behaviors

/** A case that is run a number of times. */
trait Origin {

  /** Returns the sum of what arrived. */
  def run(operations: Int): Long
  def end(): Unit = ()
}

/** Waits for the sums of several threads or actors. */
final class Done(count: Int) {
  private val latch = new CountDownLatch(count)
  private val total = new LongAdder

  def apply(sum: Long): Unit = {
    total.add(sum)
    latch.countDown()
  }

  def await(): Long = {
    latch.await()
    total.sum
  }
}

/** Virtual threads. */
abstract class OnThreads(threads: Int) extends Origin {

  /** What the thread with this number does. Returns the sum of what arrived there. */
  def play(number: Int, operations: Int): Long

  def run(operations: Int): Long = {
    val done = new Done(threads)
    var i = 0
    while (i < threads) {
      val number = i
      Thread.startVirtualThread(() => done(play(number, operations))): Unit
      i += 1
    }
    done.await()
  }
}

object Origin {

  private def of(origin: String, size: Int, peer: String): Origin = origin match {
    case "msgsend" => MsgSend.of(peer, size)
    case "bang"    => BigBang.of(peer, size)
    case "ring"    => ThreadRing.of(peer, size)
  }

  /** Reads lines with an origin, its size, a number of operations and a case, and answers each with the sum of what arrived and the nanoseconds
    * that it took, for `cargo bench --bench origins`.
    */
  def serve(): Unit = Iterator.continually(Console.in.readLine()).takeWhile(_ != null).foreach { line =>
    val words = line.split(" ", 4)
    val made = of(words(0), words(1).toInt, words(3))
    val start = System.nanoTime()
    val sum = made.run(words(2).toInt)
    val time = System.nanoTime() - start
    made.end()
    println(sum.toString + " " + time.toString)
  }
}

/** Many senders and one receiver. Each sender sends as many numbers as there are operations, and ends. */
object MsgSend {

  def of(peer: String, senders: Int): Origin = peer match {
    case "duologue PortSet"      => new Set(senders)
    case "duologue SharedSender" => new Shared(senders)
    case "Pekko actors"          => new Actors(senders)
  }

  /** The first thread receives. */
  private final class Set(senders: Int) extends OnThreads(senders + 1) {
    private val sessions = Array.fill(senders)(stream.init())

    def play(number: Int, count: Int): Long = if (number == 0) receive() else {
      var client = sessions(number - 1)._2
      var n = 0L
      while (n < count) {
        client = client.send(n)
        n += 1
      }
      abandon(client)
      0L
    }

    private def receive(): Long = {
      val set = PortSet[stream.Stream, Unit]()
      sessions.foreach(session => set.add(session._1, ()))
      var sum = 0L
      while (set.nonEmpty) set.recv() match {
        case PortSet.Received(_, stream.Stream.Send(value, next)) =>
          sum += value
          set.add(next, ())
        case PortSet.Closed(_, _) => ()
      }
      sum
    }
  }

  private final class Shared(senders: Int) extends OnThreads(senders + 1) {
    private val (server, client) = stream.init()
    private val first = SharedSender(client)
    private val shared = Array.fill(senders)(first.share())
    first.close()

    def play(number: Int, count: Int): Long = if (number == 0) receive(server, 0L) else {
      val own = shared(number - 1)
      var n = 0L
      while (n < count) {
        val value = n
        own.send(_.send(value))
        n += 1
      }
      own.close()
      0L
    }

    @scala.annotation.tailrec
    private def receive(server: stream.server.Stream, sum: Long): Long = server.recvOrClosed() match {
      case Right(stream.Stream.Send(value, next)) => receive(next, sum + value)
      case Left(_)                                => sum
    }
  }

  private sealed trait Message
  private final case class Number(value: Long) extends Message
  private case object Ended extends Message
  private final case class Start(count: Int, to: ActorRef[Message]) extends Message

  private val sender: Behavior[Message] = Behaviors.receiveMessage {
    case Start(count, to) =>
      var n = 0L
      while (n < count) {
        to ! Number(n)
        n += 1
      }
      to ! Ended
      Behaviors.stopped
    case _ => Behaviors.unhandled
  }

  private final class Actors(senders: Int) extends Origin {
    private val started = new CountDownLatch(1)
    private val done = new Done(1)
    @volatile private var begin: Int => Unit = scala.compiletime.uninitialized
    private val system = ActorSystem[Nothing](
      Behaviors.setup[Nothing] { context =>
        var sum = 0L
        var open = senders
        val receiver = context.spawn(
          Behaviors.receiveMessage[Message] {
            case Number(value) =>
              sum += value
              Behaviors.same
            case _ =>
              open -= 1
              if (open == 0) done(sum)
              Behaviors.same
          },
          "receiver"
        )
        val all = Vector.tabulate(senders)(number => context.spawn(sender, "s" + number.toString))
        begin = count => all.foreach(_ ! Start(count, receiver))
        started.countDown()
        Behaviors.empty
      },
      "msgsend",
      Pekko.quiet
    )
    started.await()

    def run(count: Int): Long = {
      begin(count)
      done.await()
    }

    override def end(): Unit = Pekko.end(system)
  }
}
