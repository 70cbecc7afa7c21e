package duologue.net

import java.nio.ByteBuffer
import java.nio.channels.{SelectionKey, Selector, SocketChannel}
import java.security.cert.X509Certificate

/** A connection that does not block. One thread at a time reads, writes and closes it. */
private[net] trait Channel extends AutoCloseable {
  def socket: SocketChannel

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

  final def keyFor(selector: Selector): SelectionKey = socket.keyFor(selector)

  final def register(selector: Selector, interest: Int, attachment: AnyRef): SelectionKey =
    socket.register(selector, interest, attachment)
}

/** A connection that carries its bytes as they are. */
private[net] class Plain(val socket: SocketChannel) extends Channel {
  def handshake(deadline: Long): Int = 0
  def read(into: ByteBuffer): Int = socket.read(into)
  def write(from: ByteBuffer): Int = socket.write(from)
  def isBuffered: Boolean = false
  override def close(): Unit = socket.close()
}
