import java.util.Objects
import scala.concurrent.{ExecutionContext, Future}
import scala.concurrent.duration.FiniteDuration
import scala.util.Using

/** What programs need to hold sessions: endpoints, and what they throw. The protocols themselves are generated. */
package object duologue {

  /** The bytes of a `bytes` value; compared by content, and never changed. */
  type Bytes = scala.collection.immutable.ArraySeq[Byte]

  /** Leaves the session that `endpoint` belongs to, by whichever endpoint of the same side is live. The peer reads what was
    * sent up to here and is then told that the session is closed; unread messages are destroyed, and endpoints inside them
    * leave their sessions in turn. Nothing happens if the session is over, or if the endpoint was sent to somebody else.
    */
  def abandon(endpoint: Endpoint): Unit = endpoint.$side.abandon()

  /** Sends by `message` if that does not wait. `None`: there is no room, and the endpoint can still be used. Only a run without
    * bound can be out of room. It is room for one message: if `message` sends several, it waits for the room of the others.
    *
    * {{{
    * trySend(client)(_.send(4L)) match {
    *   case Some(next) => ...
    *   case None       => ...
    * }
    * }}}
    */
  def trySend[E <: SendEndpoint, R](endpoint: E)(message: E => R): Option[R] =
    if (hasRoom(endpoint)) Some(message(endpoint)) else None

  /** As `trySend`, but waits for room, and no longer than `timeout`: for that of one message, too. */
  def sendWithin[E <: SendEndpoint, R](endpoint: E, timeout: FiniteDuration)(message: E => R): Option[R] =
    Select(Select.room(endpoint)(message)).recvWithin(timeout)

  /** Sends by `message` when there is room for one message, without a thread that waits. `message` runs in `executor`. If that refuses, the
    * future fails with what it threw, and the endpoint can be used again.
    */
  def sendAsync[E <: SendEndpoint, R](endpoint: E)(message: E => R)(implicit executor: ExecutionContext): Future[R] =
    Select(Select.room(endpoint)(message)).recvAsync()

  /** Runs one side of a new session in `executor` and gives the other side's endpoint. However `serve` ends, its side leaves the
    * session then; what it throws is the executor's to report.
    *
    * {{{
    * val client = duologue.service(bank.init())(serve)
    * }}}
    */
  def service[S <: Endpoint, C <: Endpoint](session: (S, C))(serve: S => Unit)(implicit executor: ExecutionContext): C = {
    val (server, client) = session
    try executor.execute(() => Using.resource(server)(serve))
    catch {
      case refused: Throwable =>
        abandon(server)
        throw refused
    }
    client
  }

  /** Calls back when an operation on `endpoint` would not wait: a message has come or can be sent, or the peer has left. Nothing is used
    * up: the endpoint is as it was when `callback` runs, and cannot be used before. `Left`: the endpoint's own side was left
    * meanwhile. The callback comes once, at once if the endpoint is ready, and also after [[Wait.end]]. The caller is the thread
    * that makes the endpoint ready, so `callback` must not wait. What it throws goes to the handler of uncaught exceptions of that thread.
    * This is what libraries of effects build upon.
    */
  def whenReady(endpoint: Endpoint)(callback: Either[SessionClosed, Unit] => Unit): Wait = {
    Objects.requireNonNull(callback, "callback"): Unit
    val task = new Group.Task(Array[Handle](endpoint)) {
      def chose(): Unit =
        if (isLeft) Handover.call(callback, Left(Endpoint.closed(endpoint)))
        else {
          endpoint.$side.restore(endpoint)
          Handover.call(callback, Right(()))
        }
      override def gaveUp(): Unit = Handover.call(callback, Right(()))
    }
    if (task.claim() >= 0) throw Endpoint.used(endpoint)
    task.start()
    new Wait(task)
  }

  private[duologue] implicit val outcomes: strict.Equality.Of[Side.Outcome] = strict.Equality.any

  /** Whether the endpoint's own side was left. */
  private[duologue] def wasLeft(endpoint: Endpoint): Boolean = endpoint.$side.isLeft

  private def hasRoom(endpoint: SendEndpoint): Boolean = {
    val side = endpoint.$side
    if (!side.claim(endpoint)) throw Endpoint.used(endpoint)
    val room = side.seat.hasRoom()
    side.restore(endpoint)
    room
  }

  object Bytes {

    /** The lowest eight bits of each number. */
    def apply(bytes: Int*): Bytes = scala.collection.immutable.ArraySeq.from(bytes.map(_.toByte))

    /** A copy of an array. */
    def copyOf(array: Array[Byte]): Bytes = scala.collection.immutable.ArraySeq.unsafeWrapArray(array.clone())
  }
}
