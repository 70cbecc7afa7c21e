package duologue

import java.io.IOException
import java.nio.file.Path

/** The sessions of this process that have not ended, and what they wait for, in a process that was started with the property
  * `duologue.registry`. If its value is not empty, it is the path of a Unix socket at which `duologue top` finds them.
  *
  * A side belongs to the thread that used it last, and its owner is that thread's name and number. Threads that wait for each other in
  * several sessions are found as deadlocks. Without the property, the compiled code of sessions is the same as if this did not exist.
  *
  * {{{
  * System.err.print(Registry.snapshot())
  * }}}
  */
object Registry {

  /** A side of a session. */
  final class Side private[duologue] (
      /** Whether it is the client's, or the server's. */
      val isClient: Boolean,
      /** The state of its endpoint, with the protocol's name; `None` after the last message. */
      val state: Option[String],
      /** The thread that used it last; `None` if it was not used yet. */
      val owner: Option[String],
      /** How long it has waited, in nanoseconds; `None` if it does not wait. */
      val waits: Option[Long],
      /** Whether it waits for space, to send. Otherwise it waits for a message. */
      val forSpace: Boolean,
      private[duologue] val isPassive: Boolean,
      /** How many messages for it are in flight: sent, but not received. */
      val inFlight: Long,
      /** Whether it was closed before the end of the session. */
      val hasLeft: Boolean
  )

  /** A session that has not ended. */
  final class Session private[duologue] (
      /** The number that its endpoints print, after `socket-` if it is with another process. */
      val name: String,
      /** The protocol's name, with its package. */
      val protocol: String,
      /** The state in which it is, with the protocol's name; `None` after the last message. */
      val state: Option[String],
      /** Whether it is the client's turn to send. */
      val isClientsTurn: Boolean,
      /** How long nothing was sent, in nanoseconds. */
      val waits: Long,
      /** How many messages it had. */
      val messages: Long,
      /** The client's and the server's side; none for a session with another process. */
      val sides: Vector[Side]
  )

  /** A thread that waits for the next one of a deadlock. */
  final class Blocked private[duologue] (
      /** The thread. */
      val owner: String,
      /** The session in which it waits. */
      val session: String,
      /** Whether it has the client's side there. */
      val isClient: Boolean,
      /** The state in which it waits. */
      val state: Option[String],
      /** How long it has waited, in nanoseconds. */
      val waits: Long,
      /** The thread that used the other side last. */
      val awaited: String
  )

  /** All sessions that have not ended, by their numbers, and the deadlocks among them: threads of which each waits for the next, and the
    * last for the first. It prints as text.
    */
  final class Snapshot private[duologue] (val sessions: Vector[Session], val deadlocks: Vector[Vector[Blocked]]) {

    /** The document that `duologue top` shows, of which `docs/tracing.md` in the repository has the format. */
    def json: String = RegistryText.json(this)

    override def toString: String = RegistryText.human(this)
  }

  private val atProperty: Option[AutoCloseable] = if (isOn) serveAt(System.getProperty("duologue.registry")) else None

  private def serveAt(path: String): Option[AutoCloseable] =
    if (path.isEmpty) None
    else
      try Some(serve(Path.of(path)))
      catch {
        case refused: IOException =>
          System.err.println("duologue: the registry is not served at the path of `duologue.registry`: " + refused.toString)
          None
      }

  /** Serves the registry, if the property says where. */
  private[duologue] def begin(): Unit = java.util.Objects.requireNonNull(atProperty): Unit

  /** Whether this process has a registry. */
  def isOn: Boolean = RecordFlag.REGISTRY

  private def demand(): Unit =
    if (!isOn) throw new IllegalStateException("there is no registry: start the program with -Dduologue.registry=SOCKET, or with -Dduologue.registry=")

  /** The sessions of this process. Throws `IllegalStateException` if this process was started without the property `duologue.registry`. */
  def snapshot(): Snapshot = {
    demand()
    RegistrySnapshot.now()
  }

  /** The [[snapshot]] as JSON, for `duologue top`. */
  def json(): String = snapshot().json

  /** The side of the endpoint belongs to the thread that calls, as if it had used it. For one that waits for something else first, after
    * another thread has made the session. Does nothing without the registry.
    */
  def adopt(endpoint: Endpoint): Unit = if (RecordFlag.REGISTRY) Registered.adopts(endpoint.$side.state)

  /** Serves [[json]] at a Unix socket until the result is closed: each connection gets one document, for which it has five seconds. The
    * socket is readable for the users that may write to it, which the umask of the process and the permissions of the folder decide. A
    * socket that an earlier process has left is replaced. Throws `IOException` if the path exists otherwise.
    */
  def serve(path: Path): AutoCloseable = {
    demand()
    new RegistryServer(path, () => json())
  }
}
