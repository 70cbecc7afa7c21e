package duologue.net

import java.nio.ByteBuffer
import java.nio.channels.Selector
import java.security.cert.X509Certificate

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
