package duologue

import java.util.concurrent.atomic.AtomicLong

/** The time of heartbeats and of limits between processes, in nanoseconds like `System.nanoTime`, which tests turn forward. */
private[duologue] object Clock {
  private val ahead = new AtomicLong

  def now(): Long = System.nanoTime() + ahead.get

  /** For tests. */
  def turn(nanos: Long): Unit = ahead.addAndGet(nanos): Unit
}
