package duologue.net

import duologue.{Handover, SessionEvents, SessionNumber, WireState, Why}
import java.util.ArrayDeque
import java.util.concurrent.locks.ReentrantLock
import scala.concurrent.duration.{DurationLong, FiniteDuration}

/** What an observed session counts and reports to its observer.
  *
  * Messages are counted, and events queued, under the lock of the remote state, so they are in order. They are delivered when that is not held,
  * by whichever thread comes first. While it is inside the observer, others leave their events to it, so that no two threads report the same
  * session at once. `resume` makes some thread call [[report]] later.
  */
private[net] final class Reports(observer: Observer, session: Observer.Session, resume: () => Unit) extends SessionEvents {
  import Observer.{Count, End, Run}
  import Reports.{MostAtOnce, MostWaiting}

  private val began = System.nanoTime()
  private var sent = Count.none
  private var received = Count.none
  private var run = Count.none
  private var runBegan = began

  private val lock = new ReentrantLock
  private val events = new ArrayDeque[Either[End, Run]]
  private var isDelivering = false

  override def number: Long = session.id

  def begin(): Unit = Handover.guarded(observer.began(session))

  override def message(state: WireState, index: Int, isSent: Boolean, bytes: Long, isTurn: Boolean): Unit = {
    if (isSent) sent = sent.and(bytes) else received = received.and(bytes)
    run = run.and(bytes)
    if (isTurn) {
      val now = System.nanoTime()
      add(Right(new Run(nameOf(state), state.message(index), isSent, run, (now - runBegan).nanos)))
      run = Count.none
      runBegan = now
    }
  }

  override def ended(why: Int, detail: String, state: WireState): Unit = {
    val duration: FiniteDuration = (System.nanoTime() - began).nanos
    add(Left(new End(Why.of(why), Option(detail), Option(state).map(nameOf), sent, received, duration)))
  }

  private def nameOf(state: WireState): String = session.protocol + "." + state.name

  private def add(event: Either[End, Run]): Unit = {
    lock.lock()
    try if (event.isLeft || events.size < MostWaiting) events.add(event): Unit
    finally lock.unlock()
  }

  /** Whether events wait for a thread that delivers them. */
  def isWaiting: Boolean = {
    lock.lock()
    try !isDelivering && !events.isEmpty
    finally lock.unlock()
  }

  /** Calls the observer, unless another thread already does: then that one goes on. */
  override def report(): Unit = {
    lock.lock()
    val isFirst = !isDelivering
    isDelivering = true
    lock.unlock()
    if (isFirst) {
      var count = 0
      var next = take(count)
      while (next != null) {
        val event = next
        Handover.guarded(event match {
          case Right(run) => observer.turned(session, run)
          case Left(end)  => observer.ended(session, end)
        })
        count += 1
        next = take(count)
      }
      if (count >= MostAtOnce && isWaiting) resume()
    }
  }

  /** The next event; null if this thread stops. */
  private def take(count: Int): Either[End, Run] = {
    lock.lock()
    try {
      // Nothing follows the end, and nobody may be there to deliver it later.
      val hasEnded = !events.isEmpty && events.peekLast.isLeft
      val next = if (count >= MostAtOnce && !hasEnded) null else events.poll()
      isDelivering = next != null
      next
    } finally lock.unlock()
  }
}

private[net] object Reports {

  /** How many events a thread delivers at once, so that a session whose observer is slow does not keep it from others. */
  private val MostAtOnce = 64

  /** How many events may wait. Further runs are not reported; their messages are in the counts of the end. */
  private val MostWaiting = 1024

  /** What is known about a session that is about to begin. */
  final case class Seen(peer: Option[String], fingerprint: Fingerprint, isOlder: Boolean, trace: Option[TraceContext])

  def apply(observer: Observer, role: duologue.Role, isAccepting: Boolean, seen: Seen, resume: () => Unit): Reports = {
    val protocol = role.$protocol
    val session = new Observer.Session(
      SessionNumber.next(),
      protocol.name,
      Fingerprint.of(protocol.fingerprint),
      isAccepting,
      role.$isClient == protocol.isClientFirst,
      seen.peer,
      seen.fingerprint,
      seen.isOlder,
      seen.trace
    )
    new Reports(observer, session, resume)
  }

  def refused(observer: Option[Observer], refusal: => Observer.Refusal): Unit =
    observer.foreach(observer => Handover.guarded(observer.refused(refusal)))
}
