package duologue

/** The session is closed: by the peer (`isByPeer`), or by this side, if it was abandoned in another thread while it was in use.
  * `protocol` and `state` say where, as spelled in the protocol file. `why` is [[Why.Left]] within a process; a session with
  * another process can also be lost or broken, and `detail` may then say more.
  */
final class SessionClosed(
    val protocol: String,
    val state: String,
    val isByPeer: Boolean,
    val why: Why = Why.Left,
    val detail: Option[String] = None
) extends RuntimeException(
      SessionClosed.told(isByPeer, why) + " in state `" + protocol + "." + state + "`" + detail.fold("")(": " + _)
    )

private object SessionClosed {

  /** What `operation` returns, or the exception as a value. */
  def caught[R](operation: => R): Either[SessionClosed, R] =
    try Right(operation)
    catch { case closed: SessionClosed => Left(closed) }

  def told(isByPeer: Boolean, why: Why): String = why match {
    case Why.Stopped    => "a monitor stopped the session"
    case _ if !isByPeer => "this side closed the session"
    case Why.Lost       => "the connection to the peer was lost"
    case Why.Broken     => "the session was closed because its format was violated"
    case Why.Late       => "the session was closed because a side was late"
    case Why.TooLarge   => "the session was closed because a message was too large for its receiver"
    case _              => "the peer closed the session"
  }
}

/** An endpoint was used a second time, or after its side was abandoned. This is a bug in the program: the endpoint to use is the
  * one that the first use returned.
  */
final class EndpointUsed private[duologue] (place: String, why: String)
    extends IllegalStateException("this endpoint of `" + place + "` " + why)
