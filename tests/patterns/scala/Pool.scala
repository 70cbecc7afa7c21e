package patterns

import duologue.{abandon, sendOrClosed, PortSet}
import protocols.jobs
import scala.annotation.tailrec

/** A pool of workers, one of which dies with its job. */
object Pool {

  @tailrec
  def work(worker: jobs.client.Idle, result: Option[Long], most: Int): Unit = worker.ready(result).recv() match {
    case jobs.Waiting.Job(number, next) if most > 0 => work(next, Some(number * number), most - 1)
    case jobs.Waiting.Job(_, next)                  => abandon(next)
    case jobs.Waiting.Stop                          => ()
  }

  /** Adds the results. The set holds each worker with its job, which another worker gets if this one is lost. */
  @tailrec
  def run(workers: PortSet[jobs.Idle, Option[Long]], idle: List[jobs.server.Waiting], left: List[Long], total: Long): Long =
    (idle, left) match {
      case (worker :: others, job :: rest) =>
        sendOrClosed(worker)(_.job(job)) match {
          case Right(next) =>
            workers.add(next, Some(job))
            run(workers, others, rest, total)
          case Left(_) => run(workers, others, left, total)
        }
      case _ if workers.isEmpty =>
        idle.foreach(_.stop())
        total
      case _ =>
        workers.recv() match {
          case PortSet.Received(_, jobs.Idle.Ready(result, next)) => run(workers, next :: idle, left, total + result.getOrElse(0L))
          case PortSet.Closed(job, _)                             => run(workers, idle, left ++ job, total)
        }
    }

  def main(args: Array[String]): Unit = {
    val workers = PortSet[jobs.Idle, Option[Long]]()
    val threads = List(0, 1000, 1000).map { most =>
      val (server, client) = jobs.init()
      workers.add(server, None)
      new Thread(() => work(client, None, most))
    }
    threads.foreach(_.start())
    require(run(workers, Nil, List.range(1L, 11L), 0L) == 385L)
    threads.foreach(_.join())
  }
}
