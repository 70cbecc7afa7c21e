package duologue.bench

import cats.effect.IO
import cats.effect.std.Queue as CatsQueue
import cats.effect.unsafe.IORuntime
import duologue.bench.talks.stream
import java.util.concurrent.TimeUnit
import org.jctools.queues.SpscArrayQueue
import org.openjdk.jmh.annotations.*
import zio.{Queue as ZioQueue, Runtime, Unsafe, ZIO}

/** Values to another thread, as fast as that thread takes them. */
@State(Scope.Benchmark)
@BenchmarkMode(Array(Mode.AverageTime))
@OutputTimeUnit(TimeUnit.NANOSECONDS)
class Stream {
  @Param(
    Array(
      "JCTools SPSC (busy spin)",
      "duologue",
      "JCTools SPSC, new objects (busy spin)",
      "ArrayBlockingQueue",
      "LinkedTransferQueue",
      "SynchronousQueue",
      "jox channel",
      "ZIO Queue",
      "cats-effect Queue"
    )
  )
  var peer: String = scala.compiletime.uninitialized

  private var flow: Stream.Flow = scala.compiletime.uninitialized

  @Setup
  def begin(): Unit = flow = Stream.of(peer)

  @Benchmark
  @OperationsPerInvocation(Stream.Count)
  def message(): Unit = flow.run()
}

object Stream {
  final val Count = 10000

  /** Sends `Count` values, the last of which is recognisable, and returns when it has been received. */
  trait Flow {
    def run(): Unit
  }

  private def of(peer: String): Flow = peer match {
    case "duologue"          => new Ours
    case Made.Name           => new Made
    case "ZIO Queue"         => new Zio
    case "cats-effect Queue" => new Cats
    case link                => new One(Link.of(link))
  }

  private final class Ours extends Flow {
    private val session = stream.init()
    private var server = session._1
    private var client = session._2
    private val done = new Line
    private var runs = 0L
    Beside.forever { () =>
      var receiving = server
      var last = 0L
      while (last == 0L) {
        val message = receiving.recv()
        last = message.value
        receiving = message.next
      }
      server = receiving
      done.write(last)
    }

    def run(): Unit = {
      var own = client
      var i = 1
      while (i < Count) {
        own = own.send(0L)
        i += 1
      }
      runs += 1
      client = own.send(runs)
      done.waitFor(runs)
    }
  }

  private final class One(link: Link[java.lang.Long]) extends Flow {
    private val done = new Line
    private val nothing = java.lang.Long.valueOf(0L)
    private var runs = 0L
    Beside.forever { () =>
      var last = 0L
      while (last == 0L) last = link.take().longValue
      done.write(last)
    }

    def run(): Unit = {
      var i = 1
      while (i < Count) {
        link.put(nothing)
        i += 1
      }
      runs += 1
      link.put(java.lang.Long.valueOf(runs))
      done.waitFor(runs)
    }
  }

  /** Like a queue, except for what our endpoints allocate: an object of their size on either side, referring to the previous one. */
  private final class Made extends Flow {
    private val queue = new SpscArrayQueue[Made.Step](1024)
    private val done = new Line
    private val first = new Made.Step(null, 0L)
    private var runs = 0L
    private var received = first
    Beside.forever { () =>
      var own = received
      var last = 0L
      while (last == 0L) {
        var step = queue.poll()
        while (step == null) {
          Thread.onSpinWait()
          step = queue.poll()
        }
        last = step.number
        own = new Made.Step(own.of, last)
      }
      received = own
      done.write(last)
    }

    def run(): Unit = {
      var own = first
      var i = 1
      while (i < Count) {
        own = put(own, 0L)
        i += 1
      }
      runs += 1
      put(own, runs): Unit
      done.waitFor(runs)
    }

    private def put(before: Made.Step, number: Long): Made.Step = {
      val step = new Made.Step(before.of, number)
      while (!queue.offer(step)) Thread.onSpinWait()
      step
    }
  }

  private object Made {
    final val Name = "JCTools SPSC, new objects (busy spin)"
    final class Step(val of: AnyRef, val number: Long)
  }

  private final class Zio extends Flow {
    private val queue = run(ZioQueue.bounded[Long](Link.Room))
    private def run[A](effect: ZIO[Any, Nothing, A]): A =
      Unsafe.unsafely(Runtime.default.unsafe.run(effect).getOrThrow())

    private def send(left: Int): ZIO[Any, Nothing, Unit] =
      if (left == 1) queue.offer(1L).unit else queue.offer(0L).flatMap(_ => send(left - 1))

    private def receive: ZIO[Any, Nothing, Unit] = queue.take.flatMap(value => if (value == 1L) ZIO.unit else receive)

    def run(): Unit = run(receive.fork.flatMap(receiver => send(Count) *> receiver.join))
  }

  private final class Cats extends Flow {
    private given IORuntime = IORuntime.global
    private val queue = CatsQueue.bounded[IO, Long](Link.Room).unsafeRunSync()

    private def send(left: Int): IO[Unit] =
      if (left == 1) queue.offer(1L) else queue.offer(0L).flatMap(_ => send(left - 1))

    private def receive: IO[Unit] = queue.take.flatMap(value => if (value == 1L) IO.unit else receive)

    def run(): Unit = receive.start.flatMap(receiver => send(Count) *> receiver.joinWithNever).unsafeRunSync()
  }
}
