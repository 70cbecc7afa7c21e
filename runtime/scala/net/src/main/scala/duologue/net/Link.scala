package duologue.net

import java.io.IOException
import java.nio.ByteBuffer
import java.nio.channels.{SelectionKey, Selector}
import java.util.ArrayDeque
import java.util.concurrent.atomic.AtomicInteger
import java.util.concurrent.locks.ReentrantLock

/** A process at the other end of sessions. */
private[net] final class PeerProcess(val name: String) {

  /** How many heartbeats have passed since something arrived from it. */
  val missed = new AtomicInteger
}

/** One side of a session over a broker: a stream of bytes made of messages.
  *
  * '''What arrives.''' Messages that carry something are numbered. One that is out of order, or a count of the peer that does not fit, shows that
  * something was lost: then the stream fails, and the peer is notified until it confirms. What arrived in order before that can still be read.
  * A side that has sent something which the peer has not confirmed asks from time to time, so a loss at the end is noticed as well.
  *
  * '''Credit.''' A side sends only as much as its peer has given credit for, so that nothing waits in the broker without limit. Each message says
  * how much of the credit has been used up by reading. So what a side sends when it is its turn also returns its credit, and only a side
  * that reads for long without sending has to return it separately.
  *
  * The lock is held for a short time only, also while a message is published: the order of the numbers is that of the messages.
  */
private[net] final class Link private (post: Post, address: String, window: Post.Window, private var to: Link.To) extends Channel {
  import Link.{Asked, ByPeer, Failed, LastTicks, MostCredit, Servers, Side, Unheard, Unknown, least}

  private val lock = new ReentrantLock
  private val changed = lock.newCondition()

  /** Numbered messages that were sent, and that the peer has confirmed. */
  private var sent = 0L
  private var confirmed = 0L

  /** The credit that was used, what the peer has returned of it, and how much it gives. */
  private var used = 0L
  private var returned = 0L
  private var theirs = 0L

  /** Whether a write waits for credit. */
  private var isBlocked = false

  /** Numbered messages that have arrived. */
  private var received = 0L

  /** The credit that the peer has used, what was read of it, and what the peer has been notified of. */
  private var arrived = 0L
  private var readSoFar = 0L
  private var reported = 0L

  /** What was not read yet. */
  private val chunks = new ArrayDeque[ByteBuffer]
  private var ended = 0

  /** Why the stream has failed. */
  private var failure = ""

  /** When the first message was published, by the connecting side. */
  private var openedAt = 0L
  private var unanswered = false
  private var unheard = false

  /** Whether the program no longer uses the stream. */
  private var isClosed = false

  /** Whether the peer is to be notified that something was lost. */
  private var hasToTell = false
  private var ticksLeft = LastTicks

  /** What learns that one of these operations may be possible. */
  private var watcher: Watcher = null
  private var resume: Watcher => Unit = null
  private var armed = 0

  private def locked[T](body: => T): T = {
    lock.lock()
    try body
    finally lock.unlock()
  }

  def handshake(deadline: Long): Int = 0
  def isBuffered: Boolean = false
  def peer: Option[String] = None
  def user: Option[String] = None
  def isConnected: Boolean = true
  def prepare(): Unit = ()

  /** Whether nothing had subscribed to the subject of the first message. */
  def isUnanswered: Boolean = locked(unanswered)

  /** Whether no server has confirmed the first message in time, so the broker has probably lost it. */
  def isUnheard: Boolean = locked(unheard)

  /** Publishes a message to the peer. A side that expects an answer says where it is. */
  private def publish(kind: Int, bytes: Array[Byte]): Unit = {
    if (Packet.isNumbered(kind)) sent += 1L
    reported = readSoFar
    val saysWhere = kind == Packet.Open || kind == Packet.Accept || kind == Packet.Ask || kind == Packet.Lost
    val subject = to match {
      case Servers(subject) if kind == Packet.Open => Some(subject)
      case Side(address, _)                        => Some(address)
      case _                                       => None
    }
    subject.foreach { subject =>
      val packet = new Packet(kind, sent, received, readSoFar, window.size, bytes)
      post.publish(subject, if (saysWhere) Some(address) else None, packet)
    }
  }

  private def publish(kind: Int): Unit = publish(kind, Array.emptyByteArray)

  def read(into: ByteBuffer): Int = locked {
    val start = into.position
    while (into.hasRemaining && !chunks.isEmpty) {
      val chunk = chunks.peek()
      val count = math.min(into.remaining, chunk.remaining)
      into.put(chunk.slice(chunk.position, count))
      chunk.position(chunk.position + count): Unit
      if (!chunk.hasRemaining) {
        chunks.poll(): Unit
        readSoFar += Post.cost(chunk.limit())
      }
    }
    val count = into.position - start
    if (count > 0) {
      if (readSoFar - reported >= window.size / 2L && ended == 0) publish(Packet.Answer)
      count
    } else if (ended == ByPeer) -1
    else if (ended == Failed) throw new IOException(failure)
    else {
      if (unheardIn() <= 0L) {
        unheard = true
        throw new IOException("no server has confirmed the first message")
      }
      0
    }
  }

  def write(from: ByteBuffer): Int = locked {
    if (ended == Failed) throw new IOException(failure)
    if (isClosed) throw new IOException("the connection is closed")
    val start = from.position
    to match {
      case Servers(_) =>
        // The hello. The broker's longest message is longer.
        used += Post.cost(from.remaining)
        publish(Packet.Open, Link.taken(from, from.remaining))
        to = Unknown
        openedAt = System.nanoTime()
      case _: Asked => isBlocked = true
      case Side(_, peer) =>
        isBlocked = false
        while (from.hasRemaining && !isBlocked) {
          val most = theirs + returned - used - Post.Overhead.toLong
          // Not many short messages where one will do.
          if (most < math.max(1L, math.min(from.remaining.toLong, theirs / 4L))) isBlocked = true
          else {
            // The header has at most 1 + 3 * 10 bytes, and that of the first message 11 more.
            val longest = (post.broker.maxMessage - Post.Overhead).toLong
            val count = math.min(from.remaining.toLong, math.min(most, longest)).toInt
            val isFirst = sent == 0L
            // From now on the peer has to show that it is there.
            if (isFirst) peer.missed.set(0)
            used += Post.cost(count)
            publish(if (isFirst) Packet.Accept else Packet.Data, Link.taken(from, count))
          }
        }
    }
    from.position - start
  }

  /** In how many nanoseconds the first message counts as lost, unless a server confirms it. */
  private def unheardIn(): Long = to match {
    case _: Asked if confirmed == 0L => openedAt + Unheard - System.nanoTime()
    case _                          => Long.MaxValue
  }

  private def isReady(interest: Int): Boolean = {
    def isReadable = !chunks.isEmpty || ended != 0 || unheardIn() <= 0L
    def isWritable = !isBlocked || ended == Failed
    isClosed || (interest & SelectionKey.OP_READ) != 0 && isReadable || (interest & SelectionKey.OP_WRITE) != 0 && isWritable
  }

  /** Something has happened that threads may wait for. */
  private def raise(): Unit = {
    changed.signalAll()
    resumeIfReady()
  }

  private def resumeIfReady(): Unit =
    if (watcher != null && isReady(armed)) {
      val waiting = watcher
      watcher = null
      armed = 0
      resume(waiting)
    }

  def waiting(): Waiting = new Waiting {
    private var isWoken = false

    def await(interest: Int, nanos: Long): Unit = locked {
      try {
        var left = math.min(nanos, unheardIn())
        while (!isWoken && left > 0L && !isReady(interest)) left = changed.awaitNanos(left)
        isWoken = false
      } catch { case _: InterruptedException => Thread.currentThread.interrupt() }
    }

    def wake(): Unit = locked {
      isWoken = true
      changed.signalAll()
    }

    def close(): Unit = wake()
  }

  def arm(selector: Selector, interest: Int, watcher: Watcher, resume: Watcher => Unit): Unit = locked {
    this.watcher = watcher
    this.resume = resume
    armed |= interest
    resumeIfReady()
  }

  override def close(): Unit = {
    val ends = locked {
      val ends = !isClosed && ended != Failed
      if (ends) publish(Packet.End)
      isClosed = true
      readSoFar = arrived
      // What the peer still sends is discarded, so it takes no memory.
      chunks.clear()
      window.release()
      changed.signalAll()
      ends
    }
    if (ends)
      Thread.currentThread match {
        // A thread that works for all sessions does not wait for the broker.
        case _: NeverWaits => ()
        case _             => post.broker.flush()
      }
  }

  /** Ends both directions. `tells`: the peer has to learn it. */
  private def fail(why: String, tells: Boolean): Unit = if (ended != Failed) {
    ended = Failed
    failure = why
    hasToTell = tells && isToSide
    if (hasToTell) publish(Packet.Lost)
    raise()
  }

  private def isToSide: Boolean = to match {
    case Side(_, _) => true
    case _          => false
  }

  /** Ends both directions because nothing more can arrive. */
  def lose(why: String): Unit = locked(fail(why, tells = false))

  /** Nothing has subscribed to the subject of the first message. */
  def noServer(): Unit = locked(if (to eq Unknown) {
    unanswered = true
    fail("no server of this name understands this side", tells = false)
  })

  /** A message has arrived for this side. `from`: what it names as the address of the other. `peerOf` returns a process. */
  def take(packet: Packet, from: Option[String], peerOf: String => PeerProcess): Unit = locked {
    val side = from.filter(from => packet.kind == Packet.Accept && Subjects.processOfSide(from).nonEmpty)
    if (to eq Unknown)
      for {
        from <- side
        process <- Subjects.processOfSide(from)
      } {
        to = Side(from, peerOf(process))
        theirs = least(packet.window, MostCredit)
        isBlocked = false
      }
    to match {
      case Side(address, peer) =>
        peer.missed.set(0)
        // The first message was delivered to two servers.
        side.filter(_ != address) match {
          case Some(other) => post.publish(other, None, Packet.plain(Packet.Gone))
          case None        => take(packet)
        }
      case _ => take(packet)
    }
  }

  private def take(packet: Packet): Unit = packet.kind match {
    case Packet.Gone | Packet.Lost =>
      fail(Link.Forgotten, tells = false)
      hasToTell = false
      if (packet.kind == Packet.Lost) to match {
        case Side(address, _) => post.publish(address, None, Packet.plain(Packet.Gone))
        case _                => ()
      }
    case Packet.Open | Packet.Alive => ()
    case kind if ended != Failed =>
      val isNumbered = Packet.isNumbered(kind)
      val expected = received + (if (isNumbered) 1L else 0L)
      val fits = least(packet.received, sent) == packet.received && least(packet.read, used) == packet.read
      if (!fits || least(packet.number, expected) != packet.number) fail(Link.Gap, tells = true)
      else {
        confirmed = math.max(confirmed, packet.received)
        if (packet.read > returned) {
          returned = packet.read
          isBlocked = false
          raise()
        }
        if (kind == Packet.Ask) publish(Packet.Answer)
        // The broker may have delivered it twice.
        if (isNumbered && packet.number == expected) next(packet)
      }
    case _ => ()
  }

  /** The next numbered message. */
  private def next(packet: Packet): Unit = {
    val cost = Post.cost(packet.bytes.length)
    val isEnd = packet.kind == Packet.End
    if (ended != 0 || !isEnd && arrived + cost > readSoFar + window.size) fail(Link.Gap, tells = true)
    else {
      received += 1L
      if (isEnd) {
        ended = ByPeer
        raise()
      } else {
        arrived += cost
        if (isClosed) readSoFar = arrived
        else {
          chunks.add(ByteBuffer.wrap(packet.bytes)): Unit
          raise()
        }
      }
    }
  }

  /** Called at every heartbeat. `isGone` returns whether the peer's process is. `publishes`: the broker can be reached. Returns whether the
    * link is still needed, and the process that has to learn that this one is there.
    */
  def tick(isGone: PeerProcess => Boolean, publishes: Boolean): (Boolean, Option[PeerProcess]) = locked {
    to match {
      // A connecting side does not know the process that has not answered yet, so it does not notify it.
      case Side(_, peer) if sent > 0L && isGone(peer) =>
        fail("nothing has arrived from the peer's process for too long", tells = false)
        hasToTell = false
      case _ => ()
    }
    // What cannot be published would wait in this process until the broker is back.
    if (publishes) {
      if (hasToTell) publish(Packet.Lost)
      else if (ended != Failed && (sent > confirmed || isBlocked)) publish(Packet.Ask)
    }
    if (isClosed) ticksLeft -= 1
    val isNeeded = !isOverNow && ticksLeft > 0
    to match {
      case Side(_, peer) if isNeeded && ended != Failed => (isNeeded, Some(peer))
      case _                                            => (isNeeded, None)
    }
  }

  /** Whether nothing more has to be sent or received. */
  def isOver: Boolean = locked(isOverNow)

  private def isOverNow: Boolean = isClosed && (ended match {
    case Failed => !hasToTell
    case ByPeer => sent == confirmed
    case _      => !isToSide
  })
}

private[net] object Link {

  /** Where a side sends its messages. */
  private sealed trait To

  /** The connecting side has sent nothing yet. Its first message goes to the subject of a protocol. */
  private final case class Servers(subject: String) extends To

  /** The connecting side waits for the answer to its first message. */
  private final class Asked extends To
  private val Unknown = new Asked

  /** The address of the other side, and its process. */
  private final case class Side(address: String, process: PeerProcess) extends To

  /** How the stream ended in the direction of this side: the peer has ended it, or something was lost. */
  private val ByPeer = 1
  private val Failed = 2

  private val Gap = "the broker has lost a message of the session, or the peer is broken"
  private val Forgotten = "the peer has lost a message of the session, or its process is gone"

  /** How many ticks a side that has ended waits for its peer to confirm that. */
  private val LastTicks = 15

  /** A first message that no server has confirmed after this time is lost, in nanoseconds. */
  private val Unheard = 1000000000L

  /** No peer is given more credit. */
  private val MostCredit = 1L << 30

  /** The smaller one of two unsigned numbers. */
  private def least(one: Long, other: Long): Long = if (java.lang.Long.compareUnsigned(one, other) <= 0) one else other

  private def taken(from: ByteBuffer, count: Int): Array[Byte] = {
    val bytes = new Array[Byte](count)
    from.get(bytes)
    bytes
  }

  /** The connecting side. `subject`: where the servers of its protocol are. */
  def open(post: Post, address: String, window: Post.Window, subject: String): Link = new Link(post, address, window, Servers(subject))

  /** The accepting side, for this first message of the side at `from`, whose cost is part of `window`. Confirms the message at once:
    * the program may take its time for the answer.
    */
  def accept(post: Post, address: String, window: Post.Window, from: String, peer: PeerProcess, packet: Packet): Option[Link] =
    if (packet.number != 1L || packet.received != 0L || packet.read != 0L) None
    else {
      val link = new Link(post, address, window, Side(from, peer))
      link.locked {
        link.theirs = least(packet.window, MostCredit)
        link.received = 1L
        // The first message needs no credit, because this side has not given any.
        link.arrived = Post.cost(packet.bytes.length)
        link.chunks.add(ByteBuffer.wrap(packet.bytes)): Unit
        link.publish(Packet.Answer)
      }
      Some(link)
    }
}
