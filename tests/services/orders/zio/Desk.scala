package gateway.onzio

import duologue.{SessionClosed, abandon, net}
import duologue.interop.zio._
import gateway.{Answer, Command, Event, Execution, Log, Market, Order, Queue}
import java.io.IOException
import protocols.{exchange, execution, jobs}
import protocols.ordersTypes.Refusal
import scala.concurrent.duration.{Deadline, DurationLong, FiniteDuration}
import zio.{Duration, IO, Task, UIO, ZIO}

/** The only fiber that has the market and the sessions with the queue, so neither needs a `Ref`. */
final class Desk(command: Command.Serve) {
  private val options = net.ConnectOptions(timeout = Queue.Limit)

  /** Serves requests until all senders are closed, and then waits for the jobs that have not ended. */
  def run(requests: exchange.server.Open): Task[Queue.Tally] =
    serve(requests, Market.opening, Queue.none).flatMap(queue => finish(queue, command.grace.fromNow))

  private def serve(requests: exchange.server.Open, market: Market, queue: Queue): Task[Queue] =
    Event.next(requests, queue).receive.flatMap {
      case Event.Asked(Right(exchange.Open.Execute(account, symbol, side, quantity, limit, report, next))) =>
        execute(Order(account, symbol, side, quantity, limit), report, market, queue)
          .flatMap { case (after, used) => serve(next, after, used) }
      case Event.Asked(Right(exchange.Open.Inquire(account, symbol, report, next))) =>
        ZIO.succeed(Answer.position(report, market.position(account, symbol))) *> serve(next, market, queue)
      case Event.Asked(Right(exchange.Open.Close(next))) => serve(next, market.closed, queue)
      case Event.Asked(Left(_))                          => ZIO.succeed(queue)
      case Event.Collected(result)                       => collected(queue, result).flatMap(queue => serve(requests, market, queue))
    }

  /** Executes an order if its settlement can be submitted; otherwise the market is closed for it. */
  private def execute(order: Order, report: execution.server.Pending, market: Market, queue: Queue): UIO[(Market, Queue)] =
    market.execute(order) match {
      case Left(refusal) => ZIO.succeed(Answer.refused(report, refusal)).as((market, queue))
      case Right((executed, after)) if executed.fills.isEmpty =>
        ZIO.succeed(Answer.executed(report, executed, None)).as((after, queue))
      case Right((executed, after)) =>
        submit(executed, queue, Queue.delays).flatMap {
          case (used, Some(number)) => ZIO.succeed(Answer.executed(report, executed, Some(number))).as((after, used))
          case (used, None)         => ZIO.succeed(Answer.refused(report, Refusal.MarketClosed)).as((market.numbered, used))
        }
    }

  /** Tries until the delays are used up. */
  private def submit(execution: Execution, queue: Queue, delays: List[FiniteDuration]): UIO[(Queue, Option[Long])] =
    attempt(execution, queue).flatMap {
      case (used, Right(number)) => ZIO.succeed((used, Some(number)))
      case (used, Left(asked))   =>
        delays match {
          case Nil           => ZIO.succeed((used, None))
          case own :: others => ZIO.sleep(Duration.fromScala(Queue.delay(own, asked))) *> submit(execution, used, others)
        }
    }

  /** Submits once. `Left` is how long the queue asks to wait. */
  private def attempt(execution: Execution, queue: Queue): UIO[(Queue, Either[FiniteDuration, Long])] =
    connected(queue).foldZIO(
      _ => ZIO.succeed((queue, Left(0.millis))),
      idle =>
        ticket(idle, execution).flatMap {
          case Some(jobs.Ticket.Accepted(number, next)) => ZIO.succeed((queue.accepted(next), Right(number)))
          case Some(jobs.Ticket.Full(asked, next))      => ZIO.succeed((queue.at(next), Left(asked.millis)))
          case None                                     =>
            // If the queue took the job but its answer was lost, the job settles an order that was undone; the job names the order.
            ZIO.succeed {
              Log(s"the queue does not answer for order ${execution.number}")
              abandon(idle)
              (queue.submittingLost, Left(0.millis))
            }
        }
    )

  private def ticket(idle: jobs.client.Idle, execution: Execution): UIO[Option[jobs.Ticket]] =
    send(idle)(_.submit(Queue.Kind, execution.job))
      .flatMap(_.receive)
      .timeout(Duration.fromScala(Queue.Limit))
      .catchAll(_ => ZIO.none)

  /** The session that takes jobs, a new one if necessary. */
  private def connected(queue: Queue): IO[IOException, jobs.client.Idle] = queue.submitting match {
    case Some(session) => ZIO.succeed(session.endpoint)
    case None => ZIO.attemptBlockingInterrupt(net.connect(jobs.client, command.queue, options): jobs.client.Idle).refineToOrDie[IOException]
  }

  private def collected(queue: Queue, result: Either[SessionClosed, jobs.Result]): UIO[Queue] = ZIO.succeed(queue.collected(result))

  private def finish(queue: Queue, deadline: Deadline): UIO[Queue.Tally] = queue.collecting match {
    case None          => ZIO.succeed(queue.leave())
    case Some(session) =>
      session.endpoint.receive.either.timeout(Duration.fromScala(deadline.timeLeft)).flatMap {
        case Some(result) => collected(queue, result).flatMap(queue => finish(queue, deadline))
        case None         => ZIO.succeed(queue.leave())
      }
  }
}
