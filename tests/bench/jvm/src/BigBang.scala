package duologue.bench

import com.softwaremill.jox.Channel
import duologue.bench.talks.ping_pong
import java.util.concurrent.{CountDownLatch, LinkedTransferQueue, TimeUnit}
import org.apache.pekko.actor.typed.{ActorRef, ActorSystem, Behavior}
import org.apache.pekko.actor.typed.scaladsl.Behaviors
import org.openjdk.jmh.annotations.*

/** Big bang: each of 100 virtual threads, or actors, sends a message to all others, and each message is answered. */
@State(Scope.Benchmark)
@BenchmarkMode(Array(Mode.AverageTime))
@OutputTimeUnit(TimeUnit.NANOSECONDS)
class BigBang {
  @Param(Array("LinkedTransferQueue", "duologue", "jox channel", "Pekko actors"))
  var peer: String = scala.compiletime.uninitialized

  private var actors: BigBang.Actors = scala.compiletime.uninitialized

  @Setup
  def begin(): Unit = actors = peer match {
    case "duologue"            => new BigBang.Ours
    case "LinkedTransferQueue" => new BigBang.Mailboxes(Array.fill(BigBang.Count)(new BigBang.Queue))
    case "jox channel"         => new BigBang.Mailboxes(Array.fill(BigBang.Count)(new BigBang.Jox))
    case "Pekko actors"        => new BigBang.OfPekko
  }

  @Benchmark
  @OperationsPerInvocation(BigBang.Messages)
  def bang(): Unit = actors.run()

  @TearDown
  def end(): Unit = actors.end()
}

object BigBang {
  final val Count = 100
  final val Rounds = 5
  final val Messages = 2 * Count * (Count - 1) * Rounds

  trait Actors {
    def run(): Unit
    def end(): Unit = ()
  }

  /** A virtual thread for each actor. */
  trait OnThreads extends Actors {
    def play(number: Int): Unit

    def run(): Unit = {
      val done = new CountDownLatch(Count)
      var i = 0
      while (i < Count) {
        val number = i
        Thread.startVirtualThread { () =>
          play(number)
          done.countDown()
        }: Unit
        i += 1
      }
      done.await()
    }
  }

  /** A session for each pair, in each direction. Each waits for one session after the other: all others send before they wait. */
  private final class Ours extends OnThreads {
    private val servers = Array.ofDim[ping_pong.server.Ping](Count, Count - 1)
    private val clients = Array.ofDim[ping_pong.client.Ping](Count, Count - 1)
    for (asking <- 0 until Count; distance <- 1 until Count) {
      val (server, client) = ping_pong.init()
      clients(asking)(distance - 1) = client
      servers((asking + distance) % Count)(distance - 1) = server
    }

    def play(number: Int): Unit = {
      val own = clients(number)
      val asked = servers(number)
      val waiting = new Array[ping_pong.client.Pong](own.length)
      var round = 0
      while (round < Rounds) {
        var i = 0
        while (i < own.length) {
          waiting(i) = own(i).ping(number.toLong)
          i += 1
        }
        i = 0
        while (i < asked.length) {
          val ping = asked(i).recv()
          asked(i) = ping.next.pong(ping.value)
          i += 1
        }
        i = 0
        while (i < own.length) {
          val pong = waiting(i).recv()
          assert(pong.value == number)
          own(i) = pong.next
          i += 1
        }
        round += 1
      }
    }
  }

  trait Mailbox {
    def put(mail: Mail): Unit
    def take(): Mail
  }

  /** From an actor, which wants an answer, or which answers. */
  final case class Mail(from: Int, asks: Boolean)

  private final class Queue extends Mailbox {
    private val queue = new LinkedTransferQueue[Mail]
    def put(mail: Mail): Unit = queue.put(mail)
    def take(): Mail = queue.take()
  }

  /** With space for everything that can be in flight, because an actor that waits for space reads nothing. */
  private final class Jox extends Mailbox {
    private val channel = Channel.newBufferedChannel[Mail](3 * Count)
    def put(mail: Mail): Unit = channel.send(mail)
    def take(): Mail = channel.receive()
  }

  private final class Mailboxes(all: Array[? <: Mailbox]) extends OnThreads {
    def play(number: Int): Unit = {
      var toAnswer = (Count - 1) * Rounds
      var round = 0
      while (round < Rounds) {
        var distance = 1
        while (distance < Count) {
          all((number + distance) % Count).put(Mail(number, asks = true))
          distance += 1
        }
        round += 1
        var toCome = Count - 1
        while (toCome > 0 || (round == Rounds && toAnswer > 0)) {
          val mail = all(number).take()
          if (mail.asks) {
            toAnswer -= 1
            all(mail.from).put(Mail(number, asks = false))
          } else toCome -= 1
        }
      }
    }
  }

  private sealed trait Message
  private final case class Start(others: Vector[ActorRef[Message]], done: CountDownLatch) extends Message
  private final case class Ping(from: ActorRef[Message]) extends Message
  private case object Pong extends Message

  private def actor(): Behavior[Message] = Behaviors.setup { context =>
    var others = Vector.empty[ActorRef[Message]]
    var done: CountDownLatch = null
    var rounds, toCome, toAnswer = 0

    def ask(): Unit = {
      toCome = Count - 1
      others.foreach(_ ! Ping(context.self))
    }

    def look(): Unit = if (done != null && rounds == 0 && toAnswer == 0) done.countDown()

    Behaviors.receiveMessage { message =>
      message match {
        case Start(all, latch) =>
          others = all
          done = latch
          rounds = Rounds
          toAnswer += (Count - 1) * Rounds
          ask()
        case Ping(from) =>
          // Others may have been started before.
          toAnswer -= 1
          from ! Pong
          look()
        case Pong =>
          toCome -= 1
          if (toCome == 0) {
            rounds -= 1
            if (rounds > 0) ask() else look()
          }
      }
      Behaviors.same
    }
  }

  private final class OfPekko extends Actors {
    private val made = new java.util.concurrent.CompletableFuture[Vector[ActorRef[Message]]]
    private val system = ActorSystem[Nothing](
      Behaviors.setup[Nothing] { context =>
        made.complete(Vector.tabulate(Count)(number => context.spawn(actor(), "a" + number.toString)))
        Behaviors.empty
      },
      "bang",
      Pekko.quiet
    )

    def run(): Unit = {
      val all = made.join()
      val done = new CountDownLatch(Count)
      all.indices.foreach { number =>
        val others = Vector.tabulate(Count - 1)(distance => all((number + distance + 1) % Count))
        all(number) ! Start(others, done)
      }
      done.await()
    }

    override def end(): Unit = Pekko.end(system)
  }
}
