package duologue

/** Why a session is closed. More reasons may be added. */
sealed trait Why

object Why {
  implicit val comparable: strict.Equality.Of[Why] = strict.Equality.any

  /** A side has closed the session, or the session was over. */
  case object Left extends Why

  /** The connection to the peer ended or failed, and the peer did not say why. What was sent last may have arrived or not. */
  case object Lost extends Why

  /** The peer sent something that does not have the protocol's format, or reports that this side did. */
  case object Broken extends Why

  /** A side waited longer than its protocol allows. */
  case object Late extends Why

  /** A message was larger than its receiver accepts, or takes more memory than it allows. */
  case object TooLarge extends Why

  /** A [[Recording.Monitor]] of this process did not allow a message, which was not sent. */
  case object Stopped extends Why

  private[duologue] def of(reason: Reason): Why = of(reason.ordinal)

  private[duologue] def of(ordinal: Int): Why = ordinal match {
    case 1 => Lost
    case 2 => Broken
    case 3 => Late
    case 4 => TooLarge
    case _ => Left
  }
}
