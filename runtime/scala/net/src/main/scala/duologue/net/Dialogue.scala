package duologue.net

import java.io.{EOFException, IOException}
import java.net.SocketTimeoutException
import java.nio.ByteBuffer
import java.nio.channels.{SelectionKey, Selector, SocketChannel}

/** A handshake in the calling thread: reads and writes a connection that does not block, up to a deadline. */
private[net] final class Dialogue(socket: SocketChannel, deadline: Long) extends AutoCloseable {
  private val selector = Selector.open()
  private val key = socket.register(selector, 0)

  def close(): Unit = {
    selector.close()
    // The key has to be gone before the channel becomes someone else's.
    key.cancel()
  }

  /** Waits until the connection is established. */
  def connect(): Unit = while (!socket.finishConnect()) await(SelectionKey.OP_CONNECT)

  def write(bytes: Array[Byte]): Unit = {
    val buffer = ByteBuffer.wrap(bytes)
    while (buffer.hasRemaining) if (socket.write(buffer) == 0) await(SelectionKey.OP_WRITE)
  }

  /** Exactly this many bytes. */
  def read(count: Int): Array[Byte] = {
    val buffer = ByteBuffer.allocate(count)
    while (buffer.hasRemaining) {
      val read = socket.read(buffer)
      if (read < 0) throw new EOFException("the peer has closed the connection")
      if (read == 0) await(SelectionKey.OP_READ)
    }
    buffer.array
  }

  private def await(interest: Int): Unit = {
    val left = deadline - System.nanoTime()
    if (left <= 0L) throw new SocketTimeoutException("the peer did not answer in time")
    key.interestOps(interest): Unit
    selector.select(math.max(1L, left / 1000000L)): Unit
    selector.selectedKeys.clear()
    if (Thread.interrupted()) throw new InterruptedException()
  }
}

private[net] object Dialogue {

  def apply[T](socket: SocketChannel, deadline: Long)(talk: Dialogue => T): T = {
    val dialogue = new Dialogue(socket, deadline)
    try talk(dialogue)
    finally dialogue.close()
  }

  /** Closes a connection, ignoring an `IOException`. */
  def hangUp(socket: SocketChannel): Unit =
    try socket.close()
    catch { case _: IOException => () }
}
