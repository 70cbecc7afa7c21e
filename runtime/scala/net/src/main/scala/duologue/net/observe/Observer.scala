package duologue.net

import duologue.Why
import javax.net.ssl.SSLException
import scala.concurrent.duration.FiniteDuration

/** Called when a session begins, turns and ends, and when a session does not begin: for logs, traces and metrics. Give it to
  * [[ConnectOptions]] and to a [[Listener]]. All methods have a default, which does nothing.
  *
  * For each session [[began]] is called first, then [[turned]] when the direction changes or the protocol is over, and [[ended]] once, after
  * all others. Calls for one session are made one after another, those for several sessions at the same time.
  *
  * The thread that calls is the one on which the event occurred: the program's thread that connects, sends, waits or closes an endpoint, a
  * thread of a listener, or the one that works for all sessions that no thread waits for. So an observer must not wait for anything. If it
  * is slower than a session turns, some runs are not reported; the counts of [[ended]] are complete. It must not use an endpoint of the
  * session for which it is called, except to abandon it: the thread may be in the middle of an operation on it. No lock of the library is held, except
  * that of a `SharedSender` through which the thread sends. An exception that an observer throws goes to the thread's uncaught exception
  * handler, and the session and later calls go on as if the observer had returned. [[ended]] may be called shortly after the program's last
  * operation has returned.
  */
trait Observer {
  import Observer.{End, Refusal, Run, Session}

  /** A session has begun. */
  def began(session: Session): Unit = { val _ = session }

  /** A run is over: the direction has changed, or the protocol's last message was sent or has arrived. */
  def turned(session: Session, run: Run): Unit = { val _ = (session, run) }

  /** A session has ended for the side in this process. Its last bytes may still have to be written. */
  def ended(session: Session, end: End): Unit = { val _ = (session, end) }

  /** A session did not begin. On the connecting side this reports each exception of `connect`. */
  def refused(refusal: Refusal): Unit = { val _ = refusal }

  /** An observer that calls this one, and then the other. If this one throws, the other is not called for that event. */
  final def and(other: Observer): Observer = new Observer.Both(this, other)
}

object Observer {

  private final class Both(one: Observer, other: Observer) extends Observer {
    override def began(session: Session): Unit = { one.began(session); other.began(session) }
    override def turned(session: Session, run: Run): Unit = { one.turned(session, run); other.turned(session, run) }
    override def ended(session: Session, end: End): Unit = { one.ended(session, end); other.ended(session, end) }
    override def refused(refusal: Refusal): Unit = { one.refused(refusal); other.refused(refusal) }
  }

  /** A session that is observed.
    *
    * @param id
    *   a number that no other observed session of this process has
    * @param protocol
    *   the protocol's name
    * @param fingerprint
    *   the fingerprint of this side's protocol
    * @param isAccepted
    *   whether this side accepted the session; otherwise it connected
    * @param sendsFirst
    *   whether this side sends the protocol's first message
    * @param peer
    *   the peer's address. The connecting side has the address that it connects to, the accepting side that of the other end of a TCP
    *   connection; the other end of a Unix socket has no address
    * @param peersFingerprint
    *   the fingerprint of the peer's protocol
    * @param peerIsOlder
    *   whether that is one of the older fingerprints that this side accepts
    * @param trace
    *   the trace that the session belongs to, if the connecting side sent one
    */
  final class Session private[net] (
      val id: Long,
      val protocol: String,
      val fingerprint: Fingerprint,
      val isAccepted: Boolean,
      val sendsFirst: Boolean,
      val peer: Option[String],
      val peersFingerprint: Fingerprint,
      val peerIsOlder: Boolean,
      val trace: Option[TraceContext]
  ) {
    override def toString: String = "Session(" + id.toString + ", " + protocol + ")"
  }

  /** Messages, and the bytes of their frames. Hellos, control frames and what TLS adds do not count. */
  final class Count private[net] (val messages: Long, val bytes: Long) {
    private[net] def and(more: Long): Count = new Count(messages + 1L, bytes + more)
    override def toString: String = messages.toString + " messages of " + bytes.toString + " bytes"
  }

  private[net] object Count {
    val none: Count = new Count(0L, 0L)
  }

  /** Messages that one side sent until the other side's turn, or until the end of the protocol.
    *
    * @param state
    *   the state that was left with the last message, with the protocol's name: `bank.connected`
    * @param message
    *   the last message
    * @param isSent
    *   whether this side sent the run; otherwise it received it
    * @param duration
    *   the time since the previous run ended or the session began
    */
  final class Run private[net] (
      val state: String,
      val message: String,
      val isSent: Boolean,
      val count: Count,
      val duration: FiniteDuration
  )

  /** How a session ended.
    *
    * @param why
    *   why. After the protocol's last message it is `Left`, or `Lost` if that message could not be written
    * @param detail
    *   what else is known, as in `SessionClosed.detail`
    * @param state
    *   the state in which the session ended early; `None` after the protocol's last message
    * @param sent
    *   what this side sent; if the session ended early, the peer may have received less
    * @param received
    *   what has arrived and was valid, whether or not the program has received it
    * @param duration
    *   how long the session lasted
    */
  final class End private[net] (
      val why: Why,
      val detail: Option[String],
      val state: Option[String],
      val sent: Count,
      val received: Count,
      val duration: FiniteDuration
  )

  /** A session that did not begin.
    *
    * @param isAccepting
    *   whether this is the accepting side; otherwise it is the connecting side
    * @param protocol
    *   the protocol's name. On the accepting side, as the other side states it, if it got that far; that may be any text
    * @param peer
    *   the other side's address, as in [[Session]]
    * @param verdict
    *   the verdict of the accepting side, if it has refused: see [[Refused]]
    * @param failure
    *   what failed. On the connecting side it is what `connect` throws; on the accepting side there is none if this side has refused, or if
    *   the other side has sent something other than a hello
    */
  final class Refusal private[net] (
      val isAccepting: Boolean,
      val protocol: Option[String],
      val peer: Option[String],
      val verdict: Option[Int],
      val failure: Option[Throwable]
  ) {

    /** Why there is no session, for people and logs. */
    def cause: String = (failure, verdict) match {
      // On the connecting side it is explained already.
      case (Some(failed: SSLException), _) => Failure.explain(failed)
      case (Some(failure), _)    => Option(failure.getMessage).getOrElse(failure.toString)
      case (None, Some(verdict)) => "this side has refused the session: " + Verdict.short(verdict)
      case (None, None)             => "the other side has sent no hello"
    }
  }
}
