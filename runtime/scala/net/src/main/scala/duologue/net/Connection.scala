package duologue.net

import duologue.{FarEnd, Transport}
import java.nio.ByteBuffer
import java.nio.channels.{
  CancelledKeyException,
  ClosedChannelException,
  ClosedSelectorException,
  SelectableChannel,
  SelectionKey,
  Selector,
  SocketChannel
}
import java.util.concurrent.atomic.{AtomicBoolean, AtomicInteger}

/** A connection that does not block. */
private[net] final class Channel(socket: SocketChannel) {
  def read(into: ByteBuffer): Int = socket.read(into)
  def write(from: ByteBuffer): Int = socket.write(from)
  def close(): Unit = socket.close()
  def keyFor(selector: Selector): SelectionKey = selectable.keyFor(selector)
  def register(selector: Selector, interest: Int, attachment: AnyRef): SelectionKey =
    selectable.register(selector, interest, attachment)
  private def selectable: SelectableChannel = socket
}

/** A connection as it carries a session. `onClose` is called once. */
private[net] final class Connection(val channel: Channel, onClose: () => Unit) extends Transport {
  @volatile private var far: FarEnd = null
  /** For the threads of the program that wait for this connection, of which there is only one at a time. */
  private var selector: Selector = null
  private var key: SelectionKey = null
  @volatile private var current: Selector = null
  private val interest = new AtomicInteger
  private val isCollecting = new AtomicBoolean
  private val isClosed = new AtomicBoolean
  @volatile private var isWoken = false
  private var idleTicks = 0

  def carry(far: FarEnd): Unit = this.far = far

  def read(into: ByteBuffer): Int = channel.read(into)

  def write(from: ByteBuffer): Int = channel.write(from)

  def await(forSpace: Boolean, nanos: Long): Unit =
    try select(if (forSpace) SelectionKey.OP_READ | SelectionKey.OP_WRITE else SelectionKey.OP_READ, nanos)
    catch {
      // Another thread has closed the connection, and what waits for it looks why.
      case _: ClosedSelectorException | _: CancelledKeyException | _: ClosedChannelException => ()
    }

  private def select(interest: Int, nanos: Long): Unit = {
    if (selector == null) {
      selector = Selector.open()
      current = selector
      key = channel.register(selector, interest, this)
    }
    if (key.interestOps() != interest) key.interestOps(interest): Unit
    if (!isWoken && !isClosed.get) {
      if (nanos == Long.MaxValue) selector.select(): Unit
      else selector.select(math.max(1L, (nanos + 999999L) / 1000000L)): Unit
      selector.selectedKeys.clear()
    }
    isWoken = false
  }

  def wake(): Unit = {
    isWoken = true
    val waiting = current
    if (waiting != null) waiting.wakeup(): Unit
  }

  def arm(forSpace: Boolean): Unit = {
    val wanted = if (forSpace) SelectionKey.OP_READ | SelectionKey.OP_WRITE else SelectionKey.OP_READ
    interest.accumulateAndGet(wanted, _ | _): Unit
    Reactor.watch(this)
  }

  def takeInterest(): Int = interest.getAndSet(0)

  def ready(): Unit = if (far != null) far.ready()

  def collect(): Unit =
    if (!isCollecting.get && isCollecting.compareAndSet(false, true)) Reactor.collect(this)

  /** Called by the reactor. Returns whether it is to be called again. */
  def tick(idle: Int): Boolean = {
    if (far == null || far.isFlushed) {
      idleTicks += 1
      if (idleTicks > idle || isClosed.get) {
        idleTicks = 0
        isCollecting.set(false)
        // What was collected at this moment has seen that the reactor is still there.
        if (!isClosed.get && far != null && !far.isFlushed) collect()
        return false
      }
    } else {
      idleTicks = 0
      far.flush()
    }
    true
  }

  def close(): Unit =
    if (isClosed.compareAndSet(false, true)) {
      try channel.close()
      finally {
        val waiting = current
        if (waiting != null) waiting.close()
        onClose()
      }
    }
}
