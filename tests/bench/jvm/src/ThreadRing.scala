package duologue.bench

import duologue.bench.talks.stream
import java.util.concurrent.{CountDownLatch, TimeUnit}
import org.apache.pekko.actor.typed.{ActorRef, ActorSystem, Behavior}
import org.apache.pekko.actor.typed.scaladsl.Behaviors
import org.openjdk.jmh.annotations.*

/** The thread-ring of the Computer Language Benchmarks Game: 503 virtual threads, or actors, and one token, which each passes on. */
@State(Scope.Benchmark)
@BenchmarkMode(Array(Mode.AverageTime))
@OutputTimeUnit(TimeUnit.NANOSECONDS)
class ThreadRing {
  @Param(Array("LinkedTransferQueue", "duologue", "jox channel", "Pekko actors"))
  var peer: String = scala.compiletime.uninitialized

  private var ring: ThreadRing.Places = scala.compiletime.uninitialized

  @Setup
  def begin(): Unit = ring = peer match {
    case "duologue"     => new ThreadRing.Ours
    case "Pekko actors" => new ThreadRing.Actors
    case link           => new ThreadRing.Links(Array.fill(ThreadRing.Threads)(Link.of[String](link)))
  }

  @Benchmark
  @OperationsPerInvocation(ThreadRing.Count)
  def pass(): Unit = ring.run()

  @TearDown
  def end(): Unit = ring.end()
}

object ThreadRing {
  final val Threads = 503
  final val Laps = 100
  final val Count = Threads * Laps

  trait Places {

    /** Passes the token around for all laps. */
    def run(): Unit
    def end(): Unit = ()
  }

  /** Virtual threads. The first one has the token first and last. */
  trait Passing extends Places {
    def pass(place: Int): Unit

    def run(): Unit = {
      val done = new CountDownLatch(Threads)
      var i = 0
      while (i < Threads) {
        val place = i
        Thread.startVirtualThread { () =>
          pass(place)
          done.countDown()
        }: Unit
        i += 1
      }
      done.await()
    }
  }

  private final class Ours extends Passing {
    private val sessions = Array.fill(Threads)(stream.init())
    private val servers = sessions.map(_._1)
    private val clients = sessions.map(_._2)

    def pass(place: Int): Unit = {
      val from = if (place == 0) Threads - 1 else place - 1
      var client = clients(place)
      var server = servers(from)
      var i = 0
      while (i < Laps) {
        if (place == 0) client = client.send(i.toLong)
        server = server.recv().next
        if (place != 0) client = client.send(i.toLong)
        i += 1
      }
      clients(place) = client
      servers(from) = server
    }
  }

  private final class Links(links: Array[Link[String]]) extends Passing {
    def pass(place: Int): Unit = {
      val from = links(if (place == 0) Threads - 1 else place - 1)
      var i = 0
      while (i < Laps) {
        if (place == 0) links(place).put("token")
        from.take(): Unit
        if (place != 0) links(place).put("token")
        i += 1
      }
    }
  }

  private sealed trait Message
  private final case class Next(actor: ActorRef[Message]) extends Message
  private final case class Token(left: Int, done: CountDownLatch) extends Message

  private def actor(next: Option[ActorRef[Message]]): Behavior[Message] = Behaviors.receiveMessage {
    case Next(other)    => actor(Some(other))
    case Token(0, done) =>
      done.countDown()
      Behaviors.same
    case Token(left, done) =>
      next.foreach(_ ! Token(left - 1, done))
      Behaviors.same
  }

  private final class Actors extends Places {
    private val first = new java.util.concurrent.CompletableFuture[ActorRef[Message]]
    private val system = ActorSystem[Nothing](
      Behaviors.setup[Nothing] { context =>
        val all = Vector.tabulate(Threads)(place => context.spawn(actor(None), "a" + place.toString))
        all.indices.foreach(place => all(place) ! Next(all((place + 1) % Threads)))
        first.complete(all.head)
        Behaviors.empty
      },
      "ring",
      Pekko.quiet
    )

    def run(): Unit = {
      val done = new CountDownLatch(1)
      first.join() ! Token(Count, done)
      done.await()
    }

    override def end(): Unit = Pekko.end(system)
  }
}
