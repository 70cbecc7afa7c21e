package duologue.stress

import duologue.{EndpointUsed, PortSet, Select, SessionClosed, SharedSender, Wait, abandon, sendAsync, whenReady}
import duologue.protocols.{log, stream}
import java.util.concurrent.TimeUnit
import java.util.concurrent.atomic.AtomicInteger
import scala.concurrent.ExecutionContext
import scala.concurrent.duration.FiniteDuration

/** A session in which numbers are sent, and numbers for whatever may happen: what was received or, if it was sent, 1; otherwise one
  * of the constants.
  */
final class Talk(capacity: Int) {
  private val session = stream.init[Int](capacity)
  private val called = new AtomicInteger(Talk.Nothing)
  var server: stream.server.Stream[Int] = session._1
  var client: stream.client.Stream[Int] = session._2

  def this() = this(0)

  /** Sends; the next call of `send` does so, too, with the next endpoint. */
  def send(value: Int): Int = Talk.outcome {
    client = client.send(value)
    1
  }

  /** Sends by the endpoint that is live, which stays as it is for others. */
  def sendOnce(value: Int): Int = {
    val own = client
    Talk.outcome {
      own.send(value): Unit
      1
    }
  }

  def recv(): Int = Talk.outcome(take(server.recv()))

  /** Sends so many numbers as long as it can: 1, or what the first one that fails says. */
  def sendRun(from: Int, until: Int): Int = {
    var at = from
    var outcome = 1
    while (at < until && outcome == 1) {
      outcome = send(at)
      at += 1
    }
    outcome
  }

  /** Receives so many numbers; how many of them are not what was to come. */
  def recvRun(from: Int, until: Int): Int = (from until until).count(recv() != _)

  /** Receives all that there is, when the peer has left; how many of them are not what was to come. */
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

  /** Sends and receives so often that the sender leaves its fences out. */
  def hurry(): Unit = for (i <- 1 to 100) {
    send(i): Unit
    recv(): Unit
  }

  def tryRecv(): Int = Talk.outcome(server.tryRecv().fold(Talk.Nothing)(take))

  def recvWithin(nanos: Long): Int =
    Talk.outcome(server.recvWithin(FiniteDuration(nanos, TimeUnit.NANOSECONDS)).fold(Talk.Nothing)(take))

  /** Sends, and answers 2 once the peer has answered by [[answer]]. */
  def ask(value: Int): Int = Talk.outcome {
    client = client.send(value).swap().recv().next
    2
  }

  /** What was asked; answers. */
  def answer(): Int = Talk.outcome {
    val asked = take(server.recv())
    server.recv() match {
      case stream.Stream.Swap(next) => server = next.swapped()
      case other                    => throw new AssertionError(other)
    }
    asked
  }

  /** Lets [[heard]] know what comes. */
  def listen(): Unit = server.recvThen(outcome => call(outcome.fold(_ => Talk.Closed, take)))

  /** What the callback has heard; 10 times that if it was called twice. */
  def heard: Int = called.get

  def call(what: Int): Unit = if (!called.compareAndSet(Talk.Nothing, what)) called.set(called.get * 10)

  private var pending = Option.empty[Wait]

  /** Lets [[heard]] know, by 1, that a message has come, or that the wait was given up. Nothing is used up. */
  def await(): Unit = pending = Some(whenReady(server)(outcome => call(if (outcome.isRight) 1 else Talk.Closed)))

  /** Gives the wait up. */
  def end(): Unit = pending.foreach(_.end())

  /** Sends when there is room; lets [[heard]] know, by 1. */
  def sendLater(value: Int): Unit =
    sendAsync(client)(_.send(value))(ExecutionContext.parasitic).onComplete(outcome => call(if (outcome.isSuccess) 1 else Talk.Closed))(
      ExecutionContext.parasitic
    )

  def leaveServer(): Unit = abandon(server)

  def leaveClient(): Unit = abandon(client)

  /** As `leaveClient`, in a thread that does not know how far the client is. */
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

  /** What comes first in either. */
  def first(one: Talk, two: Talk): Int = Talk.outcome(select(one, two).recv())

  /** Lets `one` know what comes first in either. */
  def listen(one: Talk, two: Talk): Unit = select(one, two).readyThen(handle => one.call(handle()))
}

/** A session that carries endpoints of another one. */
final class Freight {
  private val session = stream.init[stream.server.Stream[Int]]()
  private val inside = stream.init[Int]()
  /** Kept, since a side that nobody refers to leaves its session. */
  var taken: Option[stream.server.Stream[Int]] = None

  def send(): Int = Talk.outcome {
    session._2.send(inside._1): Unit
    1
  }

  def leave(): Unit = abandon(session._1)

  /** Receives the endpoint that travels. */
  def take(): Int = Talk.outcome(session._1.recv() match {
    case stream.Stream.Send(endpoint, _) =>
      taken = Some(endpoint)
      1
    case other => throw new AssertionError(other)
  })

  /** Whether the endpoint that was to travel is still the sender's: 1, or the peer's: [[Talk.Used]], or its session was left:
    * [[Talk.Closed]].
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

  /** Takes the first one out; 1 if it was there. */
  def remove(): Int = set.remove(one.server).size

  def recv(): Int = set.recv() match {
    case PortSet.Received(talk, message) => talk.take(message)
    case PortSet.Closed(_, _)            => Talk.Closed
  }
}

/** Two senders of one endpoint. */
final class Crowd {
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

  /** Sends this many messages when there is room, by the first sender. Each is sent for itself: a function that sends several waits for the room
    * of the later ones, which would be in the thread that receives.
    */
  def sendManyLater(count: Int): Unit =
    for (_ <- 1 to count) one.sendAsync(_.line(0, 0))(ExecutionContext.parasitic): Unit

  private val called = new AtomicInteger(Talk.Nothing)

  /** Sends when there is room, by the second sender; lets [[heard]] know, by 1. */
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

  /** Receives so many messages; the sum of their numbers. */
  def recvSome(count: Int): Int = (1 to count).map(_ => recv()).sum
}

/** A session whose client one thread uses many times in a row, and another thread, too, by whatever endpoint it sees. */
final class Theft {
  private val session = stream.init[Int]()
  @volatile private var live = session._2
  private val sent = new AtomicInteger()

  private def send(): Int = Talk.outcome {
    live = live.send(1)
    sent.incrementAndGet(): Unit
    1
  }

  /** Sends so many numbers, as long as nothing is refused. */
  def own(count: Int): Int = {
    var outcome = 1
    for (_ <- 1 to count) if (outcome == 1) outcome = send()
    outcome
  }

  /** Sends one number, when some were sent. */
  def steal(): Int = {
    while (sent.get < 20) Thread.onSpinWait()
    send()
  }

  /** How many numbers arrive: 0 if as many as were sent, or else 1. */
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
