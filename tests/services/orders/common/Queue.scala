package gateway

import duologue.{SessionClosed, abandon, sendOrClosed}
import gateway.Queue.{Session, Tally}
import protocols.{jobs, jobsTypes}
import scala.concurrent.duration.{DurationInt, FiniteDuration}

/** The gateway's sessions with the job queue. The answer to `collect` comes when a job ends, and until then that session takes no other
  * job. So there are two sessions: one takes jobs while the other waits for those that it took earlier, and then they swap. Whenever
  * the first has taken jobs, the second one waits.
  */
final case class Queue(submitting: Option[Session[jobs.client.Idle]], collecting: Option[Session[jobs.client.Result]], tally: Tally) {

  /** The queue has taken a job. */
  def accepted(next: jobs.client.Idle): Queue =
    copy(submitting = Some(Session(next, open + 1)), tally = tally.copy(submitted = tally.submitted + 1)).turned

  /** There is a new session, or the queue has answered that it takes no more jobs. */
  def at(next: jobs.client.Idle): Queue = copy(submitting = Some(Session(next, open)))

  /** The session that takes jobs has been closed; how its jobs end is not known. */
  def submittingLost: Queue = copy(submitting = None, tally = tally.without(open))

  /** What `collecting` has received. */
  def collected(result: Either[SessionClosed, jobs.Result]): Queue = {
    val jobsLeft = collecting.fold(0)(_.jobs)
    result match {
      case Right(jobs.Result.Ended(number, how, next)) =>
        val ended = how match {
          case jobsTypes.Outcome.Done(_) =>
            Log(s"job $number is done")
            tally.copy(done = tally.done + 1)
          case jobsTypes.Outcome.Failed(why) =>
            Log(s"job $number has failed: $why")
            tally.copy(failed = tally.failed + 1)
        }
        copy(collecting = None, tally = ended).goOn(next, jobsLeft - 1)
      case Right(jobs.Result.Nothing(next)) => copy(collecting = None, tally = tally.without(jobsLeft)).goOn(next, 0)
      case Left(closed) =>
        Log(s"the queue is gone: ${closed.why}")
        copy(collecting = None, tally = tally.without(jobsLeft)).turned
    }
  }

  /** Leaves the queue. Jobs that have not ended are still done. */
  def leave(): Tally = {
    submitting.foreach(session => sendOrClosed(session.endpoint)(_.leave()))
    collecting.foreach(session => abandon(session.endpoint))
    tally.without(open + collecting.fold(0)(_.jobs))
  }

  /** The session that has collected waits for the rest of its jobs, or takes the next ones. */
  private def goOn(next: jobs.client.Idle, jobsLeft: Int): Queue =
    if (jobsLeft > 0) collect(next, jobsLeft)
    else {
      val turned = this.turned
      if (turned.submitting.isEmpty) turned.copy(submitting = Some(Session(next, 0)))
      else {
        // The other session has no jobs either: one is enough.
        val _ = sendOrClosed(next)(_.leave())
        turned
      }
    }

  /** If no session collects, and one has taken jobs, that one collects. */
  private def turned: Queue = submitting match {
    case Some(Session(next, open)) if open > 0 && collecting.isEmpty => copy(submitting = None).collect(next, open)
    case _                                                           => this
  }

  private def collect(next: jobs.client.Idle, jobsLeft: Int): Queue = sendOrClosed(next)(_.collect()) match {
    case Right(waiting) => copy(collecting = Some(Session(waiting, jobsLeft)))
    case Left(_)        => copy(tally = tally.without(jobsLeft)).turned
  }

  private def open: Int = submitting.fold(0)(_.jobs)
}

object Queue {

  /** An endpoint, and how many jobs its session has submitted and not collected. */
  final case class Session[E](endpoint: E, jobs: Int)

  /** What has become of the jobs. */
  final case class Tally(submitted: Int, done: Int, failed: Int, unknown: Int) {
    def without(jobs: Int): Tally = copy(unknown = unknown + jobs)

    override def toString: String = s"$submitted jobs: $done done, $failed failed, $unknown unknown"
  }

  val none: Queue = Queue(None, None, Tally(0, 0, 0, 0))

  /** The kind of the gateway's jobs. */
  val Kind = "settle"

  /** How long connecting, and the answer to a job, may take. */
  val Limit: FiniteDuration = 2.seconds

  /** How long to wait after each failed attempt. If the attempt after the last delay fails, too, the order is refused. */
  val delays: List[FiniteDuration] = List(20, 40, 80, 160, 320).map(_.millis)

  /** The longer of this delay and what the queue asks for, within a limit. */
  def delay(own: FiniteDuration, asked: FiniteDuration): FiniteDuration = own.max(asked.min(delays.last))
}
