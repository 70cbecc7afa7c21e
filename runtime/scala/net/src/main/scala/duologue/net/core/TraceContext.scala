package duologue.net

import java.util.HexFormat

/** What the connecting side sends about the trace that its session belongs to, as in W3C `traceparent`. Its text, which
  * [[TraceContext.parse]] reads, is a `traceparent`: `00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01`.
  *
  * @param traceId
  *   the trace, as 32 hexadecimal digits. A peer may send all zeros, which identify no trace
  * @param spanId
  *   the span in which the session begins, as 16 hexadecimal digits
  * @param flags
  *   1 if the trace is recorded
  */
final class TraceContext private (val traceId: String, val spanId: String, val flags: Int) {

  private[net] def bytes: Vector[Byte] = HexFormat.of.parseHex(traceId + spanId).toVector :+ flags.toByte

  override def toString: String = f"00-$traceId-$spanId-$flags%02x"

  override def equals(other: Any): Boolean = other match {
    case other: TraceContext => toString == other.toString
    case _                   => false
  }

  override def hashCode: Int = toString.hashCode
}

object TraceContext {
  private val Text = "00-([0-9a-f]{32})-([0-9a-f]{16})-([0-9a-f]{2})".r

  /** Its size in a hello, in bytes. */
  private[net] val Size = 25

  /** A `traceparent` of version 00. `None` if the text is something else, or if one of its identifiers is zero. */
  def parse(text: String): Option[TraceContext] = text match {
    case Text(traceId, spanId, flags) if traceId.exists(_ != '0') && spanId.exists(_ != '0') =>
      Some(new TraceContext(traceId, spanId, Integer.parseInt(flags, 16)))
    case _ => None
  }

  private[net] def of(bytes: Array[Byte]): TraceContext = {
    val hex = HexFormat.of
    new TraceContext(hex.formatHex(bytes, 0, 16), hex.formatHex(bytes, 16, 24), bytes(24) & 0xff)
  }
}
