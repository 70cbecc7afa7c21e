package duologue.net

import java.nio.ByteBuffer
import java.nio.channels.{SelectionKey, Selector, SocketChannel}
import java.security.cert.X509Certificate

/** What has to learn that a channel is ready. */
private[net] trait Watcher {

  /** Called once for each [[Channel.arm]], in the thread of the selector. */
  def ready(): Unit
}

/** What one thread at a time waits with until a channel is ready. */
private[net] trait Waiting extends AutoCloseable {

  /** Waits until one of the operations of a [[SelectionKey]] may be possible, until [[wake]] is or was called, until the thread is
    * interrupted, which stays pending, or until this many nanoseconds have passed. May return early.
    */
  def await(interest: Int, nanos: Long): Unit

  /** Ends the current [[await]], or the next one. Any thread may call this. */
  def wake(): Unit

  override def close(): Unit
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

  /** What a thread waits with for this channel. */
  def waiting(): Waiting

  /** Makes the thread of this selector call the watcher once, when one of these operations may be possible. Only that thread calls this. */
  def arm(selector: Selector, interest: Int, watcher: Watcher): Unit
}

/** A connection with a socket. */
private[net] abstract class OverSocket(val socket: SocketChannel) extends Channel {
  protected def isSecure: Boolean
  def peer: Option[String] = Address.ofPeer(socket, isSecure)
  def user: Option[String] = Address.user(socket).map(_.user.getName)
  def isConnected: Boolean = socket.finishConnect()
  def prepare(): Unit = socket.configureBlocking(false): Unit

  def waiting(): Waiting = {
    val selector = Selector.open()
    try new OverSocket.Selecting(selector, socket.register(selector, 0, null))
    catch {
      case thrown: Throwable =>
        selector.close()
        throw thrown
    }
  }

  def arm(selector: Selector, interest: Int, watcher: Watcher): Unit = {
    val key = socket.keyFor(selector)
    if (key == null) socket.register(selector, interest, watcher): Unit
    else key.interestOps(key.interestOps() | interest): Unit
  }
}

private[net] object OverSocket {
  private final class Selecting(selector: Selector, key: SelectionKey) extends Waiting {
    def await(interest: Int, nanos: Long): Unit = {
      if (key.interestOps() != interest) key.interestOps(interest): Unit
      if (nanos == Long.MaxValue) selector.select(): Unit
      else selector.select(math.max(1L, (nanos + 999999L) / 1000000L)): Unit
      selector.selectedKeys.clear()
    }

    def wake(): Unit = selector.wakeup(): Unit

    def close(): Unit = {
      selector.close()
      // The key must be canceled before the channel is registered elsewhere.
      key.cancel()
    }
  }
}

/** A connection that carries its bytes as they are. */
private[net] class Plain(socket: SocketChannel) extends OverSocket(socket) {
  protected def isSecure: Boolean = false
  def handshake(deadline: Long): Int = 0
  def read(into: ByteBuffer): Int = socket.read(into)
  def write(from: ByteBuffer): Int = socket.write(from)
  def isBuffered: Boolean = false
  override def close(): Unit = socket.close()
}
