package duologue.bench

import duologue.SharedSender
import duologue.bench.talks.{ping_pong, stream}
import org.apache.pekko.actor.typed.{ActorRef, ActorSystem, Behavior}
import org.apache.pekko.actor.typed.scaladsl.Behaviors
import scala.collection.mutable
import scala.concurrent.duration.DurationInt

/** Big bang: each of some virtual threads, or actors, sends a message to all others, and each message is answered. */
object BigBang {

  /** What a case runs with this many actors. An operation is a round. */
  def of(peer: String, count: Int): Origin = peer match {
    case "duologue"                 => new Ours(count)
    case "duologue, shared senders" => new Shared(count)
    case "Pekko actors"             => new OfPekko(count)
    // With space for everything that can be in flight, because an actor that waits for space reads nothing.
    case link                       => new Mailboxes(Array.fill(count)(Link.of[Mail](link, 3 * count)))
  }

  /** A session for each pair, in each direction. Each waits for one session after the other: all others send before they wait. */
  private final class Ours(count: Int) extends OnThreads(count) {
    private val servers = Array.ofDim[ping_pong.server.Ping](count, count - 1)
    private val clients = Array.ofDim[ping_pong.client.Ping](count, count - 1)
    for (asking <- 0 until count; distance <- 1 until count) {
      val (server, client) = ping_pong.init()
      clients(asking)(distance - 1) = client
      servers((asking + distance) % count)(distance - 1) = server
    }

    def play(number: Int, rounds: Int): Long = {
      var sum = 0L
      val own = clients(number)
      val asked = servers(number)
      val waiting = new Array[ping_pong.client.Pong](own.length)
      var round = 0
      while (round < rounds) {
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
          sum += pong.value
          own(i) = pong.next
          i += 1
        }
        round += 1
      }
      sum
    }
  }

  /** A session for each actor, whose sending end all others share. A mail is twice the number of its sender, and 1 more if it asks. */
  private final class Shared(count: Int) extends OnThreads(count) {
    private val sessions = Array.fill(count)(stream.init())
    private val servers = sessions.map(_._1)
    private val senders = sessions.map(session => SharedSender(session._2))

    def play(number: Int, rounds: Int): Long = {
      var server = servers(number)
      var toCome = 0
      var toAnswer = (count - 1) * rounds
      var sum = 0L
      // Each is twice the number of the actor to which it goes, and 1 more if it asks.
      val out = mutable.Queue.empty[Long]

      def read(message: stream.Stream): Unit = message match {
        case stream.Stream.Send(mail, next) =>
          server = next
          if (mail % 2L == 1L) {
            toAnswer -= 1
            out.enqueue(mail - 1L): Unit
          } else {
            toCome -= 1
            sum += number
          }
      }

      // Ends at a full mailbox, and reads then, because that actor may wait for space in this one.
      def flush(): Unit = {
        var isSent = true
        while (isSent && out.nonEmpty) {
          val next = out.dequeue()
          isSent = senders((next / 2L).toInt).trySend(_.send(2L * number + next % 2L))
          if (!isSent) out.enqueue(next)
        }
      }

      var round = 0
      while (round < rounds) {
        round += 1
        toCome = count - 1
        for (distance <- 1 until count) out.enqueue(2L * ((number + distance) % count) + 1L)
        flush()
        while (out.nonEmpty || toCome > 0 || (round == rounds && toAnswer > 0)) {
          var mail = if (out.isEmpty) Some(server.recv()) else server.recvWithin(1.milli)
          while (mail.nonEmpty) {
            read(mail.get)
            mail = server.tryRecv()
          }
          flush()
        }
      }
      servers(number) = server
      sum
    }
  }

  /** From an actor, which wants an answer, or which answers. */
  final case class Mail(from: Int, asks: Boolean)

  private final class Mailboxes(all: Array[Link[Mail]]) extends OnThreads(all.length) {
    private val count = all.length

    def play(number: Int, rounds: Int): Long = {
      var sum = 0L
      var toAnswer = (count - 1) * rounds
      var round = 0
      while (round < rounds) {
        var distance = 1
        while (distance < count) {
          all((number + distance) % count).put(Mail(number, asks = true))
          distance += 1
        }
        round += 1
        var toCome = count - 1
        while (toCome > 0 || (round == rounds && toAnswer > 0)) {
          val mail = all(number).take()
          if (mail.asks) {
            toAnswer -= 1
            all(mail.from).put(Mail(number, asks = false))
          } else {
            toCome -= 1
            sum += number
          }
        }
      }
      sum
    }
  }

  private sealed trait Message
  private final case class Start(others: Vector[ActorRef[Message]], rounds: Int, done: Done) extends Message
  private final case class Ping(from: ActorRef[Message]) extends Message
  private case object Pong extends Message

  private def actor(number: Int): Behavior[Message] = Behaviors.setup { context =>
    var others = Vector.empty[ActorRef[Message]]
    var done: Done = null
    var rounds, toCome, toAnswer = 0
    var sum = 0L

    def ask(): Unit = {
      toCome = others.size
      others.foreach(_ ! Ping(context.self))
    }

    def look(): Unit = if (done != null && rounds == 0 && toAnswer == 0) done(sum)

    Behaviors.receiveMessage { message =>
      message match {
        case Start(all, some, of) =>
          others = all
          done = of
          rounds = some
          sum = 0L
          toAnswer += all.size * some
          ask()
        case Ping(from) =>
          // Others may have been started before.
          toAnswer -= 1
          from ! Pong
          look()
        case Pong =>
          toCome -= 1
          sum += number
          if (toCome == 0) {
            rounds -= 1
            if (rounds > 0) ask() else look()
          }
      }
      Behaviors.same
    }
  }

  private final class OfPekko(count: Int) extends Origin {
    private val made = new java.util.concurrent.CompletableFuture[Vector[ActorRef[Message]]]
    private val system = ActorSystem[Nothing](
      Behaviors.setup[Nothing] { context =>
        made.complete(Vector.tabulate(count)(number => context.spawn(actor(number), "a" + number.toString)))
        Behaviors.empty
      },
      "bang",
      Pekko.quiet
    )

    def run(rounds: Int): Long = {
      val all = made.join()
      val done = new Done(count)
      all.indices.foreach { number =>
        val others = Vector.tabulate(count - 1)(distance => all((number + distance + 1) % count))
        all(number) ! Start(others, rounds, done)
      }
      done.await()
    }

    override def end(): Unit = Pekko.end(system)
  }
}
