package duologue.net

import java.io.IOException
import java.nio.channels.ClosedChannelException
import java.util.ArrayDeque
import java.util.concurrent.atomic.AtomicBoolean
import java.util.concurrent.locks.ReentrantLock

/** The sessions that other processes begin with a listener at a broker. Their hellos have arrived. */
private[net] final class Openings(
    exchange: Exchange,
    name: String,
    val address: String,
    limits: Limits,
    take: Incoming => Boolean,
    refuse: (Incoming, Boolean) => Unit
) extends Source {
  import Openings.{MostWaiting, Opened, Settling}

  private val lock = new ReentrantLock
  private val changed = lock.newCondition()

  /** What the listener has not taken yet, in the order in which it came, which is also that of the deadlines. */
  private val opened = new ArrayDeque[Opened]

  /** Whether a connection waits for a place. */
  private var isBusy = false
  private var isDraining = false
  private var isStopped = false
  private var isLost = false
  private val isReleased = new AtomicBoolean

  /** By their subjects. */
  private val subscriptions = new java.util.LinkedHashMap[String, AutoCloseable]

  /** What the listener serves. */
  private val served = new java.util.LinkedHashMap[Fingerprint, Inbox]

  private val service = new Service(exchange, name)
  @volatile private var isDiscoverable = false

  /** The subscriptions of the service. */
  private var announced = Vector.empty[AutoCloseable]

  /** Takes the messages that begin sessions of one protocol. */
  private final class Opens(endpoint: ServiceEndpoint) extends Inbox {
    def arrived(subject: String, reply: Option[String], message: Array[Byte]): Unit = locked {
      val verdict =
        if (isDraining || isStopped) Some(Verdict.Draining)
        else if (opened.size >= MostWaiting) Some(Verdict.Full)
        else None
      exchange.accept(reply, message, verdict).foreach { link =>
        opened.add(new Opened(link, System.nanoTime() + limits.hello.toNanos, endpoint)): Unit
        changed.signalAll()
      }
    }

    def unanswered(subject: String): Unit = ()

    def lost(): Unit = locked {
      isLost = true
      changed.signalAll()
    }
  }

  private def locked[T](body: => T): T = {
    lock.lock()
    try body
    finally lock.unlock()
  }

  def isOpen: Boolean = locked(!isStopped && !isLost)

  def discoverable(): Unit = isDiscoverable = true

  def serve(protocols: Seq[(String, Fingerprint)]): Unit = subscriptions.synchronized {
    protocols.foreach { case (protocol, fingerprint) =>
      if (isServing && !served.containsKey(fingerprint)) {
        val endpoint = new ServiceEndpoint(Subjects.subject(name, fingerprint), protocol, fingerprint)
        val inbox = new Opens(endpoint)
        subscriptions.put(endpoint.subject, exchange.listen(endpoint.subject, inbox)): Unit
        served.put(fingerprint, inbox): Unit
        service.add(endpoint)
      }
    }
    if (isDiscoverable && isServing && announced.isEmpty) announced = service.announce()
  }

  private def isServing: Boolean = locked(!isDraining && !isStopped)

  /** Subscribes, if that is possible now; otherwise the next call tries again. */
  private def join(subject: String, inbox: Inbox): Unit =
    if (!subscriptions.containsKey(subject))
      try subscriptions.put(subject, exchange.join(subject, inbox)): Unit
      catch { case _: IOException => () }

  /** While it is full, leaves the group, so that the broker chooses others. */
  def counted(isFull: () => Boolean): Unit = {
    val left = subscriptions.synchronized {
      val all = if (isServing) served.keySet.toArray(Array.empty[Fingerprint]).toVector else Vector.empty
      if (isFull()) all.flatMap { fingerprint =>
        val ready = Subjects.subject(name, fingerprint)
        // First, so that clients always find somebody who says that all are full.
        if (subscriptions.containsKey(ready)) join(Subjects.subject(name, fingerprint, isFull = true), served.get(fingerprint))
        Option(subscriptions.remove(ready))
      }
      else {
        all.foreach(fingerprint => join(Subjects.subject(name, fingerprint), served.get(fingerprint)))
        Vector.empty
      }
    }
    left.foreach(Dialogue.hangUp(_))
  }

  def step(): Unit = {
    val next = locked {
      var next: Opened = null
      while (next == null) {
        if (isStopped || isLost && isDraining) throw new ClosedChannelException
        if (isLost) throw new IOException("the connection to the broker is closed, so " + address + " gets no sessions any more")
        val first = opened.peek()
        if (first == null) changed.await()
        else if (!isBusy || first.deadline - System.nanoTime() <= 0L) next = opened.poll()
        else changed.awaitNanos(first.deadline - System.nanoTime()): Unit
      }
      next
    }
    if (next.deadline - System.nanoTime() <= 0L) {
      refuse(next, true)
      Dialogue.hangUp(next)
    } else {
      locked { isBusy = true }
      // A place may have become free since this thread has found none.
      if (take(next)) locked { isBusy = false }
      else locked(opened.addFirst(next))
    }
  }

  def freed(): Unit = locked {
    isBusy = false
    changed.signalAll()
  }

  def drain(): Unit = {
    val waiting = locked {
      isDraining = true
      val all = opened.toArray(Array.empty[Opened])
      opened.clear()
      all
    }
    service.end()
    val ended = subscriptions.synchronized {
      val all = subscriptions.values.toArray(Array.empty[AutoCloseable]) ++ announced
      subscriptions.clear()
      announced = Vector.empty
      all
    }
    ended.foreach(Dialogue.hangUp(_))
    waiting.foreach { one =>
      one.refuse(Answer.refusal(Verdict.Draining).encode)
      Dialogue.hangUp(one)
    }
    // What the broker has delivered until now is refused, before this process may end.
    if (ended.nonEmpty)
      try exchange.settle(Settling)
      catch { case _: IOException => () }
  }

  def flush(): Unit = exchange.flush()

  def stop(): Unit = {
    locked {
      isStopped = true
      changed.signalAll()
    }
    drain()
    if (!isReleased.getAndSet(true)) exchange.release()
  }

  override def close(): Unit = stop()
}

private[net] object Openings {

  /** How many sessions may wait until the listener takes them. */
  private val MostWaiting = 256

  /** How long a listener that drains waits for sessions that are requested at the same moment, in nanoseconds. */
  private val Settling = 1000000000L

  private final class Opened(link: Link, deadline: Long, endpoint: ServiceEndpoint) extends Incoming(deadline, () => ()) {
    override def decided(refused: Option[Int]): Unit = endpoint.count(refused)
    def peer: Option[String] = None
    def carry(): Channel = link
    protected def end(): Unit = link.close()
    def refuse(answer: Array[Byte]): Unit =
      try link.write(java.nio.ByteBuffer.wrap(answer)): Unit
      catch { case _: IOException => () }
  }
}
