package gateway

import scala.concurrent.duration.{Duration, DurationInt, FiniteDuration}
import scala.util.Try

/** What the program is asked to do. */
sealed trait Command

object Command {

  /** Serves traders at `address`, as a client of the job queue at `queue`.
    *
    * @param idle
    *   how long a trader may be silent
    * @param grace
    *   how long sessions may continue after the market has closed, and how long the gateway then waits for jobs to end
    */
  final case class Serve(address: String, queue: String, idle: FiniteDuration, grace: FiniteDuration) extends Command

  /** Trades: each line is one action, see [[Trader]]. Without lines, they are read from standard input. */
  final case class Trade(address: String, lines: List[String]) extends Command

  val usage: String =
    """usage: serve ADDRESS QUEUE [--idle DURATION] [--grace DURATION]
      |       trade ADDRESS [LINE ...]
      |addresses are `unix:PATH` or `tcp://HOST:PORT`, durations such as `500ms` or `10s`""".stripMargin

  def parse(arguments: List[String]): Option[Command] = arguments match {
    case "serve" :: address :: queue :: options => parse(Serve(address, queue, idle = 1.hour, grace = 5.seconds), options)
    case "trade" :: address :: lines            => Some(Trade(address, lines))
    case _                                      => None
  }

  @scala.annotation.tailrec
  private def parse(so: Serve, rest: List[String]): Option[Command] = rest match {
    case Nil                       => Some(so)
    case "--idle" :: text :: more  =>
      duration(text) match {
        case Some(idle) => parse(so.copy(idle = idle), more)
        case None       => None
      }
    case "--grace" :: text :: more =>
      duration(text) match {
        case Some(grace) => parse(so.copy(grace = grace), more)
        case None        => None
      }
    case _ => None
  }

  private def duration(text: String): Option[FiniteDuration] =
    Try(Duration(text)).toOption.collect { case limit: FiniteDuration if limit > Duration.Zero => limit }
}
