package duologue.net

import duologue.{RemoteState, Transport}
import java.nio.ByteBuffer
import java.nio.channels.SelectionKey
import java.util.concurrent.atomic.{AtomicBoolean, AtomicInteger}

/** A connection that carries a session. `onClose` is called once, with the connection. */
private[net] final class Connection(val channel: Channel, onClose: Connection => Unit) extends Transport with Watcher with Reactor.Repeated {
  @volatile private var session: RemoteState = null
  /** What the session reports to its observer; null if there is none. */
  @volatile private var reports: Reports = null
  /** What the thread of the program waits with, of which there is only one at a time; null if it waits for the reactor. Given back once the
    * connection is closed and no thread waits. Written under the lock of [[isClosed]].
    */
  @volatile private var waiting: Selecting = null
  private var isAwaited = false
  private val interest = new AtomicInteger
  private val isCollecting = new AtomicBoolean
  private val isClosed = new AtomicBoolean
  /** A thread that wakes stores this, then reads [[waiting]]; one that waits stores [[waiting]], then reads this: one sees the other's store. */
  @volatile private var isWoken = false
  /** Whether the reactor writes what is left as soon as there is space, so nobody has to try before. */
  @volatile private var awaitsSpace = false
  private var idleTicks = 0

  def carry(session: RemoteState, reports: Reports): Unit = {
    this.reports = reports
    this.session = session
  }

  def read(into: ByteBuffer): Int = channel.read(into)

  def write(from: ByteBuffer): Int = channel.write(from)

  def await(forSpace: Boolean, nanos: Long): Boolean = {
    val waits = beginWait()
    // The socket need not become ready for bytes that were already read from it.
    if (waits)
      try if (!isWoken && !channel.isBuffered) waiting.await(if (forSpace) SelectionKey.OP_READ | SelectionKey.OP_WRITE else SelectionKey.OP_READ, nanos)
      finally {
        isWoken = false
        endWait()
      }
    waits || isClosed.get
  }

  private def beginWait(): Boolean = isClosed.synchronized {
    if (waiting == null && !isClosed.get) waiting = channel.waiting()
    isAwaited = waiting != null && !isClosed.get
    isAwaited
  }

  private def endWait(): Unit = isClosed.synchronized {
    isAwaited = false
    if (isClosed.get) giveBack()
  }

  private def giveBack(): Unit = if (waiting != null) {
    waiting.giveBack()
    waiting = null
  }

  def wake(): Unit = {
    isWoken = true
    val waiting = this.waiting
    if (waiting != null) waiting.wake()
  }

  def arm(reads: Boolean, writes: Boolean): Unit = {
    if (writes) awaitsSpace = true
    val wanted = (if (reads) SelectionKey.OP_READ else 0) | (if (writes) SelectionKey.OP_WRITE else 0)
    interest.accumulateAndGet(wanted, _ | _): Unit
    Reactor.watch(this)
  }

  def takeInterest(): Int = interest.getAndSet(0)

  def ready(): Unit = {
    awaitsSpace = false
    if (session != null) session.ready()
  }

  def collect(): Unit =
    if (!isCollecting.get && isCollecting.compareAndSet(false, true)) Reactor.collect(this)

  def tick(idle: Int): Boolean = {
    val reports = this.reports
    if (reports != null) reports.report()
    if (session == null || session.isFlushed) {
      idleTicks += 1
      if (idleTicks > idle || isClosed.get) {
        idleTicks = 0
        isCollecting.set(false)
        // A message that was collected just before has relied on the reactor, and so have reports that were left.
        if (!isClosed.get && session != null && !session.isFlushed || reports != null && reports.isWaiting) collect()
        return false
      }
    } else {
      idleTicks = 0
      if (!awaitsSpace) session.flush(false)
    }
    true
  }

  def watchTime(): Unit = Reactor.beat(this)

  override def shrinkLater(): Unit = Reactor.shrink(this)

  def shrink(): Boolean = !isClosed.get && session != null && session.shrink()

  def beat(): Boolean = {
    session.beat()
    !isClosed.get
  }

  /** Ends the session for both sides, whichever thread has its endpoint. Called after [[carry]]. */
  def end(): Unit = session.end()

  /** Whether the connection is closed. */
  def isOver: Boolean = isClosed.get

  def close(): Unit =
    if (isClosed.compareAndSet(false, true)) {
      try channel.close()
      finally {
        isClosed.synchronized(if (isAwaited) waiting.wake() else giveBack())
        onClose(this)
      }
    }
}
