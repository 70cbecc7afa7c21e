package duologue

import java.io.{ByteArrayOutputStream, IOException, OutputStream}
import java.nio.charset.StandardCharsets.UTF_8
import java.nio.file.{Files, Paths}
import java.util.WeakHashMap
import java.util.concurrent.locks.ReentrantLock

/** Records of sessions, in a process that was started with the property `duologue.record`. Its value is a file, to which the names of
  * messages are written as lines of JSON that `duologue trace` reads; if it is empty, there are only monitors. What is recorded is
  * what the sides in this process do: both of a session within the process, one of a session with another process.
  *
  * The property `duologue.record.prefix` is written before the numbers of sessions: logs of several processes, or of several runs of a
  * program, need different ones if they are checked together. After `duologue.record.most` bytes, by default 1 GiB, or if the file cannot
  * be written, nothing more is recorded. Without `duologue.record`, the compiled code of sessions is the same as if this did not exist.
  */
object Recording {

  /** What a side has done. */
  sealed trait Kind

  object Kind {
    implicit val comparable: strict.Equality.Of[Kind] = strict.Equality.any

    /** It has sent the message. */
    case object Sent extends Kind

    /** It has received the message. */
    case object Received extends Kind

    /** It was closed before the end of its session. */
    case object Left extends Kind
  }

  /** One event of a session: what the client (`isClient`) or the server has done in this state. The session has the number that its endpoints print. */
  final class Event private[duologue] (
      val session: Long,
      val protocol: String,
      val isClient: Boolean,
      val state: String,
      val kind: Kind,
      val message: Option[String]
  )

  /** Sees the events of all sessions. Its methods may be called by several threads at once, and must not use the session. What they throw
    * goes to the uncaught exception handler of the thread, and the session goes on as if they had returned: the message is allowed.
    */
  trait Monitor {

    /** Whether a message may be sent, which is about to be. If there is a reason why not, the session is closed, and what sends the message
      * throws [[SessionClosed]] with [[Why.Stopped]] and this reason. If the message is sent through a shared sender, this is called while
      * its lock is held.
      */
    def allows(event: Event): Either[String, Unit] = Right(event).map(_ => ())

    /** Called after the event. */
    def happened(event: Event): Unit = ()
  }

  private val lock = new ReentrantLock
  /** The states of the protocol whose sessions are not recorded. */
  @volatile private var leftOut = Array.empty[WireState]
  /** Whether a session is over, for its server and for its client. */
  private val sessions = new WeakHashMap[Pipe, Array[Boolean]]
  @volatile private var monitor: Option[Monitor] = None
  private val prefix = System.getProperty("duologue.record.prefix", "")
  private val most = java.lang.Long.getLong("duologue.record.most", 1L << 30).longValue
  private var written = 0L
  private var missing = 0L
  /** Whether the file could not be opened or written. */
  private var hasFailed = false
  /** What goes into the file with the next write, and how many events it has. */
  private val buffer = new ByteArrayOutputStream
  private var buffered = 0L
  private val BufferSize = 1 << 16
  private var out: Option[OutputStream] = if (isOn) open(System.getProperty("duologue.record")) else None

  private def open(file: String): Option[OutputStream] =
    if (file.isEmpty) None
    else
      try {
        val opened = Files.newOutputStream(Paths.get(file))
        Runtime.getRuntime.addShutdownHook(new Thread(() => flush(), "duologue-recording"))
        Some(opened)
      } catch {
        case refused: IOException =>
          hasFailed = true
          System.err.println("duologue: sessions are not recorded, because the file of `duologue.record` cannot be written: " + refused.toString)
          None
      }

  /** Whether this process records its sessions. */
  def isOn: Boolean = RecordFlag.LOG

  /** Sets the monitor. Throws `IllegalStateException` if this process was started without the property `duologue.record`. */
  def monitorWith(monitor: Monitor): Unit = {
    java.util.Objects.requireNonNull(monitor, "monitor"): Unit
    if (!isOn) throw new IllegalStateException("sessions are not recorded: start the program with -Dduologue.record=FILE, or with -Dduologue.record=")
    this.monitor = Some(monitor)
  }

  /** Writes what is buffered. The virtual machine does it when it ends. */
  def flush(): Unit = locked(write())

  /** How many events are not in the file, because it was full or could not be written. */
  def dropped: Long = locked(missing)

  /** Sessions of this protocol are not recorded. Called before there are any. */
  private[duologue] def leaveOut(protocol: WireProtocol): Unit = {
    if (RecordFlag.LOG) leftOut = protocol.states
    if (RecordFlag.REGISTRY) Registered.leaveOut(protocol.states)
  }

  private def isRecorded(side: Side): Boolean = side.state.pipe.states ne leftOut

  private def locked[R](body: => R): R = {
    lock.lock()
    try body
    finally lock.unlock()
  }

  /** Writes what is buffered. If that fails, none of it counts as written, and nothing more is. */
  private def write(): Unit = {
    try out.foreach(buffer.writeTo(_))
    catch {
      case _: IOException =>
        missing += buffered
        hasFailed = true
        out = None
    }
    buffer.reset()
    buffered = 0L
  }

  /** None if the message is not recorded. */
  private def name(endpoint: Handle, index: Int): Option[String] =
    if (isRecorded(endpoint.$side)) endpoint.$messages().split(' ').lift(index).filter(_.nonEmpty) else None

  private def event(endpoint: Handle, kind: Kind, message: Option[String]): Event = {
    val own = endpoint.$side.state
    new Event(SessionNumber.of(own.pipe), own.pipe.protocol, own.isClient, endpoint.$state(), kind, message)
  }

  /** Before a message is sent: closes the session if it is not allowed. */
  private[duologue] def check(endpoint: Handle, index: Int): Unit = {
    if (RecordFlag.LOG) ask(endpoint, index)
    if (RecordFlag.REGISTRY && endpoint.$side.turn == endpoint.$turn) Registered.sends(endpoint.$side.state)
  }

  private def ask(endpoint: Handle, index: Int): Unit = monitor.foreach { monitor =>
    name(endpoint, index).foreach { message =>
      var stopped = Option.empty[String]
      Handover.guarded(monitor.allows(event(endpoint, Kind.Sent, Some(message))).left.foreach(reason => stopped = Some(String.valueOf(reason))))
      if (stopped.nonEmpty) {
        if (endpoint.$side.turn == endpoint.$turn) {
          endpoint.$side.abandon()
          left(endpoint, stopped)
        }
        throw new SessionClosed(endpoint.$side.state.pipe.protocol, endpoint.$state(), isByPeer = false, Why.Stopped, stopped)
      }
    }
  }

  /** A message was sent or received. */
  private[duologue] def passed(endpoint: Handle, index: Int, kind: Kind, isLast: Boolean): Unit = {
    if (RecordFlag.REGISTRY) Registered.passed(endpoint.$side.state, kind == Kind.Sent, isLast)
    if (RecordFlag.LOG) log(endpoint, index, kind, isLast)
  }

  private def log(endpoint: Handle, index: Int, kind: Kind, isLast: Boolean): Unit =
    name(endpoint, index).foreach { message =>
      val passed = event(endpoint, kind, Some(message))
      val word = if (kind == Kind.Sent) "send" else "receive"
      locked {
        if (isLast) end(endpoint.$side): Unit
        line(endpoint.$side.state, ",\"kind\":\"" + word + "\",\"message\":\"" + message + "\"}\n")
      }
      Handover.guarded(monitor.foreach(_.happened(passed)))
    }

  /** A side has closed its session, unless it was over. */
  private def left(endpoint: Handle, why: Option[String] = None): Unit = {
    val gone = event(endpoint, Kind.Left, None)
    val isNew = locked {
      val isNew = end(endpoint.$side)
      if (isNew) line(endpoint.$side.state, ",\"kind\":\"left\"" + why.fold("")(why => ",\"why\":\"" + quoted(why) + "\"") + "}\n")
      isNew
    }
    if (isNew) Handover.guarded(monitor.foreach(_.happened(gone)))
  }

  /** Closes the session. */
  private[duologue] def abandon(endpoint: Handle): Unit = {
    val isLive = endpoint.$side.turn >= 0L
    endpoint.$side.abandon()
    if (isLive) left(endpoint)
  }

  /** A side has found that its session is closed, by the peer unless it has closed it itself. */
  private[duologue] def closed(side: Side, why: Why): Unit = if (!side.isLeft) {
    val own = side.state
    locked {
      if (end(side)) {
        val rest =
          if (why == Why.Left) ",\"from\":\"" + word(!own.isClient) + "\",\"kind\":\"left\"}\n"
          else ",\"kind\":\"ended\",\"why\":\"" + why.toString.toLowerCase(java.util.Locale.ROOT) + "\"}\n"
        line(own, rest)
      }
    }
  }

  /** Notes that the session is over for this side. Returns whether it was not, and is recorded. */
  private def end(side: Side): Boolean = isRecorded(side) && {
    val own = side.state
    val isOver = sessions.computeIfAbsent(own.pipe, (_: Pipe) => Array(false, false))
    val at = if (own.isClient) 1 else 0
    val was = isOver(at)
    isOver(at) = true
    !was
  }

  private def word(isClient: Boolean): String = if (isClient) "client" else "server"

  private def line(own: SideState, rest: String): Unit =
    if (hasFailed) missing += 1
    else if (out.nonEmpty) {
      val text = "{\"session\":\"" + escaped(prefix) + SessionNumber.of(own.pipe).toString + "\",\"protocol\":\"" + own.pipe.protocol +
        "\",\"at\":\"" + word(own.isClient) + "\"" + rest
      val bytes = text.getBytes(UTF_8)
      if (missing == 0L && written + bytes.length <= most) {
        written += bytes.length
        buffer.write(bytes, 0, bytes.length)
        buffered += 1
        if (buffer.size >= BufferSize) write()
      } else missing += 1
    }

  /** As it is in a string of JSON. */
  private def quoted(text: String): String = text.flatMap {
    case letter @ ('"' | '\\')      => "\\" + letter.toString
    case letter if letter < ' ' => " "
    case letter                 => letter.toString
  }

  private def escaped(text: String): String = text.filter(letter => letter >= ' ' && letter != '"' && letter != '\\')
}
