package duologue.net

import java.io.IOException
import java.nio.channels.{CancelledKeyException, ClosedChannelException, SelectionKey, Selector, SocketChannel}
import java.util.concurrent.ConcurrentLinkedQueue
import java.util.concurrent.atomic.AtomicInteger

/** What one thread at a time waits with until a socket is ready. It is given back by a thread while none waits. */
private[net] final class Selecting private (selector: Selector, key: SelectionKey) {

  /** Waits until one of the operations of a `SelectionKey` may be possible, until [[wake]] is or was called, until the thread is
    * interrupted, which stays pending, or until this many nanoseconds have passed. May return early.
    */
  def await(interest: Int, nanos: Long): Unit =
    try {
      if (key.interestOps() != interest) key.interestOps(interest): Unit
      if (nanos == Long.MaxValue) selector.select(): Unit
      else selector.select(math.max(1L, (nanos + 999999L) / 1000000L)): Unit
      selector.selectedKeys.clear()
    } catch {
      // Another thread has closed the connection; the waiter finds out why.
      case _: CancelledKeyException => ()
    }

  /** Ends the current [[await]], or the next one. Any thread may call this. */
  def wake(): Unit = selector.wakeup(): Unit

  def giveBack(): Unit = {
    key.cancel()
    Selecting.giveBack(selector)
  }
}

private[net] object Selecting {

  /** How many selectors there are at most. A thread with a selector is woken by the system itself, others by the reactor, which takes two
    * to four times as long. But a selector takes two descriptors, so not each of thousands of sessions has one.
    */
  private[net] val Most = 16

  private val count = new AtomicInteger
  private val free = new ConcurrentLinkedQueue[Selector]

  /** For a thread that waits for this socket; null if all selectors are in use, or the socket is closed. */
  def apply(socket: SocketChannel): Selecting = {
    val selector = take()
    if (selector == null) null
    else
      try new Selecting(selector, socket.register(selector, 0, null))
      catch {
        case _: ClosedChannelException =>
          giveBack(selector)
          null
      }
  }

  private def take(): Selector = {
    val known = free.poll()
    if (known != null) known
    else if (count.incrementAndGet() <= Most)
      try Selector.open()
      catch {
        // Too many open files.
        case _: IOException => none()
      }
    else none()
  }

  private def none(): Selector = {
    count.decrementAndGet(): Unit
    null
  }

  private def giveBack(selector: Selector): Unit = {
    // A connection that is closed ends when the selector lets go of it.
    selector.selectNow(): Unit
    selector.selectedKeys.clear()
    free.add(selector): Unit
  }
}
