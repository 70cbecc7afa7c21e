package duologue.bench

import cats.effect.IO
import cats.effect.std.Queue as CatsQueue
import cats.effect.unsafe.IORuntime
import duologue.bench.talks.ping_pong
import java.util.concurrent.{Exchanger, TimeUnit}
import org.openjdk.jmh.annotations.*
import zio.{Queue as ZioQueue, Runtime, Unsafe, ZIO}

/** A value to another thread and back. */
@State(Scope.Benchmark)
@BenchmarkMode(Array(Mode.AverageTime))
@OutputTimeUnit(TimeUnit.NANOSECONDS)
class PingPong {
  @Param(
    Array(
      "raw line (busy spin)",
      "duologue",
      "JCTools SPSC (busy spin)",
      "ArrayBlockingQueue",
      "LinkedTransferQueue",
      "SynchronousQueue",
      "Exchanger",
      "jox channel",
      "ZIO Queue",
      "cats-effect Queue"
    )
  )
  var peer: String = scala.compiletime.uninitialized

  private var dialogue: PingPong.Dialogue = scala.compiletime.uninitialized

  @Setup
  def begin(): Unit = dialogue = PingPong.of(peer)

  @Benchmark
  @OperationsPerInvocation(PingPong.Count)
  def roundTrip(): Long = dialogue.run()
}

object PingPong {
  final val Count = 1000

  /** Makes `Count` round trips and returns the sum of what came back. */
  trait Dialogue {
    def run(): Long
  }

  private def of(peer: String): Dialogue = peer match {
    case "raw line (busy spin)" => new Raw
    case "duologue"             => new Ours
    case "Exchanger"            => new Exchange
    case "ZIO Queue"            => new Zio
    case "cats-effect Queue"    => new Cats
    case link                   => new Two(Link.of(link), Link.of(link))
  }

  private final class Raw extends Dialogue {
    private val line = new Line
    private var at = 0L
    private var beside = 1L
    Beside.forever { () =>
      line.spinTo(beside)
      line.write(beside + 1)
      beside += 2
    }

    def run(): Long = {
      var i = 0
      while (i < Count) {
        line.write(at + 1)
        line.spinTo(at + 2)
        at += 2
        i += 1
      }
      at
    }
  }

  private final class Ours extends Dialogue {
    private val session = ping_pong.init()
    private var server = session._1
    private var client = session._2
    Beside.forever { () =>
      val ping = server.recv()
      server = ping.next.pong(ping.value + 1)
    }

    def run(): Long = {
      var own = client
      var sum = 0L
      var i = 0
      while (i < Count) {
        val pong = own.ping(i.toLong).recv()
        sum += pong.value
        own = pong.next
        i += 1
      }
      client = own
      sum
    }
  }

  private final class Two(there: Link[String], back: Link[String]) extends Dialogue {
    Beside.forever(() => back.put(there.take()))

    def run(): Long = {
      var sum = 0L
      var i = 0
      while (i < Count) {
        there.put("ping")
        sum += back.take().length
        i += 1
      }
      sum
    }
  }

  /** The reply depends on what came, so a round trip takes two exchanges. */
  private final class Exchange extends Dialogue {
    private val exchanger = new Exchanger[String]
    Beside.forever { () =>
      val value = exchanger.exchange("nothing")
      exchanger.exchange(value): Unit
    }

    def run(): Long = {
      var sum = 0L
      var i = 0
      while (i < Count) {
        exchanger.exchange("ping"): Unit
        sum += exchanger.exchange("nothing").length
        i += 1
      }
      sum
    }
  }

  private final class Zio extends Dialogue {
    private val (there, back) = run(ZioQueue.bounded[String](Link.Room).zip(ZioQueue.bounded[String](Link.Room)))
    run(there.take.flatMap(back.offer).forever.forkDaemon): Unit

    private def run[A](effect: ZIO[Any, Nothing, A]): A =
      Unsafe.unsafely(Runtime.default.unsafe.run(effect).getOrThrow())

    private def trips(left: Int): ZIO[Any, Nothing, Long] =
      if (left == 0) ZIO.succeed(0L) else there.offer("ping") *> back.take.flatMap(_ => trips(left - 1))

    def run(): Long = run(trips(Count))
  }

  private final class Cats extends Dialogue {
    private given IORuntime = IORuntime.global
    private val (there, back) =
      CatsQueue.bounded[IO, String](Link.Room).product(CatsQueue.bounded[IO, String](Link.Room)).unsafeRunSync()
    there.take.flatMap(back.offer).foreverM.start.unsafeRunSync(): Unit

    private def trips(left: Int): IO[Long] =
      if (left == 0) IO.pure(0L) else there.offer("ping") *> back.take.flatMap(_ => trips(left - 1))

    def run(): Long = trips(Count).unsafeRunSync()
  }
}
