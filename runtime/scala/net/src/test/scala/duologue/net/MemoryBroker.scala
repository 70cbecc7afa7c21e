package duologue.net

import java.util.ArrayDeque
import java.util.concurrent.atomic.AtomicInteger
import scala.collection.mutable
import scala.util.Random

/** A broker in memory, with faults on command. Each fault is in messages per thousand. */
private[net] final class MemoryBroker(seed: Long) extends AutoCloseable {
  import MemoryBroker.{Message, Subscribed}

  /** What goes wrong: messages are lost, delivered twice, delivered after the next one, or a few milliseconds late. */
  @volatile var loses = 0
  @volatile var repeats = 0
  @volatile var swaps = 0
  @volatile var delays = 0

  /** Whether it says of itself that it cannot be reached. */
  @volatile var isAway = false
  @volatile var denied = Option.empty[String]

  /** How many bytes were published, and how many messages of each kind. */
  @volatile var bytes = 0L
  val kinds: Vector[AtomicInteger] = Vector.fill(16)(new AtomicInteger)

  private val random = new Random(seed)
  private val queue = new ArrayDeque[Message]
  private val subscriptions = mutable.ArrayBuffer.empty[Subscribed]
  private var isStopped = false

  private val thread = new Thread(() => deliver(), "memory-broker")
  thread.setDaemon(true)
  thread.start()

  def close(): Unit = synchronized {
    isStopped = true
    notifyAll()
  }

  /** Reports to all that it delivers nothing more. */
  def lose(): Unit = synchronized(subscriptions.toVector).foreach(_.inbox.lost())

  /** A connection to it. */
  def connection(): Broker = new Broker {
    private val own = mutable.ArrayBuffer.empty[AutoCloseable]
    def publish(subject: String, reply: Option[String], message: Array[Byte]): Unit = MemoryBroker.this.publish(subject, reply, message)
    def subscribe(subject: String, group: Option[String], inbox: Inbox): AutoCloseable = {
      val subscription = MemoryBroker.this.subscribe(subject, group, inbox)
      own.synchronized(own.append(subscription)): Unit
      subscription
    }
    override def isConnected: Boolean = !isAway
    override def denied: Option[String] = MemoryBroker.this.denied
    // The least that a broker may allow, so that long messages have parts.
    def maxMessage: Int = 8 << 10
    def close(): Unit = own.synchronized(own.toVector).foreach(_.close())
  }

  def publish(subject: String, reply: Option[String], message: Array[Byte]): Unit = synchronized {
    bytes += message.length.toLong
    if (message.nonEmpty) kinds(message(0) & 15).incrementAndGet(): Unit
    queue.add(new Message(subject, reply, message))
    notifyAll()
  }

  def subscribe(subject: String, group: Option[String], inbox: Inbox): AutoCloseable = synchronized {
    val subscription = new Subscribed(subject, group, inbox)
    subscriptions.append(subscription): Unit
    () => synchronized(subscriptions.filterInPlace(_ ne subscription): Unit)
  }

  /** How many subscriptions a subject has. */
  def count(subject: String): Int = synchronized(subscriptions.count(_.takes(subject)))

  private def happens(perThousand: Int): Boolean = random.nextInt(1000) < perThousand

  private def receivers(subject: String): Vector[Inbox] = {
    val found = subscriptions.toVector.filter(_.takes(subject))
    val (grouped, alone) = found.partition(_.group.nonEmpty)
    val chosen = grouped.groupBy(_.group.getOrElse("")).values.map(group => group(random.nextInt(group.length)))
    (alone ++ chosen).map(_.inbox)
  }

  /** The next messages to deliver, with their receivers; empty at the end. */
  private def next(): Option[Vector[(Message, Vector[Inbox])]] = synchronized {
    while (queue.isEmpty && !isStopped) wait()
    Option(queue.poll()).map { message =>
      if (happens(loses)) Vector.empty
      else if (happens(repeats)) Vector(message, message)
      else if (happens(swaps) && !queue.isEmpty) Vector(queue.poll(), message)
      else Vector(message)
    }.map(_.map(message => (message, receivers(message.subject))))
  }

  private def deliver(): Unit = {
    var isOver = false
    while (!isOver) {
      if (synchronized(happens(delays))) Thread.sleep(2L)
      val messages = next()
      isOver = messages.isEmpty
      for ((message, to) <- messages.getOrElse(Vector.empty)) {
        if (to.isEmpty) message.reply.foreach(reply => synchronized(receivers(reply)).foreach(_.unanswered(reply)))
        to.foreach(_.arrived(message.subject, message.reply, message.bytes.clone()))
      }
    }
  }
}

private[net] object MemoryBroker {
  private final class Message(val subject: String, val reply: Option[String], val bytes: Array[Byte])

  private final class Subscribed(subject: String, val group: Option[String], val inbox: Inbox) {
    private val tokens = subject.split("\\.", -1)
    def takes(other: String): Boolean = {
      val others = other.split("\\.", -1)
      tokens.length == others.length && tokens.zip(others).forall { case (token, other) => token == "*" || token == other }
    }
  }
}
