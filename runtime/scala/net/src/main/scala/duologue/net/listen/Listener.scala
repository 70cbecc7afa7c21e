package duologue.net

import duologue.{Endpoint, Role, abandon}
import java.io.IOException
import java.nio.channels.{CancelledKeyException, ClosedChannelException, SocketChannel}
import java.util.concurrent.{
  ConcurrentHashMap,
  ConcurrentLinkedQueue,
  Executors,
  LinkedBlockingQueue,
  RejectedExecutionException,
  Semaphore,
  ThreadFactory,
  TimeUnit
}
import java.util.concurrent.atomic.{AtomicInteger, AtomicLong}
import javax.net.ssl.SSLContext
import scala.concurrent.duration.FiniteDuration

/** Listens at an address for sessions. It serves protocols, each session in a thread of its own, or accepts sessions one by one.
  *
  * {{{
  * val listener = Listener("unix:/run/bank.sock").serve(bank.server)(login => teller(login)).start()
  * }}}
  *
  * Closing it stops listening, but does not end the sessions.
  */
final class Listener private (bound: Address.Bound, carrier: SocketChannel => Channel, isSecure: Boolean, limits: Limits, observer: Option[Observer])
    extends AutoCloseable {
  import Listener.{Begin, Served, named}

  private val count = new AtomicInteger
  private val places = new Semaphore(limits.handshakes)
  private val accepting = new ConcurrentHashMap[Role, Acceptor[Endpoint, Unit]]
  /** Sessions that wait to be accepted, each with what `admit` has returned for its peer. */
  private val queues = new ConcurrentLinkedQueue[LinkedBlockingQueue[(Endpoint, Any)]]
  /** The sessions that are open, whether a handler has them or the program that accepted them. It refers to their connections, so a
    * session that the program forgets is still found by the collector.
    */
  private val sessions = ConcurrentHashMap.newKeySet[Connection]()
  /** Whether all sessions are ended, also those that begin later. */
  @volatile private var areOver = false
  private val handshakes = Executors.newCachedThreadPool(named("duologue-hello-"))
  private val workers = Executors.newCachedThreadPool(named("duologue-session-"))
  @volatile private var served = Vector.empty[Served]
  private val healths = new ConcurrentLinkedQueue[Health]
  @volatile private var isDraining = false
  private var acceptor: Thread = null
  private var isClosed = false
  private val source = new Silent(bound, carrier, isSecure, limits, take, refuse)

  /** The address, in which a port 0 is replaced by the one in use. */
  def address: String = source.address

  /** Serves one side of a protocol: `handler` runs in a thread of its own for each session, whose endpoint is closed when the
    * handler ends, normally or not. An exception that it throws, other than `SessionClosed`, goes to the thread's uncaught
    * exception handler. `accepts` are fingerprints of older versions of the protocol that the handler can communicate
    * with, in addition to those that the protocol file names with `#[accepts(...)]`: see `duologue breaking --against`. Call it before [[start]]. A listener may serve several protocols.
    */
  def serve(role: Role, accepts: Seq[Fingerprint] = Nil)(handler: role.$First => Unit): Listener =
    serveAdmitted(role, accepts)(_ => Some(()))((first, _) => handler(first))

  /** Like [[serve]], but lets `admit` decide about each peer, and passes what it returns on to the handler. A peer for which it
    * returns `None` is refused with verdict 19. It runs in the handshake of the session, so its time counts as that of the handshake.
    * If it throws an exception, the connection is closed, and the exception goes to the thread's uncaught exception handler.
    *
    * {{{
    * listener.serveAdmitted(bank.server)(peer => peer.token.flatMap(accounts.get))((login, account) => teller(login, account))
    * }}}
    */
  def serveAdmitted[A](role: Role, accepts: Seq[Fingerprint] = Nil)(admit: Peer => Option[A])(
      handler: (role.$First, A) => Unit
  ): Listener = {
    def admitted(value: A): Begin = (channel, hello, verdict, incoming) =>
      work(begun(role, channel, hello, verdict, incoming))(handler(_, value))
    synchronized { served = served :+ new Served(role, accepts, peer => admit(peer).map(admitted(_))) }
    this
  }

  /** Lets clients ask which services of this server can be used: see [[Health]]. A listener that drains or is closed says so. These
    * sessions count toward its limits, and each has a thread. Call it before [[start]].
    */
  def health(health: Health): Listener = {
    healths.add(health): Unit
    serve(healthprotocol.health.server)(health.serve(_, () => isDraining))
  }

  /** Begins to serve, in separate threads. */
  def start(): Listener = synchronized {
    if (acceptor == null && !isClosed) {
      acceptor = new Thread(() => run(), "duologue-accept " + address)
      acceptor.start()
    }
    this
  }

  /** Waits for one session of this side of a protocol and returns its first endpoint. From the first call on, sessions of this
    * protocol begin and wait to be accepted. Throws `InterruptedException` if the thread is interrupted first, and
    * `ClosedChannelException` if the listener is closed, also by [[drain]].
    */
  def accept(role: Role, accepts: Seq[Fingerprint] = Nil): role.$First = {
    val acceptor = accepting.computeIfAbsent(role, _ => this.acceptor(role, accepts)(_ => Some(())))
    acceptor.accept()._1.asInstanceOf[role.$First]
  }

  /** Like [[accept]], but lets `admit` decide about each peer, as [[serveAdmitted]] does: the result returns each session with what
    * `admit` has returned for its peer. From this call on, sessions of this protocol begin and wait to be accepted. Call it once for
    * a side: throws `IllegalStateException` if the side is served or accepted already.
    *
    * {{{
    * val customers = listener.acceptor(bank.server)(peer => peer.token.flatMap(accounts.get))
    * val (login, account) = customers.accept()
    * }}}
    */
  def acceptor[A](role: Role, accepts: Seq[Fingerprint] = Nil)(admit: Peer => Option[A]): Acceptor[role.$First, A] = {
    val waiting = new LinkedBlockingQueue[(Endpoint, Any)]
    def admitted(value: A): Begin = (channel, hello, verdict, incoming) =>
      offer(waiting, (begun(role, channel, hello, verdict, incoming), value))
    synchronized {
      if (served.exists(_.role eq role)) throw new IllegalStateException("this side is served already: keep its acceptor")
      queues.add(waiting): Unit
      served = served :+ new Served(role, accepts, peer => admit(peer).map(admitted(_)))
      start(): Unit
    }
    new Acceptor(() => next(waiting).asInstanceOf[(role.$First, A)])
  }

  private def next(waiting: LinkedBlockingQueue[(Endpoint, Any)]): (Endpoint, Any) = {
    var first = waiting.poll(Listener.Look, TimeUnit.MILLISECONDS)
    while (first == null) {
      if (!source.isOpen) throw new ClosedChannelException
      first = waiting.poll(Listener.Patience, TimeUnit.MILLISECONDS)
    }
    first
  }

  /** Stops listening: the system refuses new connections. Sessions continue. */
  override def close(): Unit = {
    refuseSessions()
    source.stop()
    letGo()
    queues.forEach(waiting => Iterator.continually(waiting.poll()).takeWhile(_ != null).foreach(one => abandon(one._1)))
    handshakes.shutdown()
    workers.shutdown()
  }

  /** Waits until the thread that accepts has closed the source. If it calls an observer that closes the listener, it does so later. */
  private def letGo(): Unit = {
    val thread = synchronized {
      isClosed = true
      if (acceptor == null) source.close()
      acceptor
    }
    if (thread != null && (thread ne Thread.currentThread))
      try thread.join(Listener.Grace)
      catch { case _: InterruptedException => Thread.currentThread.interrupt() }
  }

  /** Refuses new sessions and waits until the open ones have ended, but at most `timeout`; then it ends those that are left, also
    * those that [[accept]] has returned, and closes the listener. Operations on their endpoints throw `SessionClosed`, also those
    * that wait, with `Why.Lost`, and their peers find that this side has left. Returns whether all had ended by themselves.
    */
  def drain(timeout: FiniteDuration): Boolean = {
    refuseSessions()
    val deadline = System.nanoTime() + timeout.toNanos
    var ended = count.get == 0
    while (!ended && System.nanoTime() - deadline < 0L) {
      Thread.sleep(Listener.Look)
      ended = count.get == 0
    }
    areOver = true
    sessions.forEach(_.end())
    close()
    workers.awaitTermination(Listener.Grace, TimeUnit.MILLISECONDS): Unit
    ended
  }

  private def refuseSessions(): Unit = {
    isDraining = true
    healths.forEach(_.wake())
  }

  /** How many sessions are open. */
  def size: Int = count.get

  /** What it has to do at the moment. */
  def load: Load = {
    val sessions = count.get
    new Load(sessions, isFull = sessions >= limits.sessions, isDraining = isDraining)
  }

  override def toString: String = "Listener(" + address + ")"

  private def run(): Unit =
    try while (true) source.step()
    catch {
      case _: ClosedChannelException | _: CancelledKeyException | _: InterruptedException => ()
    } finally source.close()

  /** Begins a handshake. Returns false if there is no place for it. */
  private def take(incoming: Incoming): Boolean = {
    val isFree = places.tryAcquire()
    if (isFree)
      try
        handshakes.execute { () =>
          try greet(incoming)
          finally leavePlace()
        }
      catch {
        // The listener was closed, or there is no memory for a thread: others may end soon.
        case _: RejectedExecutionException | _: OutOfMemoryError =>
          leavePlace()
          Dialogue.hangUp(incoming)
      }
    isFree
  }

  private def leavePlace(): Unit = {
    places.release()
    source.freed()
  }

  /** Reports a connection that is closed because it has waited too long, or refuses it because its peer has too many. */
  private def refuse(incoming: Incoming, isLate: Boolean): Unit = {
    if (isLate) refused(incoming.peer, None, None, Some(Failure.late()))
    else {
      incoming.refuse(Answer.refusal(Verdict.Full).encode)
      refused(incoming.peer, None, Some(Verdict.Full), None)
    }
  }

  /** Reads a hello and answers it, and begins the session. */
  private def greet(incoming: Incoming): Unit = {
    var isDone = false
    var isCounted = false
    var name = Option.empty[String]
    var open: AutoCloseable = incoming
    try {
      val channel = incoming.carry()
      open = channel
      val dialogue = new Dialogue(channel, incoming.deadline)
      dialogue.secure()
      val judged = dialogue.readHello().map(_.flatMap { hello =>
        name = Some(hello.name)
        choose(hello, channel)
      })
      isCounted = judged.exists(_.isRight)
      judged.foreach(answer => dialogue.write(answer.fold(Answer.refusal(_), _._1).encode))
      judged match {
        case Some(Right((answer, begin, hello))) =>
          isDone = true
          begin(channel, hello, answer.verdict, incoming)
        case Some(Left(verdict)) => refused(incoming.peer, name, Some(verdict), None)
        case None                => refused(incoming.peer, name, None, None)
      }
    } catch { case failed: IOException => refused(incoming.peer, name, None, Some(failed)) }
    finally if (!isDone) {
      if (isCounted) count.decrementAndGet(): Unit
      Dialogue.hangUp(open)
      incoming.left()
    }
  }

  private def refused(peer: Option[String], name: Option[String], verdict: Option[Int], failure: Option[Throwable]): Unit =
    Reports.refused(observer, new Observer.Refusal(isAccepting = true, name, peer, verdict, failure))

  private def choose(hello: Hello, channel: Channel): Either[Int, (Answer, Begin, Hello)] =
    if (isDraining) Left(Verdict.Draining)
    else {
      var isCounted = false
      val isFull = count.incrementAndGet() > limits.sessions
      try {
        val choice: Either[Int, (Answer, Begin, Hello)] =
          // Once more: either this thread finds that the listener drains, or the drain waits for the session, which is counted.
          if (isDraining) Left(Verdict.Draining)
          else if (isFull) Left(Verdict.Full)
          else
            for {
              found <- matching(hello)
              (verdict, chosen) = found
              begin <- chosen.admit(new Peer(hello, channel)).toRight(Verdict.NotAdmitted)
            } yield {
              val session = Answer.Session(chosen.fingerprint, limits.largest, limits.heartbeat)
              (Answer(verdict, Some(session), 0L), begin, hello)
            }
        isCounted = choice.isRight
        choice
      } finally if (!isCounted) count.decrementAndGet(): Unit
    }

  private def matching(hello: Hello): Either[Int, (Int, Served)] = {
    val all = served.flatMap(each => each.verdictOn(hello).map(_ -> each))
    // The lower a verdict is, the closer are the two protocols.
    val candidates = all.map(_._1).minOption.fold(all)(best => all.filter(_._1 == best))
    candidates.find(_._2.receivesFirst != hello.receivesFirst) match {
      case Some(fitting)              => Right(fitting)
      case None if candidates.isEmpty => Left(Verdict.UnknownProtocol)
      case None                       => Left(Verdict.SameSide)
    }
  }

  private def begun(role: Role, channel: Channel, hello: Hello, verdict: Int, incoming: Incoming): role.$First = {
    def ended(connection: Connection): Unit = {
      sessions.remove(connection): Unit
      count.decrementAndGet(): Unit
      incoming.left()
    }
    val connection = new Connection(channel, ended(_))
    def seen = Reports.Seen(channel.peer, hello.fingerprint, verdict == Verdict.Accepted, hello.trace)
    val first = begin(role, connection, limits, hello.largest, hello.seconds, isAccepting = true, observer, seen)
    sessions.add(connection): Unit
    // Either this thread sees that the connection was closed, or that it is open is seen by the thread that closes it.
    if (connection.isOver) sessions.remove(connection): Unit
    // Likewise: either this thread ends the session, or the thread that ends all of them does.
    else if (areOver) connection.end()
    first
  }

  private def work[E <: Endpoint](first: E)(handler: E => Unit): Unit =
    try
      workers.execute { () =>
        try handler(first)
        catch { case _: duologue.SessionClosed => () }
        finally abandon(first)
      }
    catch {
      // The listener has been closed since the hello was answered.
      case _: RejectedExecutionException => abandon(first)
      case thrown: Throwable =>
        abandon(first)
        throw thrown
    }

  /** Lets a session wait to be accepted; sessions that begin after the listener was closed are not accepted. */
  private def offer(waiting: LinkedBlockingQueue[(Endpoint, Any)], first: (Endpoint, Any)): Unit = {
    waiting.add(first): Unit
    if (!source.isOpen && waiting.remove(first)) abandon(first._1)
  }
}

/** What a [[Listener]] has to do at a moment. `sessions` is how many count toward its limit. Others are refused while it is full or draining. */
final class Load private[net] (val sessions: Int, val isFull: Boolean, val isDraining: Boolean) {
  override def toString: String = "Load(" + sessions.toString + ", " + isFull.toString + ", " + isDraining.toString + ")"
}

/** Accepts sessions one by one, each with what the program has found out about its peer. */
final class Acceptor[+First, +A] private[net] (next: () => (First, A)) {

  /** Waits for one session and returns its first endpoint, and what `admit` has returned for its peer. Throws as [[Listener.accept]]. */
  def accept(): (First, A) = next()
}

object Listener {
  private val Look = 5L
  private val Patience = 50L
  private val Grace = 1000L

  /** Begins a session of a peer whose hello was answered with a verdict. */
  private type Begin = (Channel, Hello, Int, Incoming) => Unit

  /** One side of a protocol that is served. `admit` returns how to begin a session with a peer, if it is admitted. */
  private final class Served(role: Role, more: Seq[Fingerprint], val admit: Peer => Option[Begin]) extends ServedSide(role, more)

  /** Listens at an address: `unix:/run/bank.sock`, `tcp://0.0.0.0:7000`, `tls://0.0.0.0:7000`. Port 0 asks for a free one, which
    * [[Listener.address]] reports. A Unix socket's file is removed when the listener is closed, and replaced if no process is listening
    * there. An address that begins with `tls://` needs `tls`, this side's certificate and the authorities that it trusts: see
    * [[Tls]]. The `observer` is called when sessions begin, turn and end, and when they do not begin. Throws `IOException` if the address
    * cannot be used.
    */
  def apply(
      address: String,
      limits: Limits = Limits(),
      tls: Option[SSLContext] = None,
      observer: Option[Observer] = None
  ): Listener = Address(address) match {
    case at @ Address.Tcp(_, _, true) =>
      val context = tls.getOrElse(throw Tls.missing(address, "Listener(address, tls = Some(context))"))
      // A context without TLS 1.3 fails here, and not for each peer.
      Tls.server(context): Unit
      new Listener(at.listen(), Secure.server(_, context), isSecure = true, limits, observer)
    case at => new Listener(at.listen(), new Plain(_), isSecure = false, limits, observer)
  }

  private def named(prefix: String): ThreadFactory = {
    val count = new AtomicLong
    task => {
      val thread = new Thread(task, prefix + count.incrementAndGet().toString)
      thread.setDaemon(true)
      thread
    }
  }
}
