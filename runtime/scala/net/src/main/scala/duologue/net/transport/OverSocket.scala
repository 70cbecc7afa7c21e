package duologue.net

import java.nio.ByteBuffer
import java.nio.channels.{Selector, SocketChannel}

/** A connection with a socket. */
private[net] abstract class OverSocket(val socket: SocketChannel) extends Channel {
  @volatile private var isWatched = false
  protected def isSecure: Boolean
  def peer: Option[String] = Address.ofPeer(socket, isSecure)
  def user: Option[String] = Address.user(socket).map(_.user.getName)
  def isConnected: Boolean = socket.finishConnect()
  def prepare(): Unit = socket.configureBlocking(false): Unit

  def waiting(): Selecting = Selecting(socket)

  def arm(selector: Selector, interest: Int, watcher: Watcher): Unit = {
    val key = socket.keyFor(selector)
    if (key == null) {
      isWatched = true
      socket.register(selector, interest, watcher): Unit
    } else {
      key.attach(watcher): Unit
      key.interestOps(key.interestOps() | interest): Unit
    }
  }

  /** Closes the socket, and makes the reactor let go of it, which ends the connection. */
  override def close(): Unit = {
    socket.close()
    if (isWatched) Reactor.wake()
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
