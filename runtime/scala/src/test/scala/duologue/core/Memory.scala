package duologue

import java.io.IOException
import java.nio.ByteBuffer

/** A connection in memory. What arrives is what a test says, no call waits, and no thread calls back. */
class Memory extends Transport {
  private var arriving = Array.emptyByteArray
  private var unread = Array.emptyByteArray
  private var hasEnded = false
  /** How many more bytes it takes. */
  var space: Int = Int.MaxValue
  /** Whether each write fails. */
  var hasFailed = false
  /** Whether the remote state has to check the time. */
  var isTimed = false
  var isClosed = false

  /** These bytes arrive after the others. */
  def arrive(bytes: Array[Byte]): Unit = arriving ++= bytes

  /** The peer has closed the connection, after what has arrived. */
  def end(): Unit = hasEnded = true

  /** Whether something has arrived that was not read. */
  def hasUnread: Boolean = arriving.nonEmpty

  /** What was sent since the last call. */
  def sent(): Array[Byte] = {
    val all = unread
    unread = Array.emptyByteArray
    all
  }

  override def read(into: ByteBuffer): Int = {
    val count = math.min(into.remaining, arriving.length)
    into.put(arriving, 0, count): Unit
    arriving = arriving.drop(count)
    if (count == 0 && hasEnded) -1 else count
  }

  override def write(from: ByteBuffer): Int = {
    if (hasFailed) throw new IOException("the connection has failed")
    val bytes = new Array[Byte](math.min(space, from.remaining))
    from.get(bytes): Unit
    unread ++= bytes
    if (space != Int.MaxValue) space -= bytes.length
    bytes.length
  }

  override def await(forSpace: Boolean, nanos: Long): Boolean = false
  override def wake(): Unit = ()
  override def arm(reads: Boolean, writes: Boolean): Unit = ()
  override def collect(): Unit = ()
  override def watchTime(): Unit = isTimed = true
  override def close(): Unit = isClosed = true
}

object Memory {

  /** In how many nanoseconds the next time limit has passed. */
  def untilLimit(far: RemoteState): Option[Long] = {
    val limits = if (far.isClosed) Nil else if (far.endsAt != 0L) List(far.endsAt) else List(far.due, far.writtenBy).filter(_ != 0L)
    limits.minOption.map(_ - Clock.now)
  }
}
