package gateway.onthreads

import duologue.{abandon, net}
import gateway.{Answer, Command, Event, Execution, Log, Market, Order, Queue}
import java.io.IOException
import protocols.{exchange, execution, jobs}
import protocols.ordersTypes.Refusal
import scala.concurrent.duration.{Deadline, DurationLong, FiniteDuration}

/** The only thread that has the market and the sessions with the queue, so neither needs a lock. */
final class Desk(command: Command.Serve) {
  private val options = net.ConnectOptions(timeout = Queue.Limit)

  /** Serves requests until all senders are closed, and then waits for the jobs that have not ended. */
  def run(requests: exchange.server.Open): Queue.Tally = finish(serve(requests, Market.opening, Queue.none), command.grace.fromNow)

  @scala.annotation.tailrec
  private def serve(requests: exchange.server.Open, market: Market, queue: Queue): Queue =
    Event.next(requests, queue).recv() match {
      case Event.Asked(Right(exchange.Open.Execute(account, symbol, side, quantity, limit, report, next))) =>
        val (after, used) = execute(Order(account, symbol, side, quantity, limit), report, market, queue)
        serve(next, after, used)
      case Event.Asked(Right(exchange.Open.Inquire(account, symbol, report, next))) =>
        Answer.position(report, market.position(account, symbol))
        serve(next, market, queue)
      case Event.Asked(Right(exchange.Open.Close(next))) => serve(next, market.closed, queue)
      case Event.Asked(Left(_))                          => queue
      case Event.Collected(result)                       => serve(requests, market, queue.collected(result))
    }

  /** Executes an order if its settlement can be submitted; otherwise the market is closed for it. */
  private def execute(order: Order, report: execution.server.Pending, market: Market, queue: Queue): (Market, Queue) =
    market.execute(order) match {
      case Left(refusal) =>
        Answer.refused(report, refusal)
        (market, queue)
      case Right((executed, after)) if executed.fills.isEmpty =>
        Answer.executed(report, executed, None)
        (after, queue)
      case Right((executed, after)) =>
        submit(executed, queue, Queue.delays) match {
          case (used, Some(number)) =>
            Answer.executed(report, executed, Some(number))
            (after, used)
          case (used, None) =>
            Answer.refused(report, Refusal.MarketClosed)
            (market.numbered, used)
        }
    }

  /** Tries until the delays are used up. */
  @scala.annotation.tailrec
  private def submit(execution: Execution, queue: Queue, delays: List[FiniteDuration]): (Queue, Option[Long]) =
    attempt(execution, queue) match {
      case (used, Right(number)) => (used, Some(number))
      case (used, Left(asked))   =>
        delays match {
          case Nil           => (used, None)
          case own :: others =>
            Thread.sleep(Queue.delay(own, asked).toMillis)
            submit(execution, used, others)
        }
    }

  /** Submits once. `Left` is how long the queue asks to wait. */
  private def attempt(execution: Execution, queue: Queue): (Queue, Either[FiniteDuration, Long]) =
    connected(queue) match {
      case None       => (queue, Left(0.millis))
      case Some(idle) =>
        duologue.sendOrClosed(idle)(_.submit(Queue.Kind, execution.job)).flatMap(_.recvWithinOrClosed(Queue.Limit)) match {
          case Right(Some(jobs.Ticket.Accepted(number, next))) => (queue.accepted(next), Right(number))
          case Right(Some(jobs.Ticket.Full(asked, next)))      => (queue.at(next), Left(asked.millis))
          case Right(None) | Left(_)                           =>
            // If the queue took the job but its answer was lost, the job settles an order that was undone; the job names the order.
            Log(s"the queue does not answer for order ${execution.number}")
            abandon(idle)
            (queue.submittingLost, Left(0.millis))
        }
    }

  /** The session that takes jobs, a new one if necessary. */
  private def connected(queue: Queue): Option[jobs.client.Idle] = queue.submitting match {
    case Some(session) => Some(session.endpoint)
    case None          =>
      try Some(net.connect(jobs.client, command.queue, options))
      catch { case _: IOException => None }
  }

  @scala.annotation.tailrec
  private def finish(queue: Queue, deadline: Deadline): Queue.Tally = queue.collecting match {
    case None          => queue.leave()
    case Some(session) =>
      session.endpoint.recvWithinOrClosed(deadline.timeLeft) match {
        case Right(Some(result)) => finish(queue.collected(Right(result)), deadline)
        case Right(None)         => queue.leave()
        case Left(closed)        => finish(queue.collected(Left(closed)), deadline)
      }
  }
}
