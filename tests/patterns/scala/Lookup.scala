package patterns

import duologue.abandon
import protocols.{lookup, stop}
import scala.annotation.tailrec
import scala.concurrent.ExecutionContext

/** A search that never ends, and that its client stops. */
object Lookup {

  @tailrec
  def find(item: Long, stopped: stop.server.Armed, out: lookup.server.Found): lookup.server.Idle =
    stopped.tryRecvOrClosed() match {
      case Right(None) => find(item + 1, stopped, out.item(item))
      case _           => out.done()
    }

  @tailrec
  def serve(server: lookup.server.Idle): Unit = server.recvOrClosed() match {
    case Right(lookup.Idle.Find(_, stopped, next)) => serve(find(0L, stopped, next))
    case Left(_)                                => ()
  }

  /** The first items, and the endpoint for the next search. What was sent meanwhile is received and dropped. */
  def first(client: lookup.client.Idle, count: Int): (Vector[Long], lookup.client.Idle) = {
    val (stopped, armed) = stop.init()
    @tailrec
    def items(found: lookup.client.Found, so: Vector[Long]): (Vector[Long], lookup.client.Idle) = found.recv() match {
      case lookup.Found.Item(item, next) if so.length < count => items(next, so :+ item)
      case lookup.Found.Item(_, next)                         =>
        abandon(armed)
        items(next, so)
      case lookup.Found.Done(next) => (so, next)
    }
    items(client.find("numbers", stopped), Vector.empty)
  }

  def main(args: Array[String]): Unit = {
    val client = duologue.service(lookup.init())(serve)(ExecutionContext.global)
    val (items, next) = first(client, 3)
    require(items.equals(Vector(0L, 1L, 2L)))
    val (again, last) = first(next, 1)
    require(again.equals(Vector(0L)))
    abandon(last)
  }
}
