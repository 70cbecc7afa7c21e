package duologue.nats

import duologue.net.{Listener, Load}
import io.nats.client.{Connection, Message}
import java.util.concurrent.atomic.AtomicInteger
import java.util.concurrent.{Executors, RejectedExecutionException, ScheduledExecutorService, ThreadLocalRandom, TimeUnit}

/** A listener that is announced, until this is closed. */
final class Announcement private (connection: Connection, listener: Listener, address: Array[Byte]) extends AutoCloseable {
  import Announcement.{MostWaiting, delay, takes}

  private val timer: ScheduledExecutorService = Executors.newSingleThreadScheduledExecutor { task =>
    val thread = new Thread(task, "duologue-nats")
    thread.setDaemon(true)
    thread
  }
  private val waiting = new AtomicInteger
  private val requests = connection.createDispatcher(request(_))

  private def request(message: Message): Unit = {
    // What begins with a `$` is for NATS itself.
    val reply = Option(message.getReplyTo).filterNot(_.startsWith("$"))
    val load = listener.load
    for (reply <- reply if takes(load) && waiting.get < MostWaiting) {
      waiting.incrementAndGet(): Unit
      try timer.schedule((() => answer(reply)): Runnable, delay(load.sessions), TimeUnit.NANOSECONDS): Unit
      catch { case _: RejectedExecutionException => () }
    }
  }

  private def answer(reply: String): Unit = {
    waiting.decrementAndGet(): Unit
    // This fails if the connection was closed, or is interrupted and has too much to send.
    if (takes(listener.load))
      try connection.publish(reply, address)
      catch { case _: IllegalStateException | _: IllegalArgumentException => () }
  }

  /** Withdraws the announcement. Sessions continue. */
  override def close(): Unit = {
    timer.shutdownNow(): Unit
    try connection.closeDispatcher(requests)
    // The connection, or the announcement, was closed before.
    catch { case _: IllegalStateException | _: IllegalArgumentException => () }
  }
}

private[nats] object Announcement {

  /** A server with this many sessions or more answers as late as one with this many. */
  private val MostCounted = 50

  /** Up to this many nanoseconds of each delay are random, so that servers with equally many sessions share the clients. */
  private val MostRandom = 4000000L

  /** How many requests may wait for their answers. Further ones are not answered, and their clients ask again. */
  private val MostWaiting = 1024

  private def takes(load: Load): Boolean = !load.isFull && !load.isDraining

  /** The more sessions a server has, the later it answers. */
  private def delay(sessions: Int): Long =
    math.min(sessions, MostCounted) * 1000000L + ThreadLocalRandom.current.nextLong(MostRandom)

  def begin(directory: Directory, listener: Listener, address: Array[Byte], subjects: Seq[String]): Announcement =
    directory.reaching {
      val made = new Announcement(directory.connection, listener, address)
      subjects.foreach(made.requests.subscribe(_): Unit)
      made
    }
}
