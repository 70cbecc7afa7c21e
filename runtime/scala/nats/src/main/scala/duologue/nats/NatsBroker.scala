package duologue.nats

import duologue.net.{Broker, Inbox}
import io.nats.client.{Connection, ConnectionListener, Dispatcher, ErrorListener, Message, Options}
import java.io.IOException
import java.time.Duration
import java.util.ArrayList
import java.util.concurrent.atomic.AtomicInteger
import java.util.concurrent.{CopyOnWriteArrayList, CountDownLatch, ExecutionException, ExecutorService, Executors, LinkedBlockingQueue, ThreadFactory, TimeUnit, TimeoutException}

/** A connection to a NATS server. */
private[nats] final class NatsBroker private (connection: Connection, denials: NatsBroker.Denials, executors: Seq[ExecutorService]) extends Broker {
  import NatsBroker.{Close, Ending, Flush, Flushing, MostBytes, MostMessages, MostPayload, Outgoing, Publish}

  /** What is to be published by a thread of its own, in this order, and how much of it that thread has not published yet. The client library
    * drops a message if the thread that publishes it is interrupted. How many messages there can be is limited by the credit of all
    * sessions, and by what is published before [[isConnected]] returns false.
    */
  private val outgoing = new LinkedBlockingQueue[Outgoing]
  private val unpublished = new AtomicInteger
  private val inboxes = new CopyOnWriteArrayList[Inbox]

  /** What threads wait for until the server has everything that was published before. */
  private val unconfirmed = new LinkedBlockingQueue[CountDownLatch]

  /** What a thread has waited for longer than it may; null if none has. Until it is open, the server accepts nothing. */
  @volatile private var late: CountDownLatch = null
  private val confirming = NatsBroker.daemons("duologue-nats-flush").newThread(() => confirmAll())

  private def begin(): Unit = {
    connection.addConnectionListener(new ConnectionListener {
      override def connectionEvent(connection: Connection, event: ConnectionListener.Events): Unit =
        if (event eq ConnectionListener.Events.CLOSED) inboxes.forEach(_.lost())
    })
    val thread = NatsBroker.daemons("duologue-nats").newThread(() => publishAll())
    thread.start()
    confirming.start()
  }

  private def publishAll(): Unit = {
    var isOpen = true
    while (isOpen)
      outgoing.take() match {
        case Publish(subject, reply, message) =>
          send(subject, reply, message)
          unpublished.decrementAndGet(): Unit
        case Flush(done) => unconfirmed.add(done): Unit
        case Close()     => isOpen = false
      }
  }

  /** One thread asks the server for all: the client library gives up a connection on which several questions have no answer. */
  private def confirmAll(): Unit = {
    val waiting = new ArrayList[CountDownLatch]
    try
      while (true) {
        waiting.add(unconfirmed.take()): Unit
        unconfirmed.drainTo(waiting): Unit
        while (!isConfirmed()) ()
        waiting.forEach(_.countDown())
        waiting.clear()
      }
    catch { case _: InterruptedException => () }
  }

  /** Waits until the server has what was published. Returns false if the connection was interrupted meanwhile; then the next call waits
    * until it is back.
    */
  private def isConfirmed(): Boolean =
    try {
      connection.flush(Duration.ZERO)
      true
    } catch {
      case _: TimeoutException      => connection.getStatus eq Connection.Status.CLOSED
      case _: IllegalStateException => true
    }

  private def send(subject: String, reply: Option[String], message: Array[Byte]): Unit =
    // This fails only if the connection is closed for good.
    try reply.fold(connection.publish(subject, message))(connection.publish(subject, _, message))
    catch { case _: IllegalStateException | _: IllegalArgumentException => () }

  /** Publishes in this thread unless it is interrupted, or something that was published before is left to the other one. If it was interrupted
    * meanwhile, the client library has perhaps dropped the message, so it is published again: the other side ignores the second.
    */
  def publish(subject: String, reply: Option[String], message: Array[Byte]): Unit = {
    val thread = Thread.currentThread
    val isDirect = unpublished.get == 0 && !thread.isInterrupted
    if (isDirect) send(subject, reply, message)
    if (!isDirect || thread.isInterrupted) {
      unpublished.incrementAndGet(): Unit
      outgoing.add(Publish(subject, reply, message)): Unit
    }
  }

  def subscribe(subject: String, group: Option[String], inbox: Inbox): AutoCloseable = {
    def deliver(message: Message): Unit = {
      val status = if (message.isStatusMessage) message.getStatus else null
      if (status != null && status.isNoResponders) inbox.unanswered(message.getSubject)
      else if (status == null) inbox.arrived(message.getSubject, Option(message.getReplyTo), message.getData)
    }
    // Before anything that may fail, so that the inbox learns of a connection that is closed meanwhile.
    inboxes.add(inbox): Unit
    try {
      val dispatcher = connection.createDispatcher(deliver(_))
      dispatcher.setPendingLimits(MostMessages, MostBytes)
      group match {
        case Some(group) => dispatcher.subscribe(subject, group)
        case None        => dispatcher.subscribe(subject)
      }
      () => end(dispatcher, inbox)
    } catch {
      case thrown: Throwable =>
        inboxes.remove(inbox): Unit
        throw (thrown match {
          case closed: IllegalStateException => new IOException("the connection to the NATS server is closed", closed)
          case other                         => other
        })
    }
  }

  /** Ends a subscription. What the server has delivered before is still passed to the inbox. */
  private def end(dispatcher: Dispatcher, inbox: Inbox): Unit = {
    inboxes.remove(inbox): Unit
    try
      // While the server cannot be reached, it delivers nothing.
      if (!isConnected) connection.closeDispatcher(dispatcher)
      else if (dispatcher.isActive) dispatcher.drain(Ending).get(Ending.toMillis, TimeUnit.MILLISECONDS): Unit
    catch {
      case _: IllegalStateException | _: IllegalArgumentException | _: ExecutionException | _: TimeoutException => ()
      case _: InterruptedException  => Thread.currentThread.interrupt()
    }
  }

  override def flush(): Unit = {
    val before = late
    // If the server accepts nothing, only the first threads wait for it.
    if (isConnected && (before == null || before.getCount == 0L)) confirm()
  }

  /** Waits until the server has what was published, but not for long. */
  private def confirm(): Unit = {
    val done = new CountDownLatch(1)
    outgoing.add(Flush(done)): Unit
    try if (!done.await(Flushing, TimeUnit.NANOSECONDS)) late = done
    catch { case _: InterruptedException => Thread.currentThread.interrupt() }
  }

  override def isConnected: Boolean = connection.getStatus eq Connection.Status.CONNECTED

  override def denied: Option[String] = {
    // The client library calls the listener in a thread of its own, so it may not know yet.
    val last = connection.getLastError
    if (last != null && denials.add(last)) connection.clearLastError()
    denials.recent
  }

  def maxMessage: Int = math.min(connection.getMaxPayload, MostPayload).toInt

  def close(): Unit = {
    // The client library drops what it has not written.
    if (isConnected) confirm()
    outgoing.add(Close()): Unit
    try connection.close()
    catch { case _: InterruptedException => Thread.currentThread.interrupt() }
    finally {
      confirming.interrupt()
      executors.foreach(_.shutdown())
    }
  }
}

private[nats] object NatsBroker {

  /** How long the client waits before another attempt to connect, at most: less than the time after which a process counts as gone. */
  private val LongestPause = 500L
  private val ShortestPause = 10L

  /** How often the client asks whether the server is still there, and how many questions may have no answer. Several threads that end
    * subscriptions ask as well.
    */
  private val Asking = Duration.ofSeconds(15L)
  private val MostAsked = 16

  /** How long ending a subscription may take. */
  private val Ending = Duration.ofSeconds(1L)

  /** How long a thread waits until the server has what it has published, in nanoseconds. */
  private val Flushing = 500000000L

  /** For how long what the server has reported counts as the reason of a failure, in nanoseconds. */
  private val Recent = 5000000000L

  /** The longest messages that a server has to accept, and those that are published at most. */
  private val LeastPayload = 8L << 10
  private val MostPayload = 1L << 20

  /** How much may wait until an inbox takes it: more than all sessions have credit for, and the shortest message takes 64 of it. What is
    * dropped leaves a gap, which ends its session.
    */
  private val MostMessages = (48L << 20) / 64L
  private val MostBytes = 64L << 20

  private sealed trait Outgoing
  private final case class Publish(subject: String, reply: Option[String], message: Array[Byte]) extends Outgoing

  /** Confirm all that is before it. */
  private final case class Flush(done: CountDownLatch) extends Outgoing
  private final case class Close() extends Outgoing

  /** What the server has last reported as not permitted, and when. */
  private final class Denials extends ErrorListener {
    @volatile private var last = Option.empty[(String, Long)]

    /** Returns whether the text is about a permission. */
    def add(text: String): Boolean = {
      val isDenial = text.toLowerCase.startsWith("permissions violation")
      if (isDenial) last = Some((text, System.nanoTime()))
      isDenial
    }

    def recent: Option[String] = last.collect { case (text, at) if System.nanoTime() - at < Recent => text }

    override def errorOccurred(connection: Connection, text: String): Unit = add(text): Unit
    override def exceptionOccurred(connection: Connection, failure: Exception): Unit = ()
  }

  /** The program may end while these threads run. */
  private def daemons(name: String): ThreadFactory = { task =>
    val thread = new Thread(task, name)
    thread.setDaemon(true)
    thread
  }

  def connect(server: String, configure: Options.Builder => Options.Builder, deadline: Long): NatsBroker = {
    val denials = new Denials
    val left = math.max(1L, (deadline - System.nanoTime()) / 1000000L)
    val threads = daemons("duologue-nats-client")
    val (workers, timer) = (Executors.newCachedThreadPool(threads), Executors.newScheduledThreadPool(1, threads))
    val executors = Seq(workers, timer)
    val unconfigured = Options.builder().server("nats://" + server).maxReconnects(-1).connectionTimeout(left)
    val options = configure(unconfigured.pingInterval(Asking).maxPingsOut(MostAsked))
      .errorListener(denials)
      .executor(workers)
      .scheduledExecutor(timer)
      .callbackThreadFactory(threads)
      .connectThreadFactory(threads)
      .maxMessagesInOutgoingQueue(0)
      .reconnectBufferSize(-1L)
      .reconnectDelayHandler(tries => Duration.ofMillis(math.min(LongestPause, ShortestPause << math.max(0L, math.min(tries, 6L)))))
      .build()
    val connection =
      try io.nats.client.Nats.connect(options)
      catch {
        case thrown: Throwable =>
          executors.foreach(_.shutdown())
          throw thrown
      }
    try {
      val longest = connection.getMaxPayload
      if (longest < LeastPayload)
        throw new IOException(
          "its longest message has " + longest.toString + " bytes: set its `max_payload` to " + LeastPayload.toString + " or more"
        )
      val broker = new NatsBroker(connection, denials, executors)
      broker.begin()
      broker
    } catch {
      case thrown: Throwable =>
        connection.close()
        executors.foreach(_.shutdown())
        throw thrown
    }
  }
}
