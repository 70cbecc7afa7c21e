package duologue.robots

import scala.concurrent.duration.{DurationInt, FiniteDuration}

/** A robot that plays sessions, one after another: where its decisions come from, and what it has seen. The methods `client` and `server`
  * of a protocol's object `robots` play a session with it. For one thread at a time.
  *
  * @param choices
  *   what decides everything
  * @param coverage
  *   where the robot counts what it has seen, and by which it chooses what to show next; without it, the robot has one of its own
  * @param limit
  *   after how many messages the robot takes the shortest way to the end; after twice as many it disconnects
  * @param pause
  *   how long the robot sleeps when it is slow, or up to four times that; 0 turns it off
  * @param leaving
  *   whether the robot may disconnect before the end when there is a way to the end
  * @param within
  *   how long a session may take
  */
final class Play(
    val choices: Choices,
    val coverage: Option[Coverage] = None,
    val limit: Int = 100,
    val pause: FiniteDuration = 1.millisecond,
    val leaving: Boolean = true,
    val within: Option[FiniteDuration] = None
) {
  private var own: Option[Coverage] = None
  private var last = ""

  /** What was sent and received in the last session, in the order of the messages. */
  def transcript: String = last

  private[robots] def ended(transcript: String): Unit = last = transcript

  /** The coverage for a session in this protocol. */
  private[robots] def coverageOf(table: Table): Coverage = coverage.getOrElse {
    own.filter(_.table eq table).getOrElse {
      val fresh = new Coverage(table)
      own = Some(fresh)
      fresh
    }
  }
}
