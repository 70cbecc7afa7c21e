package duologue.net

import java.io.IOException
import java.nio.ByteBuffer
import java.nio.channels.{CancelledKeyException, ClosedChannelException, SelectionKey, Selector, SocketChannel}
import java.security.cert.X509Certificate
import java.util.concurrent.ConcurrentLinkedQueue
import java.util.concurrent.atomic.AtomicInteger

/** What waits for a channel, and is called by the [[Reactor]]. */
private[net] trait Watcher {
  def channel: Channel

  /** The operations of a `SelectionKey` that it waits for, which it then no longer asks for. */
  def takeInterest(): Int

  /** Called once when one of these operations may be possible. */
  def ready(): Unit
}

/** A connection that does not block. One thread at a time reads, writes and closes it. */
private[net] trait Channel extends AutoCloseable {

  /** Continues the handshake that precedes the first byte, as far as possible. Returns the socket operation that it waits for, or 0
    * once it is over. Fails at the deadline, a time of `System.nanoTime`, even if the peer keeps sending.
    */
  def handshake(deadline: Long): Int

  /** Reads what is there: the number of bytes, 0 if there is nothing, or -1 at the end. */
  def read(into: ByteBuffer): Int

  /** Writes as much as possible: the number of bytes. The next call must begin with those that were not written. */
  def write(from: ByteBuffer): Int

  /** Whether [[read]] would find something even if nothing arrives on the socket. */
  def isBuffered: Boolean

  override def close(): Unit

  /** The peer's certificate and those that lead to an authority; empty without TLS. */
  def certificates: Seq[X509Certificate] = Nil

  /** The address of the other end, if it has one. */
  def peer: Option[String]

  /** The name of the user at the other end, if the system knows it. */
  def user: Option[String]

  /** Continues to connect, as far as possible. Returns whether that is over. */
  def isConnected: Boolean

  /** Makes sure that no operation blocks. Called before all others. */
  def prepare(): Unit

  /** What a thread waits with for this channel; null if there is nothing left, or if the channel is closed. */
  def waiting(): Selecting

  /** Makes the thread of this selector call the watcher once, when one of these operations may be possible. Only that thread calls this. */
  def arm(selector: Selector, interest: Int, watcher: Watcher): Unit
}

/** A connection with a socket. */
private[net] abstract class OverSocket(val socket: SocketChannel) extends Channel {
  /** The selector of the thread that was asked to watch. */
  @volatile private var watching: Option[Selector] = None
  protected def isSecure: Boolean
  def peer: Option[String] = Address.ofPeer(socket, isSecure)
  def user: Option[String] = Address.user(socket).map(_.user.getName)
  def isConnected: Boolean = socket.finishConnect()
  def prepare(): Unit = socket.configureBlocking(false): Unit

  def waiting(): Selecting = Selecting(socket)

  def arm(selector: Selector, interest: Int, watcher: Watcher): Unit = {
    val key = socket.keyFor(selector)
    if (key == null) {
      watching = Some(selector)
      socket.register(selector, interest, watcher): Unit
    } else {
      key.attach(watcher): Unit
      key.interestOps(key.interestOps() | interest): Unit
    }
  }

  /** Closes the socket, and makes the thread that watches let go of it, which ends the connection. */
  override def close(): Unit = {
    socket.close()
    watching.foreach(_.wakeup(): Unit)
  }
}

/** A connection that carries its bytes as they are. */
private[net] class Plain(socket: SocketChannel) extends OverSocket(socket) {
  protected def isSecure: Boolean = false
  def handshake(deadline: Long): Int = 0
  def read(into: ByteBuffer): Int = socket.read(into)
  def write(from: ByteBuffer): Int = socket.write(from)
  def isBuffered: Boolean = false
}

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
