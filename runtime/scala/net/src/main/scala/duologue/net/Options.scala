package duologue.net

import javax.net.ssl.SSLContext
import scala.concurrent.duration.{DurationInt, FiniteDuration}

/** What a connecting side allows and announces.
  *
  * @param timeout
  *   how long connecting and the hello may take
  * @param largest
  *   the largest payload that this side accepts, in encoded bytes; at least 1,024
  * @param memory
  *   how much memory the values of one payload may take
  * @param accepts
  *   fingerprints of older versions of the protocol that this side can communicate with: see `duologue fingerprint --against`
  * @param token
  *   what the listener may use to decide whether it admits this side; at most about 3,000 bytes
  * @param heartbeat
  *   after how many seconds without a byte this side notifies the peer that it is still there, up to 65,535; 0 means never. The peer
  *   considers the session lost after three times as long
  * @param tls
  *   this side's certificate and the authorities that it trusts, for an address that begins with `tls://`: see [[Tls]]
  * @param observer
  *   called when the session begins, turns and ends, or does not begin
  */
final case class ConnectOptions(
    timeout: FiniteDuration = 5.seconds,
    largest: Long = ConnectOptions.Largest,
    memory: Long = ConnectOptions.Memory,
    accepts: Seq[Fingerprint] = Nil,
    token: Option[duologue.Bytes] = None,
    heartbeat: Int = 0,
    tls: Option[SSLContext] = None,
    observer: Option[Observer] = None
) {
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
  * @param hello
  *   how long the handshake may take
  * @param largest
  *   the largest payload that it accepts, in encoded bytes; at least 1,024
  * @param memory
  *   how much memory the values of one payload may take
  * @param heartbeat
  *   as in [[ConnectOptions]]
  */
final case class Limits(
    sessions: Int = 1024,
    handshakes: Int = 64,
    hello: FiniteDuration = 5.seconds,
    largest: Long = ConnectOptions.Largest,
    memory: Long = ConnectOptions.Memory,
    heartbeat: Int = 0
) {
  ConnectOptions.check(largest, heartbeat)
}
