package gateway.oncats

import cats.effect.IO
import duologue.{SessionClosed, abandon, net}
import duologue.interop.cats._
import gateway.{Answer, Command, Event, Execution, Log, Market, Order, Queue}
import java.io.IOException
import protocols.{exchange, execution, jobs}
import protocols.ordersTypes.Refusal
import scala.concurrent.duration.{Deadline, DurationLong, FiniteDuration}

/** The only fiber that has the market and the sessions with the queue, so neither needs a `Ref`. */
final class Desk(command: Command.Serve) {
  private val options = net.ConnectOptions(timeout = Queue.Limit)

  /** Serves requests until all senders are closed, and then waits for the jobs that have not ended. */
  def run(requests: exchange.server.Open): IO[Queue.Tally] =
    serve(requests, Market.opening, Queue.none).flatMap(queue => finish(queue, command.grace.fromNow))

  private def serve(requests: exchange.server.Open, market: Market, queue: Queue): IO[Queue] =
    receive[IO](Event.next(requests, queue)).flatMap {
      case Event.Asked(Right(exchange.Open.Execute(account, symbol, side, quantity, limit, report, next))) =>
        execute(Order(account, symbol, side, quantity, limit), report, market, queue)
          .flatMap { case (after, used) => serve(next, after, used) }
      case Event.Asked(Right(exchange.Open.Inquire(account, symbol, report, next))) =>
        IO(Answer.position(report, market.position(account, symbol))) *> serve(next, market, queue)
      case Event.Asked(Right(exchange.Open.Close(next))) => serve(next, market.closed, queue)
      case Event.Asked(Left(_))                          => IO.pure(queue)
      case Event.Collected(result)                       => collected(queue, result).flatMap(queue => serve(requests, market, queue))
    }

  /** Executes an order if its settlement can be submitted; otherwise the market is closed for it. */
  private def execute(order: Order, report: execution.server.Pending, market: Market, queue: Queue): IO[(Market, Queue)] =
    market.execute(order) match {
      case Left(refusal) => IO(Answer.refused(report, refusal)).as((market, queue))
      case Right((executed, after)) if executed.fills.isEmpty =>
        IO(Answer.executed(report, executed, None)).as((after, queue))
      case Right((executed, after)) =>
        submit(executed, queue, Queue.delays).flatMap {
          case (used, Some(number)) => IO(Answer.executed(report, executed, Some(number))).as((after, used))
          case (used, None)         => IO(Answer.refused(report, Refusal.MarketClosed)).as((market.numbered, used))
        }
    }

  /** Tries until the delays are used up. */
  private def submit(execution: Execution, queue: Queue, delays: List[FiniteDuration]): IO[(Queue, Option[Long])] =
    attempt(execution, queue).flatMap {
      case (used, Right(number)) => IO.pure((used, Some(number)))
      case (used, Left(asked))   =>
        delays match {
          case Nil           => IO.pure((used, None))
          case own :: others => IO.sleep(Queue.delay(own, asked)) *> submit(execution, used, others)
        }
    }

  /** Submits once. `Left` is how long the queue asks to wait. */
  private def attempt(execution: Execution, queue: Queue): IO[(Queue, Either[FiniteDuration, Long])] =
    connected(queue).flatMap {
      case Left(_)     => IO.pure((queue, Left(0.millis)))
      case Right(idle) =>
        ticket(idle, execution).flatMap {
          case Some(jobs.Ticket.Accepted(number, next)) => IO((queue.accepted(next), Right(number)))
          case Some(jobs.Ticket.Full(asked, next))      => IO((queue.at(next), Left(asked.millis)))
          case None                                     =>
            // If the queue took the job but its answer was lost, the job settles an order that was undone; the job names the order.
            IO {
              Log(s"the queue does not answer for order ${execution.number}")
              abandon(idle)
              (queue.submittingLost, Left(0.millis))
            }
        }
    }

  private def ticket(idle: jobs.client.Idle, execution: Execution): IO[Option[jobs.Ticket]] =
    send[IO](idle)(_.submit(Queue.Kind, execution.job))
      .flatMap(waiting => receive[IO](waiting))
      .map(Option(_))
      .timeoutTo(Queue.Limit, IO.none)
      .recover { case _: SessionClosed => None }

  /** The session that takes jobs, a new one if necessary. */
  private def connected(queue: Queue): IO[Either[IOException, jobs.client.Idle]] = queue.submitting match {
    case Some(session) => IO.pure(Right(session.endpoint))
    case None          =>
      val connecting = IO.interruptible(net.connect(jobs.client, command.queue, options): jobs.client.Idle)
      connecting.map(idle => Right(idle)).recover { case failed: IOException => Left(failed) }
  }

  private def collected(queue: Queue, result: Either[SessionClosed, jobs.Result]): IO[Queue] = IO(queue.collected(result))

  private def finish(queue: Queue, deadline: Deadline): IO[Queue.Tally] = queue.collecting match {
    case None          => IO(queue.leave())
    case Some(session) =>
      receiveOrClosed[IO](session.endpoint).map(Option(_)).timeoutTo(deadline.timeLeft, IO.none).flatMap {
        case Some(result) => collected(queue, result).flatMap(queue => finish(queue, deadline))
        case None         => IO(queue.leave())
      }
  }
}
