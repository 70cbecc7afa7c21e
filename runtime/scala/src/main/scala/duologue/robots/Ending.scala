package duologue.robots

import duologue.strict

/** How a robot's session ended. */
sealed abstract class Ending {

  /** Throws [[RobotFailure]] if the peer disconnected or was late, or a property does not hold. The exception has the transcript. */
  def check(): Unit = this match {
    case Ending.Finished | Ending.Left | Ending.Stuck(_) => ()
    case Ending.Closed(text)                             => throw new RobotFailure(text, None)
    case Ending.Late(text)                               => throw new RobotFailure(text, None)
    case Ending.Failed(text, cause)                      => throw new RobotFailure(text, cause)
  }
}

object Ending {
  implicit val comparable: strict.Equality.Of[Ending] = strict.Equality.any

  /** The protocol has reached its end. */
  case object Finished extends Ending

  /** The robot has disconnected early, as its [[Choices]] said. */
  case object Left extends Ending

  /** The robot could not make the values of any message of this state, so it has disconnected. */
  final case class Stuck(state: String) extends Ending

  /** The peer has disconnected early. */
  final case class Closed(text: String) extends Ending

  /** A side needed too long. */
  final case class Late(text: String) extends Ending

  /** A property does not hold, or the session could not be played. */
  final case class Failed(text: String, cause: Option[Throwable]) extends Ending
}

/** What was wrong with a session, with its transcript. Test libraries report it like an assertion that failed. */
final class RobotFailure private[robots] (text: String, cause: Option[Throwable]) extends AssertionError(text, cause.orNull)
