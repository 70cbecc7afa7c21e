package duologue.net

import java.io.IOException
import java.nio.ByteBuffer
import java.net.StandardSocketOptions
import java.nio.channels.{ClosedChannelException, SelectionKey, Selector, SocketChannel}
import java.util.concurrent.ConcurrentHashMap
import java.util.concurrent.atomic.AtomicBoolean

/** A connection whose handshake has to be over at `deadline`. It counts as one of its peer until it is closed. */
private[net] final class Incoming(
    val socket: SocketChannel,
    carrier: SocketChannel => Channel,
    isSecure: Boolean,
    val deadline: Long,
    leave: () => Unit
) extends AutoCloseable {
  private val isCounted = new AtomicBoolean(true)

  /** Something has arrived, but there is no place for its handshake yet. */
  var isReady = false

  /** The address of the other end, if it has one. */
  def peer: Option[String] = Address.ofPeer(socket, isSecure)

  /** Begins with the connection, which closes the socket. Called once. */
  def carry(): Channel = carrier(socket)

  /** The connection no longer counts. */
  def left(): Unit = if (isCounted.getAndSet(false)) leave()

  override def close(): Unit =
    try socket.close()
    finally left()

  /** Refuses the peer before its hello is read, if that can be sent at once. */
  def refuse(answer: Array[Byte]): Unit = if (!isSecure)
    try {
      // The peer finds the connection closed if this cannot be written at once. What it has sent is read, because a connection that
      // is closed with unread data is reset.
      socket.write(ByteBuffer.wrap(answer)): Unit
      socket.read(ByteBuffer.allocate(Silent.LongestHello)): Unit
    } catch { case _: IOException => () }
}

/** How many connections each peer has. */
private[net] final class Peers(most: Int) {
  private val counts = new ConcurrentHashMap[AnyRef, Integer]

  /** Counts one more connection of this peer, and returns what ends that; None if it has as many as it may have. */
  def enter(socket: SocketChannel): Option[() => Unit] =
    if (most == Int.MaxValue) Some(() => ())
    else {
      val peer = Address.origin(socket)
      var isFree = true
      counts.compute(
        peer,
        (_, count) => {
          val before = if (count == null) 0 else count.intValue
          isFree = before < most
          if (isFree) Integer.valueOf(before + 1) else count
        }
      ): Unit
      if (isFree) Some(() => leave(peer)) else None
    }

  private def leave(peer: AnyRef): Unit =
    counts.computeIfPresent(peer, (_, count) => if (count.intValue > 1) Integer.valueOf(count.intValue - 1) else null): Unit
}

/** Accepts connections for a listener, in one thread. Those that have sent nothing yet wait here: they have no thread, and do not
  * count as handshakes. `take` takes a connection on which something has arrived, and returns false if there is no place for its handshake.
  * `refuse` is called with those that are closed: true if they have waited too long, false if their peer has too many. `carrier` begins the
  * connection over a socket.
  */
private[net] final class Silent(
    bound: Address.Bound,
    carrier: SocketChannel => Channel,
    isSecure: Boolean,
    limits: Limits,
    take: Incoming => Boolean,
    refuse: (Incoming, Boolean) => Unit
) extends AutoCloseable {
  private val selector = Selector.open()
  private val peers = new Peers(limits.perPeer)
  /** In the order in which they came, which is also that of their deadlines. */
  private val waiting = new java.util.LinkedHashSet[Incoming]
  /** There may be a place again. */
  private val isFreed = new AtomicBoolean
  private var isBusy = false
  bound.channel.configureBlocking(false): Unit
  private val accepting = bound.channel.register(selector, SelectionKey.OP_ACCEPT)

  def address: String = bound.address
  def isOpen: Boolean = bound.channel.isOpen

  /** A place has become free. Any thread may call this. */
  def freed(): Unit = {
    isFreed.set(true)
    selector.wakeup(): Unit
  }

  /** Ends [[step]], now and later. Any thread may call this; [[close]] does the rest. The system lets go of the address when the thread that
    * selects has closed the selector.
    */
  def stop(): Unit = {
    bound.close()
    selector.wakeup(): Unit
  }

  /** Called by the thread that selects, or if there is none. */
  override def close(): Unit = {
    selector.close()
    waiting.forEach(one => Dialogue.hangUp(one))
    waiting.clear()
  }

  /** Waits until something happens, and handles it. One thread calls this. Throws `ClosedChannelException` or the like once this is stopped. */
  def step(): Unit = {
    if (!isOpen) throw new ClosedChannelException
    // While no further handshake may begin, waiting connections may have sent something, so none of them gives way.
    val accepts = waiting.size < limits.silent || !isBusy
    accepting.interestOps(if (accepts) SelectionKey.OP_ACCEPT else 0): Unit
    if (waiting.isEmpty) selector.select(): Unit
    else selector.select(math.max(1L, (waiting.iterator.next().deadline - System.nanoTime()) / 1000000L)): Unit
    if (isFreed.getAndSet(false)) takeReady()
    var isKnocking = false
    selector.selectedKeys.forEach { key =>
      key.attachment match {
        case one: Incoming => arrived(one, key)
        case _              => isKnocking = true
      }
    }
    selector.selectedKeys.clear()
    closeLate()
    // What has arrived is served before others are accepted, so that those which give way to others are silent.
    if (isKnocking && accepts) accept()
  }

  private def arrived(one: Incoming, key: SelectionKey): Unit =
    if (take(one)) {
      waiting.remove(one): Unit
      key.cancel()
    } else {
      one.isReady = true
      isBusy = true
      key.interestOps(0): Unit
    }

  private def takeReady(): Unit = {
    isBusy = false
    val all = waiting.iterator
    while (all.hasNext && !isBusy) {
      val one = all.next()
      if (one.isReady) {
        if (take(one)) {
          all.remove()
          one.socket.keyFor(selector).cancel()
        } else isBusy = true
      }
    }
  }

  private def closeLate(): Unit =
    while (!waiting.isEmpty && System.nanoTime() - waiting.iterator.next().deadline >= 0L) endFirst()

  private def end(one: Incoming, isLate: Boolean): Unit = {
    refuse(one, isLate)
    Dialogue.hangUp(one)
  }

  private def accept(): Unit = {
    val socket =
      try bound.channel.accept()
      catch {
        case closed: ClosedChannelException => throw closed
        // Too many open files, for example: others give way, or may end soon.
        case _: IOException =>
          if (isBusy || waiting.isEmpty) Thread.sleep(Silent.Pause)
          else endFirst()
          null
      }
    if (socket != null)
      try admit(socket)
      catch { case _: IOException => Dialogue.hangUp(socket) }
  }

  private def endFirst(): Unit = {
    val all = waiting.iterator
    if (all.hasNext) {
      val one = all.next()
      all.remove()
      end(one, isLate = true)
    }
  }

  private def admit(socket: SocketChannel): Unit = {
    socket.configureBlocking(false): Unit
    if (socket.supportedOptions.contains(StandardSocketOptions.TCP_NODELAY))
      socket.setOption(StandardSocketOptions.TCP_NODELAY, java.lang.Boolean.TRUE): Unit
    val deadline = System.nanoTime() + limits.hello.toNanos
    peers.enter(socket) match {
      case None => end(new Incoming(socket, carrier, isSecure, deadline, () => ()), isLate = false)
      case Some(leave) =>
        val one = new Incoming(socket, carrier, isSecure, deadline, leave)
        try {
          if (waiting.size >= math.max(1, limits.silent)) endFirst()
          socket.register(selector, SelectionKey.OP_READ, one): Unit
          waiting.add(one): Unit
        } catch {
          case thrown: Throwable =>
            Dialogue.hangUp(one)
            throw thrown
        }
    }
  }
}

private[net] object Silent {
  /** How long to wait when the system is out of descriptors, in milliseconds. */
  private val Pause = 5L

  /** No hello is longer. */
  private[net] val LongestHello = Handshake.Head + Handshake.MostRest
}
