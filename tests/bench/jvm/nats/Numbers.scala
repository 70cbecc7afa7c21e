package duologue.bench.nats

import duologue.nats.Nats
import duologue.net.{connectThrough, Listener}
import java.nio.ByteBuffer
import java.nio.ByteOrder.LITTLE_ENDIAN
import java.time.Duration
import java.util.concurrent.TimeUnit
import org.openjdk.jmh.annotations.*
import protocols.numbers

/** Numbers in one direction over a NATS server. At the end the receiver answers with their sum, so what is measured ends when all have arrived. */
@State(Scope.Benchmark)
@BenchmarkMode(Array(Mode.AverageTime))
@OutputTimeUnit(TimeUnit.NANOSECONDS)
class Numbers {
  @Param(Array("publish of jnats, 64 KiB each", "duologue", "publish of jnats, each number"))
  var peer: String = scala.compiletime.uninitialized

  private var flow: Numbers.Flow = scala.compiletime.uninitialized

  @Setup
  def begin(): Unit = flow = peer match {
    case "duologue"                      => new Numbers.Ours
    case "publish of jnats, each number" => new Numbers.Published(1)
    case _                               => new Numbers.Published(Numbers.Batch / Numbers.Frame)
  }

  @Benchmark
  @OperationsPerInvocation(Numbers.Count)
  def number(): Double = {
    val sum = flow.run()
    assert(sum == Numbers.Sum, sum)
    sum
  }

  @TearDown
  def end(): Unit = flow.end()
}

object Numbers {
  final val Count = 50000
  final val Sum = Count * (Count - 1L) / 2.0

  /** A number in a batch: a tag and the number, as in a session. */
  private val Frame = 9

  /** How long a batch of the library is, at most. */
  private val Batch = 64 << 10

  /** How long a message may take on a busy machine. */
  private val Long = Duration.ofSeconds(60L)

  /** Sends `Count` numbers, and returns their sum, which the receiver has sent back. */
  trait Flow {
    def run(): Double
    def end(): Unit
  }

  private final class Ours extends Flow {
    private val exchanges = Vector.fill(2)(Nats.exchange(Main.address))
    private var (server, client) = {
      val listener = Listener.through(exchanges(1), "bench")
      try {
        var accepted: numbers.server.Adding = null
        val accepting = new Thread(() => accepted = listener.accept(numbers.server))
        accepting.start()
        val client = Ends.joined(connectThrough(numbers.client, exchanges(0), "bench"))
        accepting.join()
        (accepted, client)
      } finally listener.close()
    }
    private var sum = 0.0
    Ends.forever { () =>
      server = server.recv() match {
        case numbers.Adding.Number(value, next) =>
          sum += value
          next
        case numbers.Adding.All(asking) =>
          val all = sum
          sum = 0.0
          asking.sum(all)
      }
    }

    def run(): Double = {
      var own = client
      var i = 0
      while (i < Count) {
        own = own.number(i.toDouble)
        i += 1
      }
      val numbers.Result.Sum(all, next) = own.all().recv()
      client = next
      all
    }

    def end(): Unit = exchanges.foreach(_.close())
  }

  /** Numbers of the library alone, this many in a message. Nothing limits how many are on their way but the server and the library. */
  private final class Published(batch: Int) extends Flow {
    private val own = Main.connection()
    private val other = Main.connection()
    private val (there, here) = (Main.newSubject(), Main.newSubject())
    private val arriving = other.subscribe(there)
    private val answers = own.subscribe(here)
    other.flush(Long)
    // A single number is as long as one that a session sends alone.
    private val length = if (batch == 1) 16 else Frame
    private var sum = 0.0
    Ends.forever { () =>
      val message = arriving.nextMessage(Long)
      if (message != null) {
        val bytes = ByteBuffer.wrap(message.getData).order(LITTLE_ENDIAN)
        if (bytes.hasRemaining) {
          var at = length - 8
          while (at < bytes.limit()) {
            sum += bytes.getDouble(at)
            at += length
          }
        } else {
          other.publish(here, ByteBuffer.allocate(8).putDouble(sum).array)
          sum = 0.0
        }
      }
    }

    def run(): Double = {
      var i = 0
      while (i < Count) {
        val bytes = ByteBuffer.allocate(math.min(batch, Count - i) * length).order(LITTLE_ENDIAN)
        var at = length - 8
        while (at < bytes.limit()) {
          bytes.putDouble(at, i.toDouble): Unit
          at += length
          i += 1
        }
        own.publish(there, bytes.array)
      }
      own.publish(there, Array.emptyByteArray)
      ByteBuffer.wrap(answers.nextMessage(Long).getData).getDouble
    }

    def end(): Unit = {
      arriving.unsubscribe()
      own.close()
      other.close()
    }
  }
}
