package duologue.net

import java.nio.ByteBuffer
import java.util.concurrent.atomic.AtomicReferenceArray

/** Some buffers that no connection uses, for the next one that needs one: so each does not keep its own, and none is allocated for
  * each record. They contain only bytes that are encrypted.
  */
private[net] object Buffers {

  /** A power of two: enough for the threads that use connections at the same time, and few enough to be kept. */
  private val Count = 16
  private val spare = new AtomicReferenceArray[ByteBuffer](Count)

  /** Different threads mostly use different places. */
  private def place: Int = System.identityHashCode(Thread.currentThread) & (Count - 1)

  /** An empty buffer of this size. */
  def take(size: Int): ByteBuffer = {
    val kept = spare.getAndSet(place, null)
    if (kept != null && kept.capacity == size) kept.clear() else ByteBuffer.allocate(size)
  }

  /** Keeps a buffer, which the caller uses no more, if it has this size. */
  def give(buffer: ByteBuffer, size: Int): Unit =
    if (buffer.capacity == size) spare.lazySet(place, buffer)
}
