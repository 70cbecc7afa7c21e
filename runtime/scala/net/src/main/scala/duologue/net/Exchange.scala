package duologue.net

import java.io.IOException
import java.lang.ref.WeakReference
import java.nio.charset.StandardCharsets.US_ASCII
import java.util.concurrent.{ConcurrentHashMap, CountDownLatch, TimeUnit}
import scala.collection.mutable

/** A process at a broker: its sessions, and the processes at their other ends. [[connectThrough]] and [[Listener.through]] use it. Addresses
  * `nats://host:port/name` have one for each server, which is made when it is needed.
  *
  * Closing it closes the connection to the broker, and its sessions are lost.
  */
final class Exchange private (post: Post, options: ExchangeOptions, isKept: Boolean) extends AutoCloseable {
  import Exchange.{Alive, Echo, Entry, Kept, Missed, MostLinks, Pause}

  /** Protects the next three and [[users]]. A link is never used while it is held, because a link takes it. */
  private val table = new Object

  /** The sessions by the last token of their addresses. */
  private val links = mutable.HashMap.empty[String, Entry]

  /** The other sides' addresses of sessions that this process has accepted. Peers choose these, and the names of processes, so they could
    * choose some with the same hash code: trees do not depend on it.
    */
  private val openers = mutable.TreeSet.empty[String]
  private val peers = mutable.TreeMap.empty[String, WeakReference[PeerProcess]]

  /** How many listeners and threads that begin sessions use this. -1 once it is closed. */
  private var users = 0

  /** Where messages of this process to itself are awaited. */
  private val echoes = new ConcurrentHashMap[String, CountDownLatch]
  private val ended = new CountDownLatch(1)
  @volatile private var lost = false
  private var subscription: AutoCloseable = null

  /** Whether the broker delivers nothing more. */
  private[net] def isLost: Boolean = lost

  private def begin(deadline: Long): Unit = {
    val inbox = new Inbox {
      def arrived(subject: String, reply: Option[String], message: Array[Byte]): Unit = Exchange.this.arrived(subject, reply, message)
      def unanswered(subject: String): Unit = Subjects.parts(subject).flatMap(parts => link(parts._2)).foreach(_.noServer())
      def lost(): Unit = {
        Exchange.this.lost = true
        all().foreach(_._2.lose("the connection to the broker is closed"))
      }
    }
    subscription = post.broker.subscribe(Subjects.address(post.process, "*"), None, inbox)
    settle(math.min(Echo, deadline - System.nanoTime()))
    val thread = new Thread(() => beat(), "duologue-broker") with NeverWaits
    thread.setDaemon(true)
    thread.start()
  }

  private def beat(): Unit = {
    var unused = 0
    while (!ended.await(options.heartbeat.toMillis, TimeUnit.MILLISECONDS)) {
      tick()
      val isUnused = table.synchronized(users == 0 && links.isEmpty)
      unused = if (isKept && (isUnused || lost)) unused + 1 else 0
      if (unused > Kept && table.synchronized {
          val isStillUnused = users == 0 && links.isEmpty || lost
          if (isStillUnused) users = -1
          isStillUnused
        }) close()
    }
  }

  /** Keeps this open until [[release]] is called. False if it is closed. */
  private[net] def retain(): Boolean = table.synchronized {
    val isOpen = users >= 0 && !lost
    if (isOpen) users += 1
    isOpen
  }

  private[net] def release(): Unit = table.synchronized(if (users > 0) users -= 1)

  private def link(token: String): Option[Link] = table.synchronized(links.get(token).map(_.link))

  private def all(): Vector[(String, Link)] = table.synchronized(links.iterator.map(entry => entry._1 -> entry._2.link).toVector)

  private def remove(token: String): Unit = table.synchronized(links.remove(token).flatMap(_.opener).foreach(openers.remove(_): Unit))

  private def peerOf(process: String): PeerProcess = table.synchronized {
    val known = peers.get(process).map(_.get)
    known.filter(_ != null).getOrElse {
      val peer = new PeerProcess(process)
      peers.put(process, new WeakReference(peer)): Unit
      peer
    }
  }

  private[net] def broker: Broker = post.broker

  /** Subscribes to messages that begin sessions. */
  private[net] def join(subject: String, inbox: Inbox): AutoCloseable = post.broker.subscribe(subject, Some("duo"), inbox)

  /** Subscribes to messages that begin sessions, and waits until the broker knows that. */
  private[net] def listen(subject: String, inbox: Inbox): AutoCloseable = {
    val subscription = join(subject, inbox)
    try {
      settle(Echo)
      denied(subject).foreach(throw _)
      subscription
    } catch {
      case thrown: Throwable =>
        subscription.close()
        throw thrown
    }
  }

  /** What the broker does not permit, if it has recently rejected this subject. */
  private[net] def denied(subject: String): Option[IOException] =
    post.broker.denied.filter(_.contains("\"" + subject + "\"")).map { text =>
      new IOException("no permission to use " + subject + " (docs/wire.md, \"Permissions\", lists what a user needs): " + text)
    }

  /** Waits until the broker has handled everything that was requested before: until it has delivered a message of this process to itself. */
  private[net] def settle(nanos: Long): Unit = {
    val token = Subjects.random()
    val arrived = new CountDownLatch(1)
    echoes.put(token, arrived): Unit
    val deadline = System.nanoTime() + nanos
    try {
      var isThere = false
      while (!isThere) {
        val left = deadline - System.nanoTime()
        def failed(why: String) = new IOException("cannot receive from the broker at " + Subjects.address(post.process, "*") + ": " + why)
        if (lost) throw failed("the connection is closed")
        if (left <= 0L)
          throw failed("it did not deliver a message of this process to itself: check the permissions to publish and subscribe there")
        // The broker may lose it.
        post.publish(Subjects.address(post.process, token), None, Packet.plain(Packet.Gone))
        isThere = arrived.await(math.min(left, 500000000L), TimeUnit.NANOSECONDS)
      }
    } finally echoes.remove(token): Unit
  }

  /** Begins a session with the servers of a protocol. */
  private[net] def open(subject: String, deadline: Long): Link = {
    // What is published meanwhile would begin sessions that nobody waits for any longer.
    while (!lost && !post.broker.isConnected) {
      if (System.nanoTime() - deadline > 0L)
        throw new IOException("the connection to the broker was interrupted, and is not back in time: check that the broker is running")
      Thread.sleep(Pause)
    }
    if (lost) throw new IOException("the connection to the broker is closed")
    def full() = new IOException("this process has too many sessions")
    val window = post.window(0L).getOrElse(throw full())
    val token = Subjects.random()
    val link = Link.open(post, Subjects.address(post.process, token), window, subject)
    if (table.synchronized(links.size) >= MostLinks) clean()
    val isAdded = table.synchronized {
      val isFree = links.size < MostLinks
      if (isFree) links.put(token, new Entry(link, None)): Unit
      isFree
    }
    if (!isAdded) {
      window.release()
      throw full()
    }
    link
  }

  /** Accepts a session that a message begins, or refuses it. `None` if there is none: also if no correct peer has sent the message. What it
    * contains has to be a hello and nothing else, so that it takes bounded memory, and no time to read.
    */
  private[net] def accept(from: Option[String], message: Array[Byte], verdict: Option[Int]): Option[Link] =
    for {
      packet <- Packet.decode(message)
      if packet.kind == Packet.Open
      from <- from
      process <- Subjects.processOfSide(from)
      if Handshake.isWhole(packet.bytes)
      link <- accept(from, process, packet, verdict)
    } yield link

  private def accept(from: String, process: String, packet: Packet, verdict: Option[Int]): Option[Link] = {
    val token = Subjects.random()
    val address = Subjects.address(post.process, token)
    val cost = Post.cost(packet.bytes.length)
    val begun: Either[Option[Int], Link] = table.synchronized {
      // The broker may have delivered it twice.
      if (openers.contains(from)) Left(None)
      else if (verdict.nonEmpty) Left(verdict)
      else
        (if (links.size < MostLinks) post.window(cost) else None) match {
          case None => Left(Some(Verdict.Full))
          case Some(window) =>
            Link.accept(post, address, window, from, peerOf(process), packet) match {
              case None =>
                window.release()
                Left(None)
              case Some(link) =>
                openers.add(from): Unit
                links.put(token, new Entry(link, Some(from))): Unit
                Right(link)
            }
        }
    }
    begun.left.foreach(_.foreach(refuse(from, address, cost, _)))
    begun.toOption
  }

  /** Refuses a session from this address, and forgets it: if something of that is lost, the peer finds that there is no session. */
  private def refuse(from: String, address: String, cost: Long, verdict: Int): Unit = {
    val answer = Answer.refusal(verdict).encode
    post.publish(from, Some(address), new Packet(Packet.Accept, 1L, 1L, cost, cost, answer))
    post.publish(from, None, new Packet(Packet.End, 2L, 1L, cost, 0L, Array.emptyByteArray))
  }

  private def arrived(subject: String, from: Option[String], message: Array[Byte]): Unit =
    for {
      (process, token) <- Subjects.parts(subject)
      if process == post.process
      packet <- Packet.decode(message)
    }
      if (token == Alive) {
        val sender = new String(packet.bytes, US_ASCII)
        table.synchronized(peers.get(sender).map(_.get)).foreach(peer => if (peer != null) peer.missed.set(0))
      } else
        link(token) match {
          case Some(link) =>
            link.take(packet, from, peerOf(_))
            if (link.isOver) remove(token)
          case None =>
            val echo = echoes.get(token)
            val expects = packet.kind == Packet.Accept || packet.kind == Packet.Ask || packet.kind == Packet.Lost
            if (echo != null) echo.countDown()
            else if (expects)
              from.filter(Subjects.processOfSide(_).nonEmpty).foreach(post.publish(_, None, Packet.plain(Packet.Gone)))
        }

  private def tick(): Unit = {
    val known = table.synchronized {
      peers.filterInPlace((_, peer) => peer.get != null): Unit
      peers.valuesIterator.map(_.get).filter(_ != null).toVector
    }
    known.foreach(_.missed.incrementAndGet(): Unit)
    val publishes = post.broker.isConnected
    val inUse = mutable.TreeSet.empty[String]
    all().foreach { case (token, link) =>
      val (isNeeded, peer) = link.tick(_.missed.get > Missed, publishes)
      if (!isNeeded) remove(token)
      peer.foreach(peer => inUse.add(peer.name): Unit)
    }
    val alive = Packet.plain(Packet.Alive, post.process.getBytes(US_ASCII))
    if (publishes) inUse.foreach(process => post.publish(Subjects.address(process, Alive), None, alive))
  }

  /** Forgets the sessions that are over, as the next heartbeat would. */
  private def clean(): Unit = all().foreach { case (token, link) => if (link.isOver) remove(token) }

  /** Waits for a short time until the system has what was published. */
  private[net] def flush(): Unit = post.broker.flush()

  /** Closes the connection to the broker. Sessions that are not over are lost. */
  override def close(): Unit = {
    ended.countDown()
    table.synchronized { users = -1 }
    lost = true
    all().foreach(_._2.lose("the connection to the broker is closed"))
    try if (subscription != null) subscription.close()
    finally post.broker.close()
  }

  override def toString: String = "Exchange(" + post.process + ")"
}

object Exchange {

  /** The token to which heartbeats go. */
  private val Alive = "alive"

  /** A process whose last messages are older than this many heartbeats is gone. */
  private val Missed = 3

  /** How long the broker may take to deliver a message of this process to itself, in nanoseconds. */
  private[net] val Echo = 5000000000L

  /** How many sessions a process may have, also such that are over and wait until their peers confirm that. */
  private val MostLinks = 64 << 10

  /** For how many heartbeats a connection that programs use by its address is kept after its last session. */
  private val Kept = 5

  /** How long a thread sleeps that waits until the broker can be reached, in milliseconds. */
  private val Pause = 10L

  private final class Entry(val link: Link, val opener: Option[String])

  /** Takes part through this broker, which then belongs to the exchange. Throws `IOException` if the broker does not deliver to this
    * process what it publishes itself.
    */
  def over(broker: Broker, options: ExchangeOptions = ExchangeOptions()): Exchange =
    until(broker, options, System.nanoTime() + Echo, isKept = false)

  /** As [[over]], but not after this time. `isKept`: it is closed a while after nothing uses it any longer. */
  private[net] def until(broker: Broker, options: ExchangeOptions, deadline: Long, isKept: Boolean): Exchange = {
    val random = Subjects.random()
    val process = options.prefix.fold(random)(_ + "." + random)
    val exchange = new Exchange(new Post(broker, process), options, isKept)
    try {
      exchange.begin(deadline)
      exchange
    } catch {
      case thrown: Throwable =>
        exchange.close()
        throw thrown
    }
  }
}
