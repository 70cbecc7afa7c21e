package duologue.net

import java.nio.ByteBuffer
import java.util.concurrent.atomic.AtomicReferenceArray

/** Spare buffers for records. A connection takes one when it needs one and gives it back when it is empty. They contain nothing that is
  * decrypted: the engine decrypts in place, so [[Secure]] clears those that it reads into.
  */
private[net] object Buffers {

  /** A power of two: enough for the threads that use connections at the same time, and few enough to be kept. */
  private val Count = 16
  private[net] val spare = new AtomicReferenceArray[ByteBuffer](Count)

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
