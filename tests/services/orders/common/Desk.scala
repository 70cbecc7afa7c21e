package gateway

import duologue.{Select, SendEndpoint, SessionClosed, sendOrClosed}
import protocols.{exchange, execution, holding, jobs}
import protocols.ordersTypes.Refusal

/** What the desk waits for. */
sealed trait Event

object Event {

  /** A request. `Left` means that all senders are closed: no session of a trader is left. */
  final case class Asked(request: Either[SessionClosed, exchange.Open]) extends Event

  /** The queue's answer to `collect`. */
  final case class Collected(result: Either[SessionClosed, jobs.Result]) extends Event

  /** The next request or the next job that ends, whichever is first. Each form waits for it in its own way. */
  def next(requests: exchange.server.Open, queue: Queue): Select[Event] = {
    val answer = queue.collecting.map(session => session.endpoint.onOrClosed[Event](Collected(_)))
    Select.from(requests.onOrClosed[Event](Asked(_)) :: answer.toList)
  }
}

/** What the desk answers. A session that is gone gets no answer, and what it has ordered remains executed. */
object Answer {
  def executed(report: execution.server.Pending, what: Execution, settlement: Option[Long]): Unit =
    send(report)(_.executed(what.number, what.fills, what.rest, settlement))

  def refused(report: execution.server.Pending, refusal: Refusal): Unit = send(report)(_.refused(refusal))

  def position(report: holding.server.Pending, quantity: Long): Unit = send(report)(_.quantity(quantity))

  private def send[E <: SendEndpoint](report: E)(message: E => Unit): Unit = {
    val _ = sendOrClosed(report)(message)
  }
}
