package duologue.net

import duologue.{Clock, FarEnd, Transport}
import java.nio.ByteBuffer
import java.nio.channels.SelectionKey
import java.util.concurrent.atomic.{AtomicBoolean, AtomicInteger}

/** A connection that carries a session. `onClose` is called once, with the connection. The heartbeats of this side and of the peer are in seconds, and 0
  * means none.
  */
private[net] final class Connection(val channel: Channel, heartbeat: Int, peersHeartbeat: Int, onClose: Connection => Unit) extends Transport with Watcher with Reactor.Repeated {
  @volatile private var far: FarEnd = null
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
  @volatile private var isWoken = false
  /** Whether the reactor writes what is left as soon as there is space, so nobody has to try before. */
  @volatile private var awaitsSpace = false
  private var idleTicks = 0
  private val beats = heartbeat > 0 || peersHeartbeat > 0
  /** When this side last wrote, and when it last read a byte or was not reading; only with heartbeats. */
  @volatile private var writtenAt = Clock.now()
  @volatile private var readAt = writtenAt
  @volatile private var isLooking = false
  /** When to give up a connection whose session is over; 0 while the session lasts. */
  @volatile private var endsAt = 0L

  def carry(far: FarEnd, reports: Reports): Unit = {
    this.reports = reports
    this.far = far
    if (beats) Reactor.beat(this)
  }

  def read(into: ByteBuffer): Int = {
    val count = channel.read(into)
    if (beats) {
      isLooking = true
      if (count > 0) readAt = Clock.now()
    }
    count
  }

  def write(from: ByteBuffer): Int = {
    val count = channel.write(from)
    if (beats && count > 0) writtenAt = Clock.now()
    count
  }

  def mayAwait(): Boolean = waiting != null || isClosed.synchronized {
    if (waiting == null && !isClosed.get) waiting = channel.waiting()
    waiting != null
  }

  def await(forSpace: Boolean, nanos: Long): Unit = if (beginWait())
    // The socket need not become ready for bytes that were already read from it.
    try if (!isWoken && !channel.isBuffered) waiting.await(if (forSpace) SelectionKey.OP_READ | SelectionKey.OP_WRITE else SelectionKey.OP_READ, nanos)
    finally {
      isWoken = false
      endWait()
    }

  private def beginWait(): Boolean = isClosed.synchronized {
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

  def arm(forSpace: Boolean): Unit = {
    // A session that is over reads nothing more, so what arrives must not make the connection ready.
    val wanted =
      if (!forSpace) SelectionKey.OP_READ
      else if (endsAt != 0L) SelectionKey.OP_WRITE
      else SelectionKey.OP_READ | SelectionKey.OP_WRITE
    if (forSpace) awaitsSpace = true
    interest.accumulateAndGet(wanted, _ | _): Unit
    Reactor.watch(this)
  }

  def takeInterest(): Int = interest.getAndSet(0)

  def ready(): Unit = {
    awaitsSpace = false
    if (far != null) far.ready()
  }

  def collect(): Unit =
    if (!isCollecting.get && isCollecting.compareAndSet(false, true)) Reactor.collect(this)

  def tick(idle: Int): Boolean = {
    val reports = this.reports
    if (reports != null) reports.report()
    if (far == null || far.isFlushed) {
      idleTicks += 1
      if (idleTicks > idle || isClosed.get) {
        idleTicks = 0
        isCollecting.set(false)
        // A message that was collected just before has relied on the reactor, and so have reports that were left.
        if (!isClosed.get && far != null && !far.isFlushed || reports != null && reports.isWaiting) collect()
        return false
      }
    } else {
      idleTicks = 0
      if (!awaitsSpace) far.flush(false)
    }
    true
  }

  def watchTime(): Unit = if (!beats) Reactor.beat(this)

  override def shrinkLater(): Unit = Reactor.shrink(this)

  def shrink(): Boolean = !isClosed.get && far != null && far.shrink()

  def linger(): Unit = {
    endsAt = Clock.now() + Connection.Linger
    Reactor.beat(this)
  }

  /** Notifies the peer that this side is still there, and checks whether the peer is, and whether it is late. */
  def beat(): Boolean = {
    if (far != null) far.expire()
    val deadline = endsAt
    if (deadline != 0L && Clock.now() - deadline > 0L) far.lose(new java.io.IOException("the peer does not read"))
    if (heartbeat > 0 && Clock.now() - writtenAt >= heartbeat * Connection.HalfSecond) far.flush(true)
    val silence = 3L * peersHeartbeat * 2L * Connection.HalfSecond
    if (peersHeartbeat > 0 && Clock.now() - readAt > silence) {
      isLooking = false
      far.ready()
      // Silence counts only while this side reads, which it does not while the program has other messages to receive first.
      if (!isLooking) readAt = Clock.now()
      else if (Clock.now() - readAt > silence)
        far.lose(new java.io.IOException("nothing arrived from the peer for three times its heartbeat of " + peersHeartbeat.toString + " s"))
    }
    !isClosed.get
  }

  /** Ends the session for both sides, whichever thread has its endpoint. Called after [[carry]]. */
  def end(): Unit = far.end()

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

private[net] object Connection {
  private val HalfSecond = 500000000L

  /** How long a connection whose session is over keeps writing what was sent before, in nanoseconds. */
  private[net] val Linger = 5000000000L
}
