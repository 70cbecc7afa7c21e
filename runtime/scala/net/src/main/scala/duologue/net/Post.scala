package duologue.net

import java.util.concurrent.atomic.{AtomicBoolean, AtomicLong}

/** How a process publishes through a broker. `process` is its name. */
private[net] final class Post(val broker: Broker, val process: String) {

  /** How much credit its sessions have promised. */
  private val promised = new AtomicLong

  def publish(subject: String, reply: Option[String], packet: Packet): Unit = broker.publish(subject, reply, packet.encode)

  /** The credit of a further session, with that for `first`, the cost of a message that has arrived; `None` if this process has too
    * many sessions.
    */
  def window(first: Long): Option[Post.Window] = {
    var size = 0L
    var before = 0L
    var isTaken = false
    while ({
      before = promised.get
      size = first + Post.windowAfter(before)
      isTaken = before + size <= Post.AllWindows
      isTaken && !promised.compareAndSet(before, before + size)
    }) ()
    if (isTaken) Some(new Post.Window(size, promised)) else None
  }
}

private[net] object Post {

  /** How much credit a session gets while three quarters of the process's are left, while half of it is left, and then. */
  private val LargeWindow = 64L << 10
  private val MiddleWindow = 16L << 10
  private val SmallWindow = 4L << 10

  /** How much a session gets after this much was promised. */
  private def windowAfter(before: Long): Long =
    if (before < AllWindows / 4L) LargeWindow else if (before < AllWindows / 2L) MiddleWindow else SmallWindow

  /** How much credit all sessions of a process may have together: less than what makes a broker give up a slow process. */
  val AllWindows: Long = 48L << 20

  /** What a message costs in addition to its bytes, so that many short messages do not take more memory than their credit. */
  val Overhead = 64

  /** The credit of a session. */
  final class Window private[Post] (val size: Long, promised: AtomicLong) {
    private val isTaken = new AtomicBoolean(true)

    /** Gives it back to the process. */
    def release(): Unit = if (isTaken.getAndSet(false)) promised.addAndGet(-size): Unit
  }

  /** The credit that a message of this many bytes takes. */
  def cost(length: Int): Long = (length + Overhead).toLong
}
