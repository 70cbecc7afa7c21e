package cases.work_queue

import cases.Transcript
import protocols.Ticket
import protocols.work_queue

object Client {
  def run(endpoint: work_queue.client.Idle, transcript: Transcript): Unit = {
    val first = popped(endpoint.push(Ticket(7)).push(Ticket(8)).pop(), transcript)
    val second = popped(first.pop(), transcript)
    popped(second.pop(), transcript).close()
  }

  private def popped(endpoint: work_queue.client.Popped, transcript: Transcript): work_queue.client.Idle =
    endpoint.recv() match {
      case work_queue.Popped.Ticket(ticket, next) =>
        transcript.line("client <- ticket(ticket " + ticket.id.toString + ")")
        next
      case work_queue.Popped.Empty(next) =>
        transcript.line("client <- empty")
        next
    }
}
