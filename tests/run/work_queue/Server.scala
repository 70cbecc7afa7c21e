package cases.work_queue

import cases.Transcript
import protocols.Ticket
import protocols.work_queue
import scala.annotation.tailrec
import scala.collection.immutable.Queue

object Server {
  def run(endpoint: work_queue.server.Idle, transcript: Transcript): Unit = serve(endpoint, Queue.empty, transcript)

  @tailrec
  private def serve(endpoint: work_queue.server.Idle, queue: Queue[Ticket], transcript: Transcript): Unit =
    endpoint.recv() match {
      case work_queue.Idle.Push(ticket, next) =>
        transcript.line("server <- push(ticket " + ticket.id.toString + ")")
        serve(next, queue.enqueue(ticket), transcript)
      case work_queue.Idle.Pop(next) =>
        transcript.line("server <- pop")
        queue.dequeueOption match {
          case Some((ticket, rest)) => serve(next.ticket(ticket), rest, transcript)
          case None                 => serve(next.empty(), queue, transcript)
        }
      case work_queue.Idle.Close => transcript.line("server <- close")
    }
}
