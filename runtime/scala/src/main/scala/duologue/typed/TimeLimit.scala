package duologue

import java.lang.ref.WeakReference
import java.util.concurrent.{CompletableFuture, TimeUnit}
import scala.concurrent.duration.FiniteDuration

/** Abandons a side after `limit`, unless it is closed before. It does not keep the side alive: a side that is forgotten is still
  * found by the collector. The timer is that of the Java library, and the side is abandoned in the common pool, because the peer's
  * callbacks run there.
  */
private[duologue] final class TimeLimit(limited: Side, limit: FiniteDuration) extends AutoCloseable {
  private val side = new WeakReference(limited)
  private val over = new CompletableFuture[java.lang.Boolean]
  over.completeOnTimeout(true, limit.toNanos, TimeUnit.NANOSECONDS).thenAcceptAsync(isLate => if (isLate) abandons()): Unit

  private def abandons(): Unit = {
    val late = side.get
    if (late != null) late.abandon()
  }

  /** Whether the time was over before this was closed. */
  def isOver: Boolean = over.getNow(false)

  override def close(): Unit = over.complete(false): Unit
}
