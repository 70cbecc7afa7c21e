package brokers

import duologue.SessionClosed
import duologue.net.{ConnectOptions, Listener, Refused, connect}
import java.util.concurrent.atomic.AtomicInteger
import scala.annotation.tailrec
import scala.concurrent.duration.DurationInt
import versions.{first, second}

/** A service of which there are two versions, and its clients: the same as `tests/brokers/src/bin/desk.rs`, which says what it prints. */
object Desk {
  private val begun = new AtomicInteger
  private val finished = new AtomicInteger
  private val refused = new AtomicInteger
  private val patient = ConnectOptions(timeout = 30.seconds)
  @volatile private var ends = false

  @tailrec
  private def answerFirst(asking: first.server.Asking, hasBegun: Boolean = false): Unit = {
    val message = asking.recv()
    if (!hasBegun) begin()
    message match {
      case first.Asking.Ask(text, next) => answerFirst(next.answer(text), hasBegun = true)
      case first.Asking.Leave           => ()
    }
  }

  @tailrec
  private def answerSecond(asking: second.server.Asking, hasBegun: Boolean = false): Unit = {
    val message = asking.recv()
    if (!hasBegun) begin()
    message match {
      case second.Asking.Ask(text, next)   => answerSecond(next.answer(text), hasBegun = true)
      case second.Asking.Count(text, next) => answerSecond(next.counted(text.length.toLong), hasBegun = true)
      case second.Asking.Leave             => ()
    }
  }

  private def askFirst(start: first.client.Asking, turns: Int): Unit = {
    var asking = start
    for (turn <- 0 until turns) {
      val text = "question " + turn.toString
      val first.Answering.Answer(answer, next) = asking.ask(text).recv()
      if (answer != text) throw new AssertionError(answer)
      asking = next
      Thread.sleep(1L)
    }
    asking.leave()
  }

  private def askSecond(start: second.client.Asking, turns: Int): Unit = {
    var asking = start
    for (turn <- 0 until turns) {
      val text = "question " + turn.toString
      val second.Answering.Answer(answer, next) = asking.ask(text).recv()
      val second.Counting.Counted(count, last) = next.count(answer).recv()
      if (count != text.length.toLong) throw new AssertionError(count.toString)
      asking = last
      Thread.sleep(1L)
    }
    asking.leave()
  }

  /** Servers call it with the first message of a session: a client that a busy server has not answered in time has begun another one. */
  private def begin(): Unit = {
    begun.incrementAndGet(): Unit
    println("session")
  }

  /** Counts a session if it finishes. */
  private def ending(session: => Unit): Unit =
    try {
      session
      finished.incrementAndGet(): Unit
    } catch { case closed: SessionClosed => System.err.println("a session has not finished: " + closed.toString) }

  private def inputEnds(): Unit = while (System.in.read() >= 0) ()

  private def serve(version: String, address: String): Unit = {
    val listener = Listener(address)
    val serving =
      if (version == "first") listener.serve(first.server)(asking => ending(answerFirst(asking)))
      else listener.serve(second.server)(asking => ending(answerSecond(asking)))
    serving.start(): Unit
    inputEnds()
    listener.drain(5.seconds): Unit
    println("begun " + begun.toString + " finished " + finished.toString)
  }

  private def ask(version: String, address: String): Unit = {
    var session = 0
    while (!ends) {
      session += 1
      val turns = session * 7 % 20
      try
        if (version == "first") {
          val asking = connect(first.client, address, patient)
          begin()
          ending(askFirst(asking, turns))
        } else {
          val asking = connect(second.client, address, patient)
          begin()
          ending(askSecond(asking, turns))
        }
      catch {
        case refusal: Refused if refusal.verdict == 16 =>
          refused.incrementAndGet(): Unit
          println("refused")
          Thread.sleep(20L)
      }
    }
  }

  private def askAll(version: String, address: String, threads: Int): Unit = {
    val all = Vector.fill(threads)(new Thread(() => ask(version, address)))
    val failed: Thread.UncaughtExceptionHandler = (_, thrown) => {
      thrown.printStackTrace()
      Runtime.getRuntime.halt(1)
    }
    all.foreach(_.setUncaughtExceptionHandler(failed))
    all.foreach(_.start())
    inputEnds()
    ends = true
    all.foreach(_.join())
    println("begun " + begun.toString + " finished " + finished.toString + " refused " + refused.toString)
  }

  def main(arguments: Array[String]): Unit = arguments match {
    case Array("serve", version, address)        => serve(version, address)
    case Array("ask", version, address, threads) => askAll(version, address, threads.toInt)
    case _ =>
      System.err.println("desk serve first|second ADDRESS, or desk ask first|second ADDRESS THREADS")
      System.exit(2)
  }
}
