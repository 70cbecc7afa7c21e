package duologue.net

import duologue.Handover
import java.nio.channels.{CancelledKeyException, ClosedChannelException, SelectionKey, Selector}
import java.util.concurrent.ConcurrentLinkedQueue

/** The thread that waits for connections whose sessions wait without a thread, writes what has been
  * collected for a while, and checks heartbeats and time limits. There is one per process; it starts when it is first
  * needed.
  */
private[net] object Reactor {

  /** What the thread calls again and again, until it returns false. */
  trait Repeated {

    /** Writes what was collected. `idle` is the number of calls without anything to write after which it returns false. */
    def tick(idle: Int): Boolean

    /** Checks heartbeats and time limits. */
    def beat(): Boolean

    /** Returns the memory of buffers that have grown. */
    def shrink(): Boolean
  }

  /** A connection whose buffers are to shrink at that time. */
  private final class Grown(val connection: Repeated, val at: Long)

  /** Collected messages are written after at most twice this time, in milliseconds. */
  private val Tick = 1L

  /** How long connections keep buffers that have grown, in milliseconds: growing again costs little in this time. */
  private val Shrink = 1000L

  /** How often heartbeats and time limits are checked, in milliseconds: often enough for a heartbeat of one second. */
  private val Beat = 200L

  /** The number of ticks without anything to write after which a connection is no longer checked. */
  private val Idle = 1000

  /** How many requests are handled in a row, so that connections that are ready get their turn: a request may cause another at once. */
  private val Round = 1024

  private val selector = Selector.open()
  private val requests = new ConcurrentLinkedQueue[Watcher]
  private val collecting = new ConcurrentLinkedQueue[Repeated]
  private val beating = new ConcurrentLinkedQueue[Repeated]
  private val grown = new ConcurrentLinkedQueue[Grown]
  private var beatenAt = System.nanoTime()
  /** How often heartbeats and time limits have been checked. */
  @volatile private var beats = 0L

  locally {
    val thread = new Thread(null, () => run(), "duologue-net", 0L, false)
    thread.setDaemon(true)
    thread.setContextClassLoader(null)
    thread.start()
  }

  /** Makes the thread watch for what the watcher waits for. */
  def watch(watcher: Watcher): Unit = {
    requests.add(watcher): Unit
    selector.wakeup(): Unit
  }

  /** For tests: the next check of heartbeats and time limits that has not begun yet has a number of at least this, once it is over. */
  private[net] def nextBeat: Long = beats + 2L

  private[net] def beaten: Long = beats

  /** For tests: makes the thread look again. */
  private[net] def wake(): Unit = selector.wakeup(): Unit

  /** Makes the thread write what the connection collects, until it has collected nothing for a while. */
  def collect(connection: Repeated): Unit = {
    collecting.add(connection): Unit
    selector.wakeup(): Unit
  }

  /** Makes the thread check the heartbeats and time limits of the connection until it is closed. */
  def beat(connection: Repeated): Unit = {
    beating.add(connection): Unit
    selector.wakeup(): Unit
  }

  /** Makes the thread return the memory of buffers that have grown, as long as there is some. */
  def shrink(connection: Repeated): Unit = {
    grown.add(new Grown(connection, System.nanoTime() + Shrink * 1000000L)): Unit
    selector.wakeup(): Unit
  }

  private def run(): Unit = while (true) Handover.guarded(step())

  private def step(): Unit = {
    val ticks = !collecting.isEmpty
    if (!requests.isEmpty) selector.selectNow(): Unit
    else if (ticks) selector.select(Tick): Unit
    else if (!beating.isEmpty) selector.select(Beat): Unit
    else if (!grown.isEmpty) selector.select(Shrink): Unit
    else selector.select(): Unit
    if (ticks) collecting.removeIf(connection => !guarded(connection.tick(Idle))): Unit
    shrinkAll()
    if (System.nanoTime() - beatenAt >= Beat * 1000000L) {
      beatenAt = System.nanoTime()
      beating.removeIf(connection => !guarded(connection.beat())): Unit
      beats += 1L
    }
    var left = Round
    var request = requests.poll()
    while (request != null) {
      register(request)
      left -= 1
      request = if (left > 0) requests.poll() else null
    }
    val ready = selector.selectedKeys.iterator
    while (ready.hasNext) {
      val key = ready.next()
      ready.remove()
      serve(key)
    }
  }

  /** An exception from one connection must not affect the others; the connection is called again. */
  private def guarded(use: => Boolean): Boolean = {
    var again = true
    Handover.guarded { again = use }
    again
  }

  private def register(watcher: Watcher): Unit =
    try {
      val interest = watcher.takeInterest()
      if (interest == 0) ()
      else if ((interest & SelectionKey.OP_READ) != 0 && watcher.channel.isBuffered) watcher.ready()
      else watcher.channel.arm(selector, interest, watcher)
    } catch {
      case _: ClosedChannelException | _: CancelledKeyException => ()
    }

  private def serve(key: SelectionKey): Unit = {
    try key.interestOps(0): Unit
    catch { case _: CancelledKeyException => () }
    key.attachment match {
      case watcher: Watcher => watcher.ready()
      case _                => ()
    }
  }

  /** All connections keep their buffers for the same time, so the first of the queue is due first. */
  private def shrinkAll(): Unit = {
    var first = grown.peek()
    while (first != null && System.nanoTime() - first.at >= 0L) {
      grown.poll(): Unit
      val connection = first.connection
      if (guarded(connection.shrink())) grown.add(new Grown(connection, System.nanoTime() + Shrink * 1000000L)): Unit
      first = grown.peek()
    }
  }
}
