package duologue.net

import duologue.{Bytes, Duologue, Endpoint, Role}
import java.time.Duration
import java.util.{Collection, Optional}
import java.util.function.{BiConsumer, Consumer, Function}
import javax.net.ssl.SSLContext
import scala.jdk.CollectionConverters.CollectionHasAsScala
import scala.jdk.OptionConverters.{RichOption, RichOptional}

/** For Java: the functions of this package and of [[Listener]] as static methods, with the types of Java's library. A side of a protocol is
  * `bank.client$.MODULE$`. The type of its first endpoint is not known to Java's compiler, which takes the one that the program
  * names; a wrong one throws `ClassCastException`.
  */
object Sockets {

  /** See [[connect]]. */
  def connect[E <: Endpoint](role: Role { type $First = E }, address: String): E = connect(role, address, new ConnectSettings)

  /** See [[connect]]. */
  def connect[E <: Endpoint](role: Role { type $First = E }, address: String, settings: ConnectSettings): E =
    duologue.net.connect(role, address, settings.options)

  /** Over a connection that the program provides: see [[connectOver]]. */
  def connectOver[E <: Endpoint](role: Role { type $First = E }, stream: ByteStream, settings: ConnectSettings): E =
    duologue.net.connectOver(role, stream, settings.options)

  /** Over a connection that the program provides: see [[acceptOver]]. */
  def acceptOver[E <: Endpoint](role: Role { type $First = E }, stream: ByteStream, settings: ConnectSettings): E =
    duologue.net.acceptOver(role, stream, settings.options)

  /** See [[Listener]]. */
  def listen(address: String): Listener = listen(address, new ListenSettings)

  /** See [[Listener]]. */
  def listen(address: String, settings: ListenSettings): Listener = Listener(address, settings.limits, settings.context, settings.watcher)

  /** See `serve` of [[Listener]]. */
  def serve[E <: Endpoint](listener: Listener, role: Role { type $First = E }, handler: Consumer[E]): Listener =
    listener.serve(role)(handler.accept(_))

  /** See `serve` of [[Listener]]. */
  def serve[E <: Endpoint](
      listener: Listener,
      role: Role { type $First = E },
      accepts: Collection[Fingerprint],
      handler: Consumer[E]
  ): Listener = listener.serve(role, accepts.asScala.toSeq)(handler.accept(_))

  /** See `serveAdmitted` of [[Listener]]. */
  def serveAdmitted[E <: Endpoint, A](
      listener: Listener,
      role: Role { type $First = E },
      admit: Function[Peer, Optional[A]],
      handler: BiConsumer[E, A]
  ): Listener = listener.serveAdmitted(role)(admit(_).toScala)(handler.accept(_, _))

  /** See `accept` of [[Listener]]. */
  def accept[E <: Endpoint](listener: Listener, role: Role { type $First = E }): E = listener.accept(role)

  /** See `drain` of [[Listener]]. */
  def drain(listener: Listener, timeout: Duration): Boolean = listener.drain(Duologue.finite(timeout))

  /** See `address` of [[Peer]]. */
  def address(peer: Peer): Optional[String] = peer.address.toJava

  /** See `user` of [[Peer]]. */
  def user(peer: Peer): Optional[String] = peer.user.toJava

  /** See `token` of [[Peer]]. */
  def token(peer: Peer): Optional[Array[Byte]] = peer.token.map(_.toArray).toJava
}

/** For Java: [[ConnectOptions]]. Each method returns a copy with another value. */
final class ConnectSettings private (private[net] val options: ConnectOptions) {

  /** The defaults. */
  def this() = this(ConnectOptions())

  def timeout(limit: Duration): ConnectSettings = copy(options.copy(timeout = Duologue.finite(limit)))
  def largest(bytes: Long): ConnectSettings = copy(options.copy(largest = bytes))
  def memory(bytes: Long): ConnectSettings = copy(options.copy(memory = bytes))
  def accepts(fingerprints: Collection[Fingerprint]): ConnectSettings = copy(options.copy(accepts = fingerprints.asScala.toSeq))
  def token(bytes: Array[Byte]): ConnectSettings = copy(options.copy(token = Some(Bytes.copyOf(bytes))))
  def heartbeat(seconds: Int): ConnectSettings = copy(options.copy(heartbeat = seconds))
  def idle(limit: Duration): ConnectSettings = copy(options.copy(idle = Duologue.finite(limit)))
  def tls(context: SSLContext): ConnectSettings = copy(options.copy(tls = Some(context)))
  def observer(observer: Observer): ConnectSettings = copy(options.copy(observer = Some(observer)))
  def trace(trace: TraceContext): ConnectSettings = copy(options.copy(trace = Some(trace)))

  private def copy(changed: ConnectOptions): ConnectSettings = new ConnectSettings(changed)

  override def toString: String = options.toString
}

/** For Java: the [[Limits]] of a [[Listener]], and its other arguments. Each method returns a copy with another value. */
final class ListenSettings private (
    private[net] val limits: Limits,
    private[net] val context: Option[SSLContext],
    private[net] val watcher: Option[Observer]
) {

  /** The defaults. */
  def this() = this(Limits(), None, None)

  def sessions(most: Int): ListenSettings = copy(limits.copy(sessions = most))
  def handshakes(most: Int): ListenSettings = copy(limits.copy(handshakes = most))
  def silent(most: Int): ListenSettings = copy(limits.copy(silent = most))
  def perPeer(most: Int): ListenSettings = copy(limits.copy(perPeer = most))
  def hello(limit: Duration): ListenSettings = copy(limits.copy(hello = Duologue.finite(limit)))
  def largest(bytes: Long): ListenSettings = copy(limits.copy(largest = bytes))
  def memory(bytes: Long): ListenSettings = copy(limits.copy(memory = bytes))
  def heartbeat(seconds: Int): ListenSettings = copy(limits.copy(heartbeat = seconds))
  def idle(limit: Duration): ListenSettings = copy(limits.copy(idle = Duologue.finite(limit)))
  def tls(context: SSLContext): ListenSettings = new ListenSettings(limits, Some(context), watcher)
  def observer(observer: Observer): ListenSettings = new ListenSettings(limits, context, Some(observer))

  private def copy(changed: Limits): ListenSettings = new ListenSettings(changed, context, watcher)

  override def toString: String = limits.toString
}
