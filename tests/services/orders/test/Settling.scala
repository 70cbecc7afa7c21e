package gateway.test

import duologue.net.Listener
import gateway.Say
import java.nio.charset.StandardCharsets.UTF_8
import java.util.concurrent.CountDownLatch
import java.util.concurrent.atomic.{AtomicInteger, AtomicLong}
import protocols.{jobs, jobsTypes}
import scala.io.Source
import scala.util.Using

/** A job queue for tests, whose workers take no time: `ADDRESS FIRST FULL [held]` numbers jobs from `FIRST`, and is at first full for
  * `FULL` attempts. It prints each job, and fails those for the symbol `ODD`. With `held`, no job ends before a line of standard input says
  * `release`. It ends at the end of standard input.
  */
object Settling {
  def main(arguments: Array[String]): Unit = {
    val released = new CountDownLatch(if (arguments.contains("held")) 1 else 0)
    val queue = new Settling(arguments(1).toLong, arguments(2).toInt, released)
    val listener = Listener(arguments(0)).serve(jobs.server)(queue.serve(_, Vector.empty)).start()
    Using.resource(listener) { listener =>
      Say("listening " + listener.address)
      Source.stdin.getLines().foreach(line => if (line == "release") released.countDown())
    }
  }
}

final class Settling(first: Long, full: Int, released: CountDownLatch) {
  private val numbers = new AtomicLong(first)
  private val refusals = new AtomicInteger(full)

  @scala.annotation.tailrec
  def serve(idle: jobs.server.Idle, taken: Vector[(Long, String)]): Unit = idle.recv() match {
    case jobs.Idle.Submit(_, _, ticket) if refusals.getAndDecrement() > 0 => serve(ticket.full(10L), taken)
    case jobs.Idle.Submit(kind, input, ticket)                            =>
      val job = (numbers.getAndIncrement(), new String(input.toArray, UTF_8))
      Say(s"job ${job._1}: $kind ${job._2}")
      serve(ticket.accepted(job._1), taken :+ job)
    case jobs.Idle.Collect(result) =>
      released.await()
      taken match {
        case (number, text) +: rest =>
          val outcome =
            if (text.contains("ODD")) jobsTypes.Outcome.Failed("nobody has this") else jobsTypes.Outcome.Done(duologue.Bytes())
          serve(result.ended(number, outcome), rest)
        case _ => serve(result.nothing(), taken)
      }
    case jobs.Idle.Leave => ()
  }
}
