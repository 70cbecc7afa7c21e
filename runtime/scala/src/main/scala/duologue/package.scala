import java.util.Objects
import scala.concurrent.{ExecutionContext, Future}
import scala.concurrent.duration.FiniteDuration
import scala.util.Using

/** What programs need to run sessions: endpoints, and the exceptions that they throw. The protocols themselves are generated. */
package object duologue {

  /** The value of a `bytes`: immutable, and compared by content. */
  type Bytes = scala.collection.immutable.ArraySeq[Byte]

  /** Closes the session that `endpoint` belongs to, whichever endpoint of the same side is live. The peer can receive what was
    * sent so far, and then finds that the session is closed. Unread messages are destroyed, and the sessions of endpoints inside
    * them are closed in turn. Does nothing if the session is over, or if the endpoint was sent to another side. Never waits.
    */
  def abandon(endpoint: Endpoint): Unit =
    if (RecordFlag.LOG) Recording.abandon(endpoint) else endpoint.$side.abandon()

  /** Writes what was sent so far in a session with another process. Without it, the messages of a run are written when the run
    * ends, or after a few milliseconds. Does nothing within a process.
    */
  def flush(endpoint: Endpoint): Unit = endpoint.$side.state match {
    case remote: RemoteState => remote.flush(false)
    case _                   => ()
  }

  /** Sends with `message`, and returns [[SessionClosed]] as a value where the message's own method throws it. Everything else that
    * `message` throws is thrown.
    *
    * {{{
    * sendOrClosed(client)(_.deposit(100.0)) match {
    *   case Right(next)  => ...
    *   case Left(closed) => ...
    * }
    * }}}
    */
  def sendOrClosed[E <: SendEndpoint, R](endpoint: E)(message: E => R): Either[SessionClosed, R] =
    SessionClosed.caught(message(endpoint))

  /** Sends with `message` if that does not wait. `None` means that there is no space; the endpoint can still be used. Only an
    * unbounded run can be out of space. The check is for one message: if `message` sends several, it waits for space for the
    * others. Throws [[EndpointUsed]] if the endpoint was already used, and what `message` throws.
    *
    * {{{
    * trySend(client)(_.send(4L)) match {
    *   case Some(next) => ...
    *   case None       => ...
    * }
    * }}}
    */
  def trySend[E <: SendEndpoint, R](endpoint: E)(message: E => R): Option[R] =
    if (hasSpace(endpoint)) Some(message(endpoint)) else None

  /** Like `trySend`, but returns [[SessionClosed]] as a value instead of throwing it. */
  def trySendOrClosed[E <: SendEndpoint, R](endpoint: E)(message: E => R): Either[SessionClosed, Option[R]] =
    SessionClosed.caught(trySend(endpoint)(message))

  /** Like `trySend`, but waits at most `timeout` for space for one message. Throws `InterruptedException` if the thread is
    * interrupted first; the endpoint can then be used again.
    */
  def sendWithin[E <: SendEndpoint, R](endpoint: E, timeout: FiniteDuration)(message: E => R): Option[R] =
    Select(Select.writable(endpoint)(message)).recvWithin(timeout)

  /** Like `sendWithin`, but returns [[SessionClosed]] as a value instead of throwing it. */
  def sendWithinOrClosed[E <: SendEndpoint, R](endpoint: E, timeout: FiniteDuration)(message: E => R): Either[SessionClosed, Option[R]] =
    SessionClosed.caught(sendWithin(endpoint, timeout)(message))

  /** Sends with `message` when there is space for one message, without blocking a thread. `message` runs in `executor`. If the
    * executor rejects this, the future fails with what it threw, and the endpoint can be used again.
    */
  def sendAsync[E <: SendEndpoint, R](endpoint: E)(message: E => R)(implicit executor: ExecutionContext): Future[R] =
    Select(Select.writable(endpoint)(message)).recvAsync()

  /** Runs one side of a new session in `executor` and returns the other side's endpoint. When `serve` ends, normally or not, its
    * side is closed; an exception that it throws is left to the executor to report. If the executor rejects the work, `service`
    * closes the session and throws what the executor threw.
    *
    * {{{
    * val client = duologue.service(bank.init())(serve)
    * }}}
    */
  def service[S <: Endpoint, C <: Endpoint](session: (S, C))(serve: S => Unit)(implicit executor: ExecutionContext): C =
    serviceWith(session)(serve)(executor.execute(_))

  /** Like `service`, with a function that begins what it is given: in a virtual thread, or in a fork of ox. If the function throws,
    * `serviceWith` closes the session and throws the same.
    *
    * {{{
    * val client = duologue.serviceWith(bank.init())(serve)(Thread.startVirtualThread(_))
    * }}}
    */
  def serviceWith[S <: Endpoint, C <: Endpoint](session: (S, C))(serve: S => Unit)(begin: Runnable => Any): C = {
    val (server, client) = session
    try begin(() => Using.resource(server)(serve)): Unit
    catch {
      case refused: Throwable =>
        abandon(server)
        throw refused
    }
    client
  }

  /** Runs `dialogue`, which has to end within `limit`. After that the side of `endpoint` is closed, as by [[abandon]], and what waits
    * for a message of the peer stops waiting. `None` means that `dialogue` has found its side closed for this reason. What else
    * `dialogue` throws is thrown, and closes the side as well: the session stays open only if `dialogue` returns. For an instant,
    * pass what is left until then: `within(client, deadline.timeLeft)(...)`.
    *
    * {{{
    * within(client, 5.seconds) { client =>
    *   client.login("holk", "1234").recv()
    * }
    * }}}
    */
  def within[E <: Endpoint, R](endpoint: E, limit: FiniteDuration)(dialogue: E => R): Option[R] = {
    val time = new TimeLimit(endpoint.$side, limit)
    try Some(dialogue(endpoint))
    catch {
      case closed: SessionClosed if time.isOver && !closed.isByPeer => None
      case _: EndpointUsed if time.isOver && wasLeft(endpoint)      => None
      case thrown: Throwable =>
        abandon(endpoint)
        throw thrown
    } finally time.close()
  }

  /** Closes the side of `endpoint` after `limit`, as [[abandon]] does, unless the result is closed before. For dialogues that do not
    * run in one thread; others use [[within]]. Does nothing after the session is over.
    */
  def abandonAfter(endpoint: Endpoint, limit: FiniteDuration): AutoCloseable = new TimeLimit(endpoint.$side, limit)

  /** Calls back when an operation on `endpoint` would not wait: a message has arrived or can be sent, or the peer has closed
    * the session. The endpoint is not consumed: it is unchanged when `callback` runs, and cannot be used until then. `Left`
    * means that the endpoint's own side was abandoned in the meantime. The callback is called exactly once: immediately if
    * the endpoint is ready, and likewise after [[Wait.end]]. Otherwise it runs in the thread that makes the endpoint ready or,
    * occasionally in a long run, in the common pool of the Java library, so it must not wait. What it throws goes to the
    * uncaught exception handler of that thread. Throws [[EndpointUsed]] if the endpoint was already used. Effect libraries
    * build on this.
    */
  def whenReady(endpoint: Endpoint)(callback: Either[SessionClosed, Unit] => Unit): Wait = {
    Objects.requireNonNull(callback, "callback"): Unit
    val task = new Group.Task(Array[Handle](endpoint)) {
      def chose(): Unit =
        if (isLeft) Handover.call(callback, Left(Endpoint.closed(endpoint)))
        else {
          endpoint.$restore()
          Handover.call(callback, Right(()))
        }
      override def gaveUp(): Unit = Handover.call(callback, Right(()))
    }
    if (task.claim() >= 0) throw Endpoint.used(endpoint)
    task.start()
    new Wait(() => task.giveUp())
  }

  private[duologue] implicit val outcomes: strict.Equality.Of[Outcome] = strict.Equality.any

  /** Whether the endpoint's own side was abandoned. */
  private[duologue] def wasLeft(endpoint: Endpoint): Boolean = endpoint.$side.isLeft

  /** Whether a message can be sent without waiting. */
  private[duologue] def hasSpace(endpoint: SendEndpoint): Boolean = {
    if (!endpoint.$claim()) throw Endpoint.used(endpoint)
    val hasSpace = endpoint.$side.state.hasSpace()
    endpoint.$restore()
    hasSpace
  }

  object Bytes {

    /** Bytes from the lowest eight bits of each number. */
    def apply(bytes: Int*): Bytes = scala.collection.immutable.ArraySeq.from(bytes.map(_.toByte))

    /** A copy of an array. */
    def copyOf(array: Array[Byte]): Bytes = scala.collection.immutable.ArraySeq.unsafeWrapArray(array.clone())
  }
}
