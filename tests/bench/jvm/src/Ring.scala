package duologue.bench

import duologue.bench.talks.stream
import java.util.concurrent.{CountDownLatch, TimeUnit}
import org.openjdk.jmh.annotations.*

/** Virtual threads in a ring, each of which sends a value to its neighbour and then takes one. */
@State(Scope.Benchmark)
@BenchmarkMode(Array(Mode.AverageTime))
@OutputTimeUnit(TimeUnit.NANOSECONDS)
class Ring {
  @Param(Array("ArrayBlockingQueue", "duologue", "LinkedTransferQueue", "jox channel"))
  var peer: String = scala.compiletime.uninitialized

  @Param(Array("100", "1000"))
  var threads: Int = scala.compiletime.uninitialized

  private var ring: Ring.Places = scala.compiletime.uninitialized

  @Setup
  def begin(): Unit = ring = Ring.of(peer, threads)

  @Benchmark
  @OperationsPerInvocation(Ring.Count)
  def message(): Unit = {
    val done = new CountDownLatch(threads)
    val rounds = Ring.Count / threads
    var i = 0
    while (i < threads) {
      val place = i
      Thread.startVirtualThread { () =>
        ring.pass(place, rounds)
        done.countDown()
      }: Unit
      i += 1
    }
    done.await()
  }
}

object Ring {
  final val Count = 50000

  trait Places {
    def pass(place: Int, rounds: Int): Unit
  }

  private def of(peer: String, threads: Int): Places = peer match {
    case "duologue" => new Ours(threads)
    case link       => new Links(Array.fill(threads)(Link.of[String](link)))
  }

  private final class Ours(threads: Int) extends Places {
    private val sessions = Array.fill(threads)(stream.init())
    private val servers = sessions.map(_._1)
    private val clients = sessions.map(_._2)

    def pass(place: Int, rounds: Int): Unit = {
      val from = if (place == 0) threads - 1 else place - 1
      var client = clients(place)
      var server = servers(from)
      var i = 0
      while (i < rounds) {
        client = client.send(i.toLong)
        server = server.recv().next
        i += 1
      }
      clients(place) = client
      servers(from) = server
    }
  }

  private final class Links(links: Array[Link[String]]) extends Places {
    def pass(place: Int, rounds: Int): Unit = {
      val from = links(if (place == 0) links.length - 1 else place - 1)
      var i = 0
      while (i < rounds) {
        links(place).put("token")
        from.take(): Unit
        i += 1
      }
    }
  }
}
