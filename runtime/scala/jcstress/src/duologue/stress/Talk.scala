package duologue.stress

import duologue.{EndpointUsed, PortSet, Select, SessionClosed, SharedSender, Wait, abandon, sendAsync, whenReady}
import duologue.protocols.{log, stream}
import java.util.concurrent.TimeUnit
import java.util.concurrent.atomic.AtomicInteger
import scala.concurrent.ExecutionContext
import scala.concurrent.duration.FiniteDuration

/** A session in which numbers are sent. Each outcome is a number, too: the value that was received; 1 for a send; or else one of
  * the constants.
  */
final class Talk(capacity: Int) {
  private val session = stream.init[Int](capacity)
  private val called = new AtomicInteger(Talk.Nothing)
  var server: stream.server.Stream[Int] = session._1
  var client: stream.client.Stream[Int] = session._2

  def this() = this(0)

  /** Sends, and keeps the next endpoint for the next call. */
  def send(value: Int): Int = Talk.outcome {
    client = client.send(value)
    1
  }

  /** Sends through the live endpoint, which stays as it is for other threads. */
  def sendOnce(value: Int): Int = {
    val own = client
    Talk.outcome {
      own.send(value): Unit
      1
    }
  }

  def recv(): Int = Talk.outcome(take(server.recv()))

  /** Sends the numbers from `from` to `until`, exclusive, as long as it can. Returns 1, or the outcome of the first send that
    * fails.
    */
  def sendRun(from: Int, until: Int): Int = {
    var at = from
    var outcome = 1
    while (at < until && outcome == 1) {
      outcome = send(at)
      at += 1
    }
    outcome
  }

  /** Receives the numbers from `from` to `until`, exclusive. Returns how many are not the expected ones. */
  def recvRun(from: Int, until: Int): Int = (from until until).count(recv() != _)

  /** Receives everything until the session is closed. Returns how many numbers are not the expected ones. */
  def recvPrefix(): Int = {
    var wrong = 0
    var at = 0
    var value = recv()
    while (value != Talk.Closed) {
      if (value != at) wrong += 1
      at += 1
      value = recv()
    }
    wrong
  }

  /** Sends and receives often enough that the sender leaves out its fences. */
  def hurry(): Unit = for (i <- 1 to 100) {
    send(i): Unit
    recv(): Unit
  }

  def tryRecv(): Int = Talk.outcome(server.tryRecv().fold(Talk.Nothing)(take))

  def recvWithin(nanos: Long): Int =
    Talk.outcome(server.recvWithin(FiniteDuration(nanos, TimeUnit.NANOSECONDS)).fold(Talk.Nothing)(take))

  /** Sends, and returns 2 once the peer has answered with [[answer]]. */
  def ask(value: Int): Int = Talk.outcome {
    client = client.send(value).swap().recv().next
    2
  }

  /** Answers what was asked, and returns it. */
  def answer(): Int = Talk.outcome {
    val asked = take(server.recv())
    server.recv() match {
      case stream.Stream.Swap(next) => server = next.swapped()
      case other                    => throw new AssertionError(other)
    }
    asked
  }

  /** Records in [[heard]] what arrives. */
  def listen(): Unit = server.recvThen(outcome => call(outcome.fold(_ => Talk.Closed, take)))

  /** What the callback has received; 10 times that if it was called twice. */
  def heard: Int = called.get

  def call(what: Int): Unit = if (!called.compareAndSet(Talk.Nothing, what)) called.set(called.get * 10)

  private var pending = Option.empty[Wait]

  /** Records 1 in [[heard]] when a message has arrived or the wait was given up. The endpoint is not consumed. */
  def await(): Unit = pending = Some(whenReady(server)(outcome => call(if (outcome.isRight) 1 else Talk.Closed)))

  /** Gives the wait up. */
  def end(): Unit = pending.foreach(_.end())

  /** Sends when there is space, and records 1 in [[heard]]. */
  def sendLater(value: Int): Unit =
    sendAsync(client)(_.send(value))(ExecutionContext.parasitic).onComplete(outcome => call(if (outcome.isSuccess) 1 else Talk.Closed))(
      ExecutionContext.parasitic
    )

  def leaveServer(): Unit = abandon(server)

  def leaveClient(): Unit = abandon(client)

  /** Like `leaveClient`, for a thread that does not know the client's live endpoint. */
  def leaveElsewhere(): Unit = abandon(session._2)

  private[stress] def take(message: stream.Stream[Int]): Int = message match {
    case stream.Stream.Send(value, next) =>
      server = next
      value
    case other => throw new AssertionError(other)
  }
}

object Talk {
  final val Nothing = 0
  final val Closed = -1
  final val Used = -2

  def outcome(body: => Int): Int =
    try body
    catch {
      case _: SessionClosed => Closed
      case _: EndpointUsed  => Used
    }
}

/** Two sessions in one select. */
object Choice {
  private def select(one: Talk, two: Talk): Select[Int] = Select(
    one.server.onOrClosed(_.fold(_ => Talk.Closed, one.take)),
    two.server.onOrClosed(_.fold(_ => Talk.Closed, two.take))
  )

  /** What arrives first in either session. */
  def first(one: Talk, two: Talk): Int = Talk.outcome(select(one, two).recv())

  /** Records in `one` what arrives first in either session. */
  def listen(one: Talk, two: Talk): Unit = select(one, two).readyThen(handle => one.call(handle()))
}

/** A session that carries endpoints of another one. */
final class Freight {
  private val session = stream.init[stream.server.Stream[Int]]()
  private val inside = stream.init[Int]()
  /** Kept, because a side to which nothing refers abandons its session. */
  var taken: Option[stream.server.Stream[Int]] = None

  def send(): Int = Talk.outcome {
    session._2.send(inside._1): Unit
    1
  }

  def leave(): Unit = abandon(session._1)

  /** Receives the endpoint in the message. */
  def take(): Int = Talk.outcome(session._1.recv() match {
    case stream.Stream.Send(endpoint, _) =>
      taken = Some(endpoint)
      1
    case other => throw new AssertionError(other)
  })

  /** What became of the endpoint in the message: 1 if it is still the sender's, [[Talk.Used]] if it is the peer's, and
    * [[Talk.Closed]] if its session was closed.
    */
  def rest: Int = Talk.outcome {
    inside._2.send(1): Unit
    val mine = inside._1.tryRecv()
    if (mine.nonEmpty) 1 else Talk.Nothing
  }
}

/** Two sessions in one set. */
final class Pair {
  val one = new Talk
  val two = new Talk
  private val set = PortSet[stream.Stream[Int], Talk]()
  set.add(one.server, one)
  set.add(two.server, two)

  /** Removes the first endpoint from the set. Returns 1 if it was there. */
  def remove(): Int = set.remove(one.server).size

  def recv(): Int = set.recv() match {
    case PortSet.Received(talk, message) => talk.take(message)
    case PortSet.Closed(_, _)            => Talk.Closed
  }
}

/** Two senders of one endpoint. */
final class SenderQueue {
  private val session = log.init()
  private val one = SharedSender(session._2)
  private val two = one.share()
  private var server = session._1

  /** Fills the buffer. */
  def fill(): Unit = for (_ <- 1 to 255) one.send(_.line(0, 0))

  def sendOne(value: Int): Int = send(one, value)

  def sendTwo(value: Int): Int = send(two, value)

  private def send(sender: SharedSender[log.client.Log], value: Int): Int = Talk.outcome {
    sender.send(_.line(1, value))
    1
  }

  /** Sends this many messages through the first sender when there is space. Each is sent separately: a function that sends
    * several waits for space for the later ones, and here it would wait in the thread that receives.
    */
  def sendManyLater(count: Int): Unit =
    for (_ <- 1 to count) one.sendAsync(_.line(0, 0))(ExecutionContext.parasitic): Unit

  private val called = new AtomicInteger(Talk.Nothing)

  /** Sends through the second sender when there is space, and records 1 in [[heard]]. */
  def sendLater(value: Int): Unit =
    two.sendAsync(_.line(1, value))(ExecutionContext.parasitic).onComplete(outcome => called.addAndGet(if (outcome.isSuccess) 1 else 10): Unit)(
      ExecutionContext.parasitic
    )

  def heard: Int = called.get

  def leaveOne(): Unit = one.close()

  def leaveTwo(): Unit = two.close()

  def leaveServer(): Unit = abandon(server)

  def recv(): Int = Talk.outcome(server.recv() match {
    case log.Log.Line(_, number, next) =>
      server = next
      number
    case other => throw new AssertionError(other)
  })

  /** Receives `count` messages. Returns the sum of their numbers. */
  def recvSome(count: Int): Int = (1 to count).map(_ => recv()).sum
}

/** A session whose client one thread uses many times in a row, while another thread uses whatever endpoint it sees. */
final class Theft {
  private val session = stream.init[Int]()
  @volatile private var live = session._2
  private val sent = new AtomicInteger()

  private def send(): Int = Talk.outcome {
    live = live.send(1)
    sent.incrementAndGet(): Unit
    1
  }

  /** Sends `count` numbers, as long as nothing is refused. */
  def own(count: Int): Int = {
    var outcome = 1
    for (_ <- 1 to count) if (outcome == 1) outcome = send()
    outcome
  }

  /** Sends one number, after some were sent. */
  def steal(): Int = {
    while (sent.get < 20) Thread.onSpinWait()
    send()
  }

  /** Whether numbers were lost: 0 if as many arrive as were sent, otherwise 1. */
  def lost: Int = {
    abandon(session._2)
    var server = session._1
    var received = 0
    val end = Talk.outcome {
      while (true) server.recv() match {
        case stream.Stream.Send(_, next) =>
          received += 1
          server = next
        case other => throw new AssertionError(other)
      }
      0
    }
    if (end == Talk.Closed && received == sent.get) 0 else 1
  }
}
