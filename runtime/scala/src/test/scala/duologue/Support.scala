package duologue

import com.sun.management.ThreadMXBean
import duologue.protocols.stream
import java.lang.management.ManagementFactory
import java.util.concurrent.{CountDownLatch, TimeUnit}
import java.util.concurrent.atomic.AtomicReference
import scala.annotation.tailrec
import scala.concurrent.duration._
import scala.util.Random

/** What the suites share. */
abstract class RuntimeSuite extends munit.FunSuite {
  override def munitTimeout: Duration = 120.seconds

  /** Runs `body` in a thread of its own; `join` waits for it and throws what it threw. */
  protected final class Beside(body: => Unit) {
    private val thrown = new AtomicReference[Throwable]()
    private val done = new CountDownLatch(1)
    val thread: Thread = new Thread(() => {
      try body
      catch { case failure: Throwable => thrown.set(failure) }
      finally done.countDown()
    })
    thread.setDaemon(true)
    thread.start()

    def join(): Unit = {
      // Not inside `assert`, which holds a lock that assertions of the other thread need.
      val ended = done.await(100, TimeUnit.SECONDS)
      assert(ended, "the other thread did not come to an end")
      Option(thrown.get).foreach(failure => throw failure)
    }

    /** Returns once the thread sleeps, so that the next operation finds a waiting side. */
    def asleep(): Unit = {
      def sleeps = (thread.getState eq Thread.State.WAITING) || (thread.getState eq Thread.State.TIMED_WAITING)
      while (!sleeps && thread.isAlive) Thread.sleep(1)
    }
  }

  protected type Server = stream.server.Stream[Int]
  protected type Client = stream.client.Stream[Int]

  /** Sends until there is no space. */
  @tailrec
  protected final def filled(client: Client): Client = trySend(client)(_.send(0)) match {
    case Some(next) => filled(next)
    case None       => client
  }

  /** Receives `count` numbers. */
  protected final def drained(server: Server, count: Int): Server =
    (1 to count).foldLeft(server)((server, _) => following(server.recv()))

  protected final def number(message: stream.Stream[Int]): Int = message match {
    case stream.Stream.Send(value, _) => value
    case other                        => fail(other.toString)
  }

  protected final def following(message: stream.Stream[Int]): Server = message match {
    case stream.Stream.Send(_, next) => next
    case other                       => fail(other.toString)
  }

  protected def closed(body: => Any): Unit = intercept[SessionClosed](body): Unit

  protected def used(body: => Any): Unit = intercept[EndpointUsed](body): Unit

  /** munit's `intercept` does not catch this one. */
  protected def interrupted(body: => Any): Unit = {
    val thrown =
      try {
        body: Unit
        None
      } catch { case interrupt: InterruptedException => Some(interrupt) }
    assert(thrown.nonEmpty)
  }

  /** Collects garbage until `condition` holds. */
  protected def collectUntil(condition: => Boolean): Unit = {
    var rounds = 0
    while (!condition && rounds < 1000) {
      System.gc()
      Thread.sleep(5)
      rounds += 1
    }
    assert(condition)
  }

  /** Collects garbage and sends until the session is closed, but never more messages than there is space for. */
  protected def sendUntilClosed(sender: stream.client.Stream[Int]): Unit = {
    var client = sender
    var over = false
    var sent = 0
    collectUntil {
      if (!over && sent < 60) try { client = client.send(sent); sent += 1 } catch { case _: SessionClosed => over = true }
      over
    }
  }
}

/** What a thread takes from the heap. */
object Heap {
  private val threads = ManagementFactory.getThreadMXBean match {
    case threads: ThreadMXBean => threads
    case other                 => sys.error(other.toString + " does not count allocations")
  }

  /** How many bytes the calling thread has allocated so far. */
  def total: Long = threads.getCurrentThreadAllocatedBytes

  /** How many of them in `body`. */
  def allocated(body: => Unit): Long = {
    val before = total
    body
    total - before
  }
}

/** Conversations in which every run ends with a question, and the next run begins after the answer: a side that misses the last
  * message of a run is woken by nothing else, and both sides wait forever.
  */
object Rounds {

  type Server = stream.server.Stream[Int]
  type Client = stream.client.Stream[Int]

  /** Sends numbers, asks, and waits for the answer. */
  @tailrec
  def ask(client: Client, numbers: Int): Client =
    if (numbers == 0) client.swap().recv().next else ask(client.send(numbers), numbers - 1)

  /** Answers, if the message is a question. Returns the next endpoint, unless the message is the end. */
  def answered(message: stream.Stream[Int]): Option[Server] = message match {
    case stream.Stream.Send(_, next) => Some(next)
    case stream.Stream.Swap(next)    => Some(next.swapped())
    case stream.Stream.Stop()        => None
  }

  @tailrec
  def serve(server: Server): Unit = answered(server.recv()) match {
    case Some(next) => serve(next)
    case None       => ()
  }

  /** Asks many questions, one of one client after the other, in runs that are mostly short. Now and then the other side has time
    * to fall asleep.
    */
  def converse(clients: Vector[Client], rounds: Int, longest: Int, seed: Long): Unit = {
    val random = new Random(seed)
    val last = (1 to rounds).foldLeft(clients) { (clients, _) =>
      val at = random.nextInt(clients.size)
      val run = if (random.nextInt(20) == 0) random.nextInt(longest) else random.nextInt(math.min(longest, 4))
      if (random.nextInt(50) == 0) Thread.sleep(1)
      clients.updated(at, ask(clients(at), run))
    }
    last.foreach(_.stop())
  }
}
