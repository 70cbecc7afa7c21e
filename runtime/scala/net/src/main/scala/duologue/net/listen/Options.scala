package duologue.net

import javax.net.ssl.SSLContext
import scala.concurrent.duration.{Duration, DurationInt, FiniteDuration}

/** What a side accepts in a session, whether it has connected or accepted it. */
private[net] trait Terms {
  def largest: Long
  def memory: Long
  def heartbeat: Int
  def idle: Duration
}

/** What a connecting side allows and announces.
  *
  * @param timeout
  *   how long connecting and the hello may take
  * @param largest
  *   the largest payload that this side accepts, in encoded bytes; at least 1,024
  * @param memory
  *   how much memory the values of one payload may take
  * @param accepts
  *   fingerprints of older versions of the protocol that this side can communicate with: see `duologue breaking --against`
  * @param token
  *   what the listener may use to decide whether it admits this side; at most about 3,000 bytes
  * @param heartbeat
  *   after how many seconds without a byte this side notifies the peer that it is still there, up to 65,535; 0 means never. The peer
  *   considers the session lost after three times as long
  * @param idle
  *   how long this side waits for a message in states that have no time limit of their own; after that the session is `Late` for both sides.
  *   So it is if the peer does not read what was sent for as long, or for the limit of a state that has one
  * @param tls
  *   this side's certificate and the authorities that it trusts, for an address that begins with `tls://`: see [[Tls]]
  * @param observer
  *   called when the session begins, turns and ends, or does not begin
  * @param trace
  *   the trace that the session belongs to, which the observers of both sides find in `Observer.Session`
  * @param service
  *   the name of the service that this side wants, where another program has named the address. A certificate is then checked for this name
  *   instead of the host, and with `tls` an address without TLS is not used
  */
final case class ConnectOptions(
    timeout: FiniteDuration = 5.seconds,
    largest: Long = ConnectOptions.Largest,
    memory: Long = ConnectOptions.Memory,
    accepts: Seq[Fingerprint] = Nil,
    token: Option[duologue.Bytes] = None,
    heartbeat: Int = 0,
    tls: Option[SSLContext] = None,
    observer: Option[Observer] = None,
    idle: Duration = Duration.Inf,
    trace: Option[TraceContext] = None,
    service: Option[String] = None
) extends Terms {
  ConnectOptions.check(largest, heartbeat)
}

object ConnectOptions {
  private[net] val Largest = 1L << 20
  private[net] val Memory = 64L << 20

  private[net] def check(largest: Long, heartbeat: Int): Unit = {
    if (largest < Handshake.Least || largest > 0x7fffffffL - 64L)
      throw new IllegalArgumentException("the largest payload must be between 1,024 bytes and 2 GiB, not " + largest.toString)
    if (heartbeat < 0 || heartbeat > 0xffff)
      throw new IllegalArgumentException("a heartbeat must be between 0 and 65,535 seconds, not " + heartbeat.toString)
  }
}

/** What a listener allows.
  *
  * @param sessions
  *   how many sessions it has at once; others are refused with verdict 18
  * @param handshakes
  *   how many connections may be in the handshake at once; others wait
  * @param silent
  *   how many connections may wait that have sent nothing yet. They have no thread. A further one takes the place of the one that has
  *   waited longest, which is closed
  * @param perPeer
  *   how many connections one peer may have at once, in the handshake or with a session. A peer is an IPv4 address, the first 64 bits
  *   of an IPv6 address or, over a Unix socket, a user of this system. A further connection is refused with verdict 18
  *   before its hello is read; over TLS it is closed
  * @param hello
  *   how long the handshake may take
  * @param largest
  *   the largest payload that it accepts, in encoded bytes; at least 1,024
  * @param memory
  *   how much memory the values of one payload may take
  * @param heartbeat
  *   as in [[ConnectOptions]]
  * @param idle
  *   as in [[ConnectOptions]]
  */
final case class Limits(
    sessions: Int = 1024,
    handshakes: Int = 64,
    hello: FiniteDuration = 5.seconds,
    largest: Long = ConnectOptions.Largest,
    memory: Long = ConnectOptions.Memory,
    heartbeat: Int = 0,
    silent: Int = 512,
    perPeer: Int = Int.MaxValue,
    idle: Duration = Duration.Inf
) extends Terms {
  ConnectOptions.check(largest, heartbeat)
}
