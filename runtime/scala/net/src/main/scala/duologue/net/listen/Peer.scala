package duologue.net

import duologue.Bytes
import java.security.cert.X509Certificate
import scala.collection.immutable.ArraySeq

/** What a listener knows about a peer when it decides whether to admit it: see `serveAdmitted` of [[Listener]]. */
final class Peer private[net] (hello: Hello, channel: Channel) {

  /** The protocol's name, as the peer has sent it. */
  def protocol: String = hello.name

  /** The fingerprint of the peer's protocol. */
  def fingerprint: Fingerprint = hello.fingerprint

  /** The peer's address; the other end of a Unix socket has none. */
  def address: Option[String] = channel.peer

  /** The name of the user at the other end of a Unix socket; `None` for others, and if the system does not know. */
  def user: Option[String] = channel.user

  /** Over TLS, the peer's certificate and those that lead to an authority; otherwise empty. They have been verified. */
  def certificates: Seq[X509Certificate] = channel.certificates

  /** What the peer has sent as `ConnectOptions.token`. */
  def token: Option[Bytes] = hello.token.map(ArraySeq.from(_))

  /** The trace that the session belongs to. */
  def trace: Option[TraceContext] = hello.trace

  override def toString: String = "Peer(" + address.orElse(user).getOrElse("unknown") + ")"
}
