package duologue.bench

import com.softwaremill.jox.Channel
import java.util.concurrent.{ArrayBlockingQueue, BlockingQueue, LinkedTransferQueue}
import java.util.concurrent.atomic.AtomicLongArray
import org.jctools.queues.SpscArrayQueue
import zio.{Runtime, Unsafe, ZIO}

/** A one-way channel between two threads, which wait as in practice. */
trait Link[A <: AnyRef] {
  def put(value: A): Unit
  def take(): A
}

object Link {
  val Room = 64

  /** The links that dialogues, streams and rings are compared with. */
  def of[A <: AnyRef](peer: String, room: Int = Room): Link[A] = peer match {
    case "JCTools SPSC (busy spin)" => new Spinning[A]
    case "ArrayBlockingQueue"       => new Blocking(new ArrayBlockingQueue[A](room))
    case "LinkedTransferQueue"      => new Blocking(new LinkedTransferQueue[A])
    case "jox channel"              => new Jox[A](room)
  }

  private final class Spinning[A <: AnyRef] extends Link[A] {
    private val queue = new SpscArrayQueue[A](1024)

    def put(value: A): Unit = while (!queue.offer(value)) Thread.onSpinWait()

    def take(): A = {
      var value = queue.poll()
      while (value == null) {
        Thread.onSpinWait()
        value = queue.poll()
      }
      value
    }
  }

  private final class Blocking[A <: AnyRef](queue: BlockingQueue[A]) extends Link[A] {
    def put(value: A): Unit = queue.put(value)
    def take(): A = queue.take()
  }

  private final class Jox[A <: AnyRef](room: Int) extends Link[A] {
    private val channel = Channel.newBufferedChannel[A](room)

    def put(value: A): Unit = channel.send(value)
    def take(): A = channel.receive()
  }
}

/** One number that is alone in its cache line. */
final class Line {
  private val line = new AtomicLongArray(32)

  def write(value: Long): Unit = line.setRelease(16, value)

  def read(): Long = line.getAcquire(16)

  /** Spins until the number is `value`. */
  def spinTo(value: Long): Unit = while (read() != value) Thread.onSpinWait()

  /** Waits until the number is `value`, and yields to other threads meanwhile. */
  def waitFor(value: Long): Unit = while (read() != value) Thread.`yield`()
}

object OfZio {
  def run[A](effect: ZIO[Any, Nothing, A]): A = Unsafe.unsafely(Runtime.default.unsafe.run(effect).getOrThrow())
}

object Beside {

  /** A thread that runs until the program ends. */
  def forever(step: () => Unit): Unit = {
    val thread = new Thread(() =>
      try while (true) step()
      catch { case _: InterruptedException => () }
    )
    thread.setDaemon(true)
    thread.start()
  }
}
